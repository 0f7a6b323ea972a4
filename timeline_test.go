package onereply_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
)

// received is what a subscriber got, without what the timeline leaves out.
func received(s *onereply.Subscription) (steps []onereply.Event) {
	for _, e := range read(s) {
		if e.Type == "reply.delta" {
			continue
		}
		step := onereply.Event{
			Type: e.Type, At: e.At, Turn: e.Turn, Token: e.Token, Attempt: e.Attempt, Version: e.Version, Through: e.Through,
			DueAt: e.DueAt, FirstByteAt: e.FirstByteAt, Seq: e.Seq, MessageID: e.MessageID, ReplyID: e.ReplyID,
			Part: e.Part, Parts: e.Parts, Reason: e.Reason, LateInput: e.LateInput,
		}
		if e.Type == "turn.started" || e.Type == "lease.lost" {
			step.Node = e.Node
		}
		steps = append(steps, step)
	}
	return steps
}

func (w *world) timeline(node int, q onereply.TimelineQuery) onereply.Timeline {
	w.t.Helper()
	timeline, err := w.nodes[node].Timeline(w.t.Context(), "bot", "c", q)
	if err != nil {
		w.t.Fatal(err)
	}
	return timeline
}

// steps are all steps of a timeline, turn by turn.
func steps(t onereply.Timeline) (all []onereply.Event) {
	for _, one := range t.Turns {
		all = append(all, one.Steps...)
	}
	return all
}

// byTurn puts steps into the order of a timeline.
func byTurn(all []onereply.Event) []onereply.Event {
	slices.SortStableFunc(all, func(a, b onereply.Event) int { return int(a.Turn - b.Turn) })
	return all
}

func wantSteps(t *testing.T, got, want []onereply.Event) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("step %d is missing: %+v", i, want[i])
		case i >= len(want):
			t.Errorf("step %d was not told: %+v", i, got[i])
		case !reflect.DeepEqual(got[i], want[i]):
			t.Errorf("step %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

// The timeline is what was told to those who watched, and it is the same from
// another node.
func TestTimelineIsWhatWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{wrong: []func(context.Context) error{delivered, giving(onereply.NotDeliveredError(errAway))}}
		w := newWorld(t, settings{bot: onereply.Bot{Sender: r, UnknownSend: onereply.UnknownHold, Responder: onereply.ResponderFunc(
			func(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
				time.Sleep(time.Second)
				t.Delta("on")
				select {
				case <-time.After(2 * time.Second):
				case <-ctx.Done():
					return onereply.Reply{}, ctx.Err()
				}
				if t.Attempt == 2 {
					return onereply.Reply{}, errAway
				}
				return onereply.Reply{Parts: []string{"one", "two"}}, nil
			})}})
		defer w.close()
		all := w.nodes[0].Subscribe(onereply.EventQuery{})
		defer all.Close()
		w.say(0, "m1")
		w.until(500 * time.Millisecond)
		w.say(0, "m2")
		w.say(0, "m2") // a provider that got no answer in time
		text := "better"
		if _, err := w.nodes[0].Edit(t.Context(), "bot", "c", "m1", onereply.Edit{Text: &text}); err != nil {
			t.Fatal(err)
		}
		w.until(4 * time.Second)
		w.say(0, "m3") // while the model writes
		rest(time.Minute)
		w.say(0, "m4")
		rest(time.Minute)
		if _, err := w.nodes[0].Pause(t.Context(), "bot", "c", onereply.Pause{Reason: "lunch"}); err != nil {
			t.Fatal(err)
		}
		rest(time.Second)

		want := byTurn(received(all))
		got := w.timeline(0, onereply.TimelineQuery{})
		wantSteps(t, steps(got), want)
		types := make([]string, len(want))
		for i, step := range want {
			types[i] = step.Type
		}
		line := strings.Join(types, " ")
		for _, part := range []string{
			"message.accepted turn.scheduled message.accepted turn.scheduled message.repeated message.accepted turn.scheduled turn.started",
			"message.accepted reply.discarded turn.scheduled turn.started reply.discarded attempt.failed turn.scheduled turn.started",
			"reply.committed part.sent part.failed part.sent reply.sent turn.ended message.accepted",
			"reply.sent turn.ended conversation.paused",
		} {
			if !strings.Contains(line, part) {
				t.Errorf("%q is not in what was told: %s", part, line)
			}
		}
		if len(got.Turns) != 2 {
			t.Fatalf("%d turns", len(got.Turns))
		}
		for _, turn := range got.Turns {
			if turn.Open || turn.Lost != 0 {
				t.Errorf("turn %d: open %v, lost %d", turn.Turn, turn.Open, turn.Lost)
			}
		}
		if one := w.timeline(0, onereply.TimelineQuery{Turn: 2}); len(one.Turns) != 1 || !reflect.DeepEqual(one.Turns[0], got.Turns[1]) {
			t.Errorf("turn 2 alone is %+v", one.Turns)
		}
		if last := w.timeline(0, onereply.TimelineQuery{Turns: 1}); len(last.Turns) != 1 || last.Turns[0].Turn != 2 {
			t.Errorf("the last turn is %+v", last.Turns)
		}
		next := newWorld(t, settings{store: w.store})
		defer next.close()
		wantSteps(t, steps(next.timeline(0, onereply.TimelineQuery{})), want)
		next.say(0, "m5")
		if now := next.timeline(0, onereply.TimelineQuery{}); !now.Turns[len(now.Turns)-1].Open {
			t.Error("a turn that collects is not open")
		}
	})
}

