package inspect

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// step is a step of a turn; its reason tells it from the others.
func step(number int64, reason string) turn.Notice {
	return turn.Notice{Kind: turn.KindTurnScheduled, Turn: number, Reason: reason}
}

func trace(steps ...turn.Notice) store.Trace { return store.Trace{Steps: steps} }

// threeTurns is a conversation with two turns that are over, and one under way.
func threeTurns(t *testing.T) *watched {
	s := newStore()
	entry := func(seq int64, kind store.Kind, id string, number int64, of store.Trace) store.Entry {
		return store.Entry{Seq: seq, Kind: kind, ID: id, At: now, Version: 1, Body: store.Body{Turn: number, Trace: of}}
	}
	accepted := func(number, seq int64) turn.Notice {
		return turn.Notice{Kind: turn.KindMessageAccepted, Turn: number, Seq: seq}
	}
	put(t, s, store.Write{
		Key: keyOf("bot", 1), At: now,
		Record: turn.Record{Phase: turn.Collecting, Turn: 3, Seq: 6, Version: 3, Pending: 1, Window: turn.Window{Start: now}},
		Log:    store.Log{Trace: trace(step(2, "2c"), step(3, "3b"))},
		Append: []store.Entry{
			entry(1, store.Message, "m1", 0, trace(turn.Notice{Kind: turn.KindConversationPaused, Reason: "0a"}, accepted(1, 1))),
			entry(2, store.Reply, "r1", 1, store.Trace{Lost: 4, Steps: []turn.Notice{step(1, "1b"), {Kind: turn.KindReplyCommitted, Turn: 1, Seq: 2}}}),
			entry(3, store.Message, "m2", 0, trace(step(1, "1c"), accepted(2, 3))),
			entry(4, store.Reply, "r2", 2, trace(step(2, "2b"), turn.Notice{Kind: turn.KindTurnStarted, Turn: 2, Holder: "node-1"})),
			entry(5, store.Reset, "", 0, trace(step(2, "2d"), turn.Notice{Kind: turn.KindConversationReset, Turn: 2, Seq: 5, Reason: "2e"})),
			entry(6, store.Message, "m3", 0, trace(accepted(3, 6))),
		},
	})
	return s
}

// linesOf shows a timeline, one line a turn.
func linesOf(turns []Turn) (lines []string) {
	for _, one := range turns {
		line := fmt.Sprintf("%d open=%v lost=%d:", one.Number, one.Open, one.Lost)
		for _, e := range one.Steps {
			line += " " + e.Reason + e.MessageID + e.ReplyID + e.Node
		}
		lines = append(lines, line)
	}
	return lines
}

// A timeline puts the steps of a turn together again, from wherever they are stored,
// and has the turns that are asked for, those at both ends too.
func TestTimeline(t *testing.T) {
	s := threeTurns(t)
	all := []string{
		"0 open=false lost=0: 0a",
		"1 open=false lost=4: m1 1b c0001/1 1c",
		"2 open=false lost=0: m2 2b node-1 2d 2e 2c",
		"3 open=true lost=0: m3 3b",
	}
	for _, test := range []struct {
		turns, turn int64
		want        []string
	}{
		{1, 0, all[3:]}, {2, 0, all[2:]}, {3, 0, all[1:]}, {4, 0, all}, {100, 0, all},
		{10, 1, all[1:2]}, {10, 2, all[2:3]}, {10, 3, all[3:]}, {10, 4, nil},
	} {
		found, err := Timeline(t.Context(), s, TimelineQuery{Key: keyOf("bot", 1), Turns: test.turns, Turn: test.turn})
		if got := linesOf(found); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%d turns, turn %d: %q, %v, want %q", test.turns, test.turn, got, err, test.want)
		}
	}
	if _, err := Timeline(t.Context(), s, TimelineQuery{Key: keyOf("bot", 2), Turns: 1}); !errors.Is(err, ErrNothing) {
		t.Errorf("of an unknown one: %v", err)
	}
	s.broken = errors.New("away")
	if _, err := Timeline(t.Context(), s, TimelineQuery{Key: keyOf("bot", 1), Turns: 1}); !errors.Is(err, s.broken) {
		t.Errorf("a store that is away: %v", err)
	}
}

