package node

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// expiring records what a store is asked to expire, and answers from a list.
type expiring struct {
	entries, ids []time.Duration // before now
	limits       []int
	removed      []int
	err          error
}

func (e *expiring) store(now func() turn.Time) *faultStore {
	return &faultStore{expire: func(ctx context.Context, entriesBefore, idsBefore turn.Time, limit int) (int, error) {
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > storeTimeout {
			return 0, errors.New("the call has no bound")
		}
		e.entries, e.ids = append(e.entries, now().Sub(entriesBefore)), append(e.ids, now().Sub(idsBefore))
		e.limits = append(e.limits, limit)
		if len(e.removed) == 0 {
			return 0, e.err
		}
		count := e.removed[0]
		e.removed = e.removed[1:]
		return count, nil
	}}
}

// What Expire asks for follows from the time and the retention alone, and nothing that
// runs beside it changes that: a table says all of it, and the simulation could add
// nothing. What a store removes then is tested in store/storetest.
//
// Transcripts go after the retention, ids not before eight days.
func TestWhatExpires(t *testing.T) {
	const hour = time.Hour
	now := func() turn.Time { return 1_750_000_000_000 }
	for retention, ids := range map[time.Duration]time.Duration{hour: 192 * hour, 191 * hour: 192 * hour, 193 * hour: 193 * hour, 720 * hour: 720 * hour} {
		var e expiring
		if err := Expire(t.Context(), e.store(now), now, retention); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(e.entries, []time.Duration{retention}) || !slices.Equal(e.ids, []time.Duration{ids}) || e.limits[0] != 500 {
			t.Errorf("a retention of %v: entries older than %v, ids older than %v, %d at once", retention, e.entries, e.ids, e.limits)
		}
	}
}

// It goes on until a call finds less than it may remove, with the time as it is then.
func TestExpiryGoesOnUntilNothingIsLeft(t *testing.T) {
	var at turn.Time = 1_750_000_000_000
	now := func() turn.Time { return at }
	for _, test := range []struct {
		removed []int
		calls   int
	}{{nil, 1}, {[]int{499, 500}, 1}, {[]int{500, 500, 500, 499, 500}, 4}, {[]int{500}, 2}} {
		e := expiring{removed: test.removed}
		if err := Expire(t.Context(), e.store(now), now, time.Hour); err != nil || len(e.entries) != test.calls {
			t.Errorf("%v: %d calls, %v", test.removed, len(e.entries), err)
		}
	}
	for _, retention := range []time.Duration{0, -time.Second} {
		e := expiring{removed: []int{1}}
		if err := Expire(t.Context(), e.store(now), now, retention); err != errNoRetention || len(e.entries) != 0 {
			t.Errorf("a retention of %v: %v after %d calls", retention, err, len(e.entries))
		}
	}
	e := expiring{removed: []int{500}, err: errAway}
	if err := Expire(t.Context(), e.store(now), now, time.Hour); err != errAway || len(e.entries) != 2 {
		t.Errorf("a call that fails: %v after %d", err, len(e.entries))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e = expiring{removed: []int{500, 500, 500}}
	if err := Expire(ended, e.store(now), now, time.Hour); err != nil || len(e.entries) != 0 {
		t.Errorf("a node that ended: %v after %d calls", err, len(e.entries))
	}
}

// A node removes what is too old at its start, and every ten minutes.
func TestMaintenance(t *testing.T) {
	var calls []time.Duration
	var fails error
	inLab(t, func(l *lab, o *Options) {
		o.Retention = 30 * time.Hour
		l.store.expire = func(_ context.Context, entriesBefore, _ turn.Time, _ int) (int, error) {
			if age := l.node.clock.Now().Sub(entriesBefore); age != 30*time.Hour {
				l.t.Errorf("entries older than %v", age)
			}
			calls = append(calls, time.Since(l.began))
			return 0, fails
		}
	}, func(l *lab) {
		l.until(10*time.Minute - time.Millisecond)
		if !slices.Equal(calls, []time.Duration{0}) {
			l.t.Errorf("calls at %v", calls)
		}
		fails = errAway
		l.until(25 * time.Minute)
		if !slices.Equal(calls, []time.Duration{0, 10 * time.Minute, 20 * time.Minute}) {
			l.t.Errorf("calls at %v", calls)
		}
		l.wantLogged(2, "level=ERROR", "old transcripts and message ids could not be removed", errAway.Error())
		l.wantLogged(2, "old transcripts and message ids could not be removed")
	})
}

// A node that ends while it removes something has nothing to tell of it.
func TestMaintenanceEndsWithItsNode(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		l.store.expire = func(ctx context.Context, _, _ turn.Time, _ int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
	}, func(l *lab) {
		l.after(time.Second)
		l.node.Stop()
		l.node.Wait()
		l.wantLogged(0, "could not be removed")
	})
}
