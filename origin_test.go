package onereply_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// The three faults that this project exists to end. Each is played with the
// core that ships, and with one in which that fault was put back: the first
// must hold, the second must be noticed.
func origin(t *testing.T, nodes int, broken engine.Step, noticed string, traffic func(w *world)) {
	play := func(t *testing.T, step engine.Step) (err error) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, settings{
				nodes: nodes, model: 6 * time.Second, step: step,
				bot: onereply.Bot{Debounce: 2 * time.Second, Lease: 15 * time.Second},
			})
			defer w.close()
			traffic(w)
			time.Sleep(time.Minute)
			err = w.verdict()
			if err == nil && w.most > 1 {
				err = fmt.Errorf("%d calls of the model ran at once", w.most)
			}
			for _, text := range w.texts() {
				t.Logf("reply to: %s", text)
			}
		})
		return err
	}
	t.Run("as it ships", func(t *testing.T) {
		if err := play(t, turn.Step); err != nil {
			t.Error(err)
		}
	})
	t.Run("with the fault put back", func(t *testing.T) {
		err := play(t, broken)
		if err == nil || !strings.Contains(err.Error(), noticed) {
			t.Fatalf("noticed %v, want %q", err, noticed)
		}
	})
}

// The lock was taken and given back within one call of the database, while the
// model ran for seconds; so several processes answered the same question.
func TestDuplicatesFromALockShorterThanTheWork(t *testing.T) {
	lockGivenBack := func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
		switch e := e.(type) {
		case turn.Wake: // the lock is free again, whatever runs
			r.Lease.Expires = 0
		case turn.Renew: // nobody looks whose it is
			r.Lease.Nonce = e.Nonce
		case turn.Generated: // whoever has an answer saves it
			r.Phase, r.Reply, r.Attempt.Sealed = turn.Generating, nil, true
			r.Lease = turn.Lease{Holder: "anybody", Nonce: e.Nonce, Token: r.Token, Expires: now.Add(p.Lease)}
		}
		return turn.Step(r, e, now, p)
	}
	origin(t, 2, lockGivenBack, "m1 is in 2 replies", func(w *world) {
		w.say(0, "m1")
		w.say(1, "m2") // at once: both processes wake up when the quiet time is over
	})
}

// The debounce worked for two messages, and failed for the third, which came
// while the model was writing.
func TestThirdMessageWhileTheModelWrites(t *testing.T) {
	commitUnchecked := func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
		if _, ok := e.(turn.Generated); ok {
			r.Attempt.Through, r.Attempt.Newer = r.Version, 0
		}
		p.OnNewInput = turn.Discard
		return turn.Step(r, e, now, p)
	}
	origin(t, 1, commitUnchecked, "m3 is in 0 replies", func(w *world) {
		w.say(0, "m1")
		w.until(time.Second)
		w.say(0, "m2")
		w.until(5 * time.Second)
		w.say(0, "m3")
	})
}

// The timer was stored with the conversation, and the end of each turn wrote
// back the conversation as it was at the turn's start.
func TestTimerOverwrittenByTheEndOfATurn(t *testing.T) {
	writeBack := func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
		next, effects := turn.Step(r, e, now, p)
		if _, ok := e.(turn.Sent); ok && next.Phase == turn.Collecting {
			next.Phase, next.Pending, next.Answered = turn.Idle, 0, next.Version
		}
		return next, effects
	}
	origin(t, 1, writeBack, "m2 is in 0 replies", func(w *world) {
		w.say(0, "m1")
		w.until(7 * time.Second)
		w.seal() // so that m2 is for the next turn
		w.say(0, "m2")
	})
}