// Events of a timeline carry no names of the conversation, which it has itself.
func TestStepsNameNoConversation(t *testing.T) {
	found, err := Timeline(t.Context(), threeTurns(t), TimelineQuery{Key: keyOf("bot", 1), Turns: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range found {
		for _, e := range one.Steps {
			if e.Key != (store.Key{}) || e.Turn != one.Number {
				t.Errorf("turn %d has %+v", one.Number, e)
			}
		}
	}
}

// A transcript of more than one page is read to the reply before the first turn, and
// each entry once. Of a turn the last steps are kept.
func TestALongTimeline(t *testing.T) {
	for _, count := range []int{MaxSteps - 1, MaxSteps, MaxSteps + 1, store.MaxEntries - 1, store.MaxEntries, store.MaxEntries + 1, 2*store.MaxEntries + 1} {
		s := newStore()
		entries := []store.Entry{{Seq: 1, Kind: store.Reply, ID: "r1", At: now, Version: 1, Body: store.Body{Turn: 1, Trace: trace(step(1, "early"))}}}
		for i := range count {
			seq := int64(i + 2)
			entries = append(entries, store.Entry{Seq: seq, Kind: store.Message, ID: fmt.Sprint("m", seq), At: now, Version: 1, Body: store.Body{Trace: trace(step(2, fmt.Sprint(seq)))}})
		}
		put(t, s, store.Write{Key: keyOf("bot", 1), At: now, Record: turn.Record{Phase: turn.Collecting, Turn: 2, Seq: int64(count + 1), Pending: count}, Append: entries})
		found, err := Timeline(t.Context(), s, TimelineQuery{Key: keyOf("bot", 1), Turns: 1})
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		one, kept := found[0], min(count, MaxSteps)
		last := one.Steps[len(one.Steps)-1]
		if len(one.Steps) != kept || one.Lost != count-kept || last.Reason != fmt.Sprint(count+1) {
			t.Errorf("of %d steps %d are kept and %d lost, the last is %s", count, len(one.Steps), one.Lost, last.Reason)
		}
		if want := (count + store.MaxEntries) / store.MaxEntries; len(s.entries) != want && len(s.entries) != want+1 {
			t.Errorf("%d entries were read in %d pages", count, len(s.entries))
		}
		if found, err = Timeline(t.Context(), s, TimelineQuery{Key: keyOf("bot", 1), Turns: 2}); err != nil || len(found) != 2 {
			t.Errorf("of both turns: %d, %v", len(found), err)
		}
	}
}

// A turn is open while it waits or runs, and while its reply is on its way.
func TestOpen(t *testing.T) {
	sending := &turn.Reply{Turn: 2}
	again := &turn.Reply{Turn: 1, Kind: turn.ReplyResend}
	for name, test := range map[string]struct {
		record turn.Record
		open   []int64
	}{
		"idle":                  {turn.Record{Phase: turn.Idle, Turn: 2}, nil},
		"failed":                {turn.Record{Phase: turn.Failed, Turn: 2}, nil},
		"collecting":            {turn.Record{Phase: turn.Collecting, Turn: 2}, []int64{2}},
		"generating":            {turn.Record{Phase: turn.Generating, Turn: 2}, []int64{2}},
		"sending":               {turn.Record{Phase: turn.Sending, Turn: 2, Reply: sending}, []int64{2}},
		"a queue":               {turn.Record{Phase: turn.Sending, Turn: 4, Reply: sending, Queue: []turn.Reply{{Turn: 3}, {Turn: 4}}}, []int64{2, 3, 4}},
		"sent again":            {turn.Record{Phase: turn.Sending, Turn: 2, Reply: again}, []int64{1}},
		"sent again, and waits": {turn.Record{Phase: turn.Sending, Turn: 2, Reply: again, Pending: 1, Window: turn.Window{Start: now}}, []int64{1, 2}},
		"no window is open":     {turn.Record{Phase: turn.Sending, Turn: 2, Reply: again, Pending: 1}, []int64{1}},
		"another reply":         {turn.Record{Phase: turn.Sending, Turn: 3, Reply: sending, Pending: 1, Window: turn.Window{Start: now}}, []int64{2}},
	} {
		timeline := timeline{record: test.record}
		var open []int64
		for number := range int64(6) {
			if timeline.open(number) {
				open = append(open, number)
			}
		}
		if !slices.Equal(open, test.open) {
			t.Errorf("%s: %v are open, want %v", name, open, test.open)
		}
	}
}
