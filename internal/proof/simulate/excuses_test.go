package simulate

import (
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// What somebody asked for excuses what comes of it, and nothing behind that.
func TestExcusesEnd(t *testing.T) {
	long := func(what What, id int, at time.Duration) Event {
		return Event{ID: id, At: at, What: what, For: 30 * time.Second}
	}
	say := func(id int, at time.Duration) Event {
		return Event{ID: id, At: at, What: send, Message: messageID(id)}
	}
	idle := Event{ID: 2, At: time.Second, What: resume, Flag: true} // nothing is paused
	tests := map[string]struct {
		check  string
		step   seededFault
		events []Event
	}{
		"a reply that is given up after a pause": {
			"P3 failed", seededFault{step: changeDecision(resumeEndsTries)},
			[]Event{
				long(modelSeals, 1, 0), long(sendFails, 2, 0), say(3, 0),
				{ID: 4, At: 11 * time.Second, What: pause}, {ID: 5, At: 13 * time.Second, What: resume, Flag: true},
			},
		},
		"a pause that ends after a resume of nothing": {
			"P2 pause", seededFault{step: changeDecision(messageResumes)},
			[]Event{say(1, 0), idle, {ID: 3, At: 15 * time.Second, What: pause}, say(4, 20*time.Second)},
		},
		"a window without a cap after a resume of nothing": {
			"P3 hard cap", seededFault{step: changePolicy(noHardCap)},
			append([]Event{say(1, 0), idle}, func() (more []Event) {
				for i := range 20 {
					more = append(more, say(3+i, time.Duration(1+i)*time.Second))
				}
				return more
			}()...),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			foundBefore(t, test.events)
			noticed := 0
			for seed := range uint64(200) {
				if w, _ := playPlain(seed, test.events, test.step); w.broken != nil && w.broken.Check == test.check {
					noticed++
				}
			}
			if noticed == 0 {
				t.Errorf("%s fails over it in no run", test.check)
			}
			t.Logf("noticed in %d runs of 200", noticed)
		})
	}
}

func resumeEndsTries(_, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Resume); ok && is.Reply != nil {
		is.Reply.Since = 1
	}
}

func messageResumes(was, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Message); ok && was.OnHold {
		is.OnHold = false
	}
}
