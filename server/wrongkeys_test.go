package server

import (
	"fmt"
	"log/slog"
	"testing"
	"time"
)

func TestGoodLoginsAreNotLimited(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
	for range 3 * wrongBurst {
		login(t, s, "alpha")
	}
}

// use sends wrong keys until they are too many.
func (l *wrongKeys) use(address string, now time.Time) (taken int) {
	for taken < 3*wrongBurst && !l.exceeds(address, now) {
		taken++
	}
	return taken
}

func TestAddressesAreToldApart(t *testing.T) {
	l := newWrongKeys(slog.New(slog.DiscardHandler))
	now := time.Unix(1_800_000_000, 0)
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1", "not an address"} {
		if got := l.use(address, now); got != wrongBurst {
			t.Errorf("%s: %d attempts, want %d", address, got, wrongBurst)
		}
	}
	for _, same := range []string{"::ffff:192.0.2.1", "2001:db8::2", "2001:db8::ffff:1%eth0", "nor this"} {
		if got := l.use(same, now); got != 0 {
			t.Errorf("%s: %d attempts more", same, got)
		}
	}
}

// TestMemoryOfAttemptsIsBounded: who has a million addresses shares what is
// left, and gives it back in time.
func TestMemoryOfAttemptsIsBounded(t *testing.T) {
	l := newWrongKeys(slog.New(slog.DiscardHandler))
	now := time.Unix(1_800_000_000, 0)
	taken := 0
	for i := range 10 * wrongAddresses {
		if !l.exceeds(fmt.Sprintf("10.%d.%d.1", i/256, i%256), now) {
			taken++
		}
	}
	if len(l.rates.buckets) > wrongAddresses+1 {
		t.Errorf("%d addresses are remembered", len(l.rates.buckets))
	}
	if want := wrongAddresses + wrongBurst; taken != want {
		t.Errorf("%d attempts from many addresses, want %d", taken, want)
	}
	now = now.Add(wrongBurst * wrongEvery)
	if got := l.use("10.200.0.1", now); got != wrongBurst || len(l.rates.buckets) != 1 {
		t.Errorf("later: %d attempts, %d addresses", got, len(l.rates.buckets))
	}
}