// A burst that is too long loses its oldest steps, and says how many.
func TestTimelineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{model: time.Second})
		defer w.close()
		for i := range 200 {
			w.say(0, fmt.Sprint("m", i))
		}
		rest(time.Minute)
		one := w.timeline(0, onereply.TimelineQuery{}).Turns[0]
		if kept := len(one.Steps); kept > onereply.MaxTimelineSteps+1 || kept < 100 || one.Lost+kept != 2*200+4 {
			t.Errorf("%d steps are kept, %d lost", kept, one.Lost)
		}
	})
}

func TestTimelineIsAskedForRightly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		defer w.close()
		for q, want := range map[onereply.TimelineQuery]onereply.Code{
			{}: onereply.CodeNotFound, {Turns: 101}: onereply.CodeInvalid, {Turns: -1}: onereply.CodeInvalid, {Turn: -1}: onereply.CodeInvalid,
		} {
			var problem *onereply.Error
			if _, err := w.nodes[0].Timeline(t.Context(), "bot", "c", q); !errors.As(err, &problem) || problem.Code != want {
				t.Errorf("%+v: %v, want %s", q, err, want)
			}
		}
	})
}

// What an operator can do about a reply whose outcome nobody knows.
func TestTroubles(t *testing.T) {
	unknown := giving(errors.New("connection lost"))
	for name, test := range map[string]struct {
		act   func(*onereply.App) (onereply.State, error)
		tries []string
		types []string
	}{
		"resend": {
			act: func(a *onereply.App) (onereply.State, error) {
				return a.Resend(context.Background(), "bot", "c", 1)
			},
			tries: []string{"part 0, try 1: one", "part 1, try 1: two", "part 1, try 1: two"},
			types: []string{"reply.resent", "part.sent", "reply.sent"},
		},
		"mark sent": {
			act: func(a *onereply.App) (onereply.State, error) {
				return a.MarkSent(context.Background(), "bot", "c", 1)
			},
			tries: []string{"part 0, try 1: one", "part 1, try 1: two"},
			types: []string{"reply.marked"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{wrong: []func(context.Context) error{delivered, unknown}}
				w := newWorld(t, settings{bot: onereply.Bot{Sender: r, UnknownSend: onereply.UnknownHold, Responder: parts("one", "two")}})
				defer w.close()
				w.say(0, "m")
				rest(time.Minute)
				w.wantTranscript("text of m (answered)", "one\ntwo (unknown)")
				w.wantAttention(true)
				if s, err := test.act(w.nodes[0]); err != nil || s.Version != 1 {
					t.Fatalf("%+v, %v", s, err)
				}
				rest(time.Minute)
				w.wantTranscript("text of m (answered)", "one\ntwo (sent)")
				w.wantAttention(false)
				w.wantPhase(onereply.PhaseIdle)
				if !slices.Equal(r.tries, test.tries) {
					t.Errorf("sent %q, want %q", r.tries, test.tries)
				}
				var types []string
				for _, step := range steps(w.timeline(0, onereply.TimelineQuery{Turn: 1})) {
					types = append(types, step.Type)
				}
				if len(types) < len(test.types) || !slices.Equal(types[len(types)-len(test.types):], test.types) {
					t.Errorf("the timeline ends otherwise: %q", types)
				}
				var problem *onereply.Error
				if _, err := test.act(w.nodes[0]); !errors.As(err, &problem) || problem.Code != onereply.CodeConflict {
					t.Errorf("a second time: %v", err)
				}
				if stats := w.nodes[0].Stats(); stats.Turns["sent"] != 0 || stats.Turns["unknown"] != 1 {
					t.Errorf("the numbers count it twice: %+v", stats.Turns)
				}
			})
		})
	}
}

func (w *world) wantAttention(want bool) {
	w.t.Helper()
	snapshot, err := w.store.Load(w.t.Context(), store.Key{Bot: "bot", Conversation: "c"})
	if got := snapshot.Record.NeedsAttention(); err != nil || got != want {
		w.t.Errorf("needs attention: %v, want %v (%v)", got, want, err)
	}
}
