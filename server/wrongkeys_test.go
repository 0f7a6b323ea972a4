package server

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// guess logs in with a wrong key until it is stopped, and says after how many.
func guess(t *testing.T, s *Server) (tries int, last answer) {
	t.Helper()
	for tries = 0; tries < 2*loginBurst; tries++ {
		if last = ask(t, s, "POST", "/console/login", `{"key":"wrong"}`); last.status != http.StatusUnauthorized {
			return tries, last
		}
	}
	return tries, last
}

func TestGuessesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(newFakeApp(), Options{APIKeys: []string{"alpha"}})
		tries, last := guess(t, s)
		last.wantProblem(t, kindTooMany, "")
		if tries != loginBurst {
			t.Errorf("%d guesses at once, want %d", tries, loginBurst)
		}
		ask(t, s, "POST", "/console/login", `{"key":"alpha"}`).wantProblem(t, kindTooMany, "")
		wait, err := strconv.Atoi(last.header.Get("Retry-After"))
		if err != nil || wait < 1 || time.Duration(wait)*time.Second > loginEvery {
			t.Fatalf("Retry-After = %q", last.header.Get("Retry-After"))
		}
		if got := ask(t, s, "GET", here, "", "Authorization", "Bearer alpha"); got.status != http.StatusOK {
			t.Errorf("bearer keys suffer from it: status %d", got.status)
		}
		time.Sleep(time.Duration(wait) * time.Second)
		if tries, _ := guess(t, s); tries != 1 {
			t.Errorf("%d guesses after the wait, want 1", tries)
		}
		time.Sleep(loginEvery)
		login(t, s, "alpha")
	})
}

func TestGoodLoginsAreNotLimited(t *testing.T) {
	s := New(newFakeApp(), Options{APIKeys: []string{"alpha"}})
	for range 3 * loginBurst {
		login(t, s, "alpha")
	}
}

// use takes until nothing is left.
func (a *loginLimiter) use(address string, now time.Time) (taken int) {
	for taken < 3*loginBurst && a.take(address, now) == 0 {
		taken++
	}
	return taken
}

func TestAddressesAreToldApart(t *testing.T) {
	var a loginLimiter
	now := time.Unix(1_800_000_000, 0)
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1", "not an address"} {
		if got := a.use(address, now); got != loginBurst {
			t.Errorf("%s: %d attempts, want %d", address, got, loginBurst)
		}
	}
	for _, same := range []string{"::ffff:192.0.2.1", "2001:db8::2", "2001:db8::ffff:1%eth0", "nor this"} {
		if got := a.use(same, now); got != 0 {
			t.Errorf("%s: %d attempts more", same, got)
		}
	}
}

// TestMemoryOfAttemptsIsBounded: who has a million addresses shares what is
// left, and gives it back in time.
func TestMemoryOfAttemptsIsBounded(t *testing.T) {
	var a loginLimiter
	now := time.Unix(1_800_000_000, 0)
	taken := 0
	for i := range 10 * loginAddresses {
		if a.take(fmt.Sprintf("10.%d.%d.1", i/256, i%256), now) == 0 {
			taken++
		}
	}
	if len(a.buckets) > loginAddresses+1 {
		t.Errorf("%d addresses are remembered", len(a.buckets))
	}
	if want := loginAddresses + loginBurst; taken != want {
		t.Errorf("%d attempts from many addresses, want %d", taken, want)
	}
	now = now.Add(loginBurst * loginEvery)
	if got := a.use("10.200.0.1", now); got != loginBurst || len(a.buckets) != 1 {
		t.Errorf("later: %d attempts, %d addresses", got, len(a.buckets))
	}
}
