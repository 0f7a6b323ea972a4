package onereply_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

// types reads what there is, and lists it by type.
func types(s *onereply.Subscription) (got []string) {
	for {
		synctest.Wait()
		select {
		case e, ok := <-s.Events:
			if !ok {
				return append(got, "closed")
			}
			got = append(got, e.Type)
		default:
			return got
		}
	}
}

// The life of a turn, as those see it who watch.
func TestEventsOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{model: 3 * time.Second})
		defer w.close()
		all := w.nodes[0].Subscribe(onereply.EventQuery{})
		other := w.nodes[0].Subscribe(onereply.EventQuery{Bot: "bot", Conversation: "else"})
		defer other.Close()
		w.say(0, "m")
		time.Sleep(2 * time.Second)
		w.say(0, "n")
		rest(time.Minute)
		want := []string{
			"message.accepted", "turn.scheduled", "turn.started", "message.accepted", "reply.discarded",
			"turn.scheduled", "turn.started", "reply.committed", "reply.sent", "turn.ended",
		}
		if got := types(all); !slices.Equal(got, want) {
			t.Errorf("the events are %q, want %q", got, want)
		}
		if got := types(other); got != nil {
			t.Errorf("another conversation's watcher sees %q", got)
		}
		all.Close()
		all.Close()
		if got := types(all); !slices.Equal(got, []string{"closed"}) {
			t.Errorf("after Close: %q", got)
		}
	})
}

// Only a reply that left newer input unanswered says so.
func TestEventsSayWhatWasLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{model: 3 * time.Second, bot: onereply.Bot{OnNewInput: onereply.ModeFinish}})
		defer w.close()
		all := w.nodes[0].Subscribe(onereply.EventQuery{})
		defer all.Close()
		w.say(0, "m")
		time.Sleep(2 * time.Second)
		w.say(0, "n")
		rest(time.Minute)
		w.nodes[0].Answer(t.Context(), "bot", "c", onereply.HumanReply{Text: "I see."})
		time.Sleep(time.Second)
		var late []bool
		for _, e := range read(all) {
			if e.Type == "reply.committed" {
				late = append(late, e.LateInput)
			}
		}
		// What was sent for what it saw, the rest, and what a person wrote.
		if want := []bool{true, false, false}; !slices.Equal(late, want) {
			t.Errorf("late: %v, want %v", late, want)
		}
	})
}

// A reader resumes after any event of its node that it names; one of another node is not
// known.
func TestResuming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{nodes: 2})
		defer w.close()
		w.nodes[1].Drain(t.Context())
		first := w.nodes[0].Subscribe(onereply.EventQuery{})
		defer first.Close()
		w.say(0, "m")
		rest(time.Minute)
		var ids []string
		for _, e := range read(first) {
			ids = append(ids, e.ID)
		}
		for i, id := range ids {
			again := w.nodes[0].Subscribe(onereply.EventQuery{After: id})
			if got, want := len(read(again)), len(ids)-1-i; got != want {
				t.Errorf("after event %d there are %d, want %d", i, got, want)
			}
			again.Close()
		}
		w.say(1, "n")
		elsewhere := w.nodes[1].Subscribe(onereply.EventQuery{After: ids[0]})
		defer elsewhere.Close()
		if got := types(elsewhere); !slices.Equal(got, []string{"events.lost"}) {
			t.Errorf("resumed on another node: %q", got)
		}
	})
}

func TestWatchersOfANodeThatCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		open := w.nodes[0].Subscribe(onereply.EventQuery{})
		w.close()
		late := w.nodes[0].Subscribe(onereply.EventQuery{After: "x"})
		for name, s := range map[string]*onereply.Subscription{"open": open, "late": late} {
			if _, ok := <-s.Events; ok {
				t.Errorf("the stream that was %s goes on", name)
			}
			s.Close()
		}
	})
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{model: 3 * time.Second})
		defer w.close()
		w.say(0, "m1")
		w.say(0, "m1")
		w.until(2 * time.Second)
		if got := w.nodes[0].Stats(); got.Generating != 1 || got.Waiting != 1 {
			t.Errorf("%d generate, %d wait; want one of each", got.Generating, got.Waiting)
		}
		w.say(0, "m2")
		time.Sleep(30 * time.Second)
		got := w.nodes[0].Stats()
		if got.Accepted != 2 || got.Duplicates != 1 || got.Discards != 1 || got.Turns["sent"] != 1 || got.Deliveries["sent"] != 1 || got.Generating != 0 {
			t.Errorf("counted %+v", got)
		}
		if b := got.BurstSize; b.Count != 1 || b.Sum != 2 || b.Counts[0] != 0 || b.Counts[1] != 1 {
			t.Errorf("sizes of bursts %+v, want one of two", b)
		}
		if r := got.TimeToReply; r.Count != 1 || r.Sum < 6.5 || r.Sum > 6.6 {
			t.Errorf("times to reply %+v, want 6.5 seconds", r)
		}
		if d := got.DueToStart; d.Count != 2 || d.Sum > .01 {
			t.Errorf("times from due to start %+v", d)
		}
		rest(time.Minute)
		if got := w.nodes[0].Stats(); got.Waiting != 0 {
			t.Errorf("%d conversations are still in memory", got.Waiting)
		}
	})
}
