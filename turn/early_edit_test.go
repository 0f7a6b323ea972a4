package turn_test

import (
	"slices"
	"testing"

	"github.com/onereply/onereply/turn"
)

// An edit that comes before its message is kept until its time is over; a deletion
// claims the id. Neither is an input.
func TestEarly(t *testing.T) {
	var r turn.Record
	now := start
	step := func(e turn.Event) turn.Effects {
		t.Helper()
		after, effects := turn.Step(r, e, now, basic)
		if err := turn.Check(after); err != nil {
			t.Fatal(err)
		}
		if _, message := e.(turn.Message); !message && (after.Version != r.Version || after.Turn != r.Turn || len(effects.Notices)+len(effects.Actions) > 0) {
			t.Errorf("%+v: the record is %+v", e, after)
		}
		r = after
		return effects
	}
	first := step(turn.Early{})
	if first.Outcome != turn.CameEarly || first.AppendEarly != 1 || !r.KeepsEarly(1, now) {
		t.Fatalf("%+v, %+v", first, r)
	}
	now = now.Add(turn.EarlyFor - 1e6)
	if e := step(turn.Early{Seq: 1}); e.AppendEarly != 0 || !r.KeepsEarly(1, now.Add(turn.EarlyFor-1e6)) {
		t.Errorf("a newer edit of the same message: %+v, %+v", e, r)
	}
	if r.KeepsEarly(1, now.Add(turn.EarlyFor)) {
		t.Error("it is kept for too long")
	}
	second := step(turn.Early{})
	if e := step(turn.Message{Early: 1}); !slices.Equal(e.DropEarly, []int64{1}) || len(r.Early) != 1 {
		t.Errorf("its message came: %+v, %+v", e, r)
	}
	if e := step(turn.Early{Seq: second.AppendEarly, Deleted: true}); !slices.Equal(e.DropEarly, []int64{second.AppendEarly}) || e.AppendEarly != r.Seq || !r.Retracted || len(r.Early) > 0 {
		t.Errorf("its deletion came: %+v, %+v", e, r)
	}
	step(turn.Early{})
	last := r.Seq
	now = now.Add(turn.EarlyFor)
	if e := step(turn.Early{Seq: last}); !slices.Equal(e.DropEarly, []int64{last}) || e.AppendEarly == 0 {
		t.Errorf("one whose time is over: %+v", e)
	}
	for len(r.Early) < turn.MaxEarly {
		step(turn.Early{})
	}
	if e := step(turn.Early{}); e.Outcome != turn.Ignored || e.Reason != turn.TooManyEarly || e.Changed {
		t.Errorf("one too many: %+v", e)
	}
	now = now.Add(turn.EarlyFor)
	if e := step(turn.Early{}); len(e.DropEarly) != turn.MaxEarly || len(r.Early) != 1 {
		t.Errorf("their time is over: %+v", r.Early)
	}
}

// The edits that are kept for messages that have not come are bounded in bytes too. One that
// takes the place of another counts once, and one whose time is over does not count.
func TestEarlyEditsAreBoundedInBytes(t *testing.T) {
	policy := turn.Policy{WaitingBytes: 10}
	var r turn.Record
	now := turn.Time(1_000)
	step := func(e turn.Early) turn.Effects {
		var effects turn.Effects
		r, effects = turn.Step(r, e, now, policy)
		return effects
	}
	first := step(turn.Early{Bytes: 4})
	for _, test := range []struct {
		name  string
		early turn.Early
		want  turn.Outcome
	}{
		{"one that fits", turn.Early{Bytes: 6}, turn.CameEarly},
		{"one more byte", turn.Early{Bytes: 1}, turn.Ignored},
		{"a longer text of the first", turn.Early{Seq: first.AppendEarly, Bytes: 5}, turn.Ignored},
		{"a shorter text of the first", turn.Early{Seq: first.AppendEarly, Bytes: 3}, turn.CameEarly},
		{"one byte again", turn.Early{Bytes: 1}, turn.CameEarly},
		{"a deletion", turn.Early{Deleted: true}, turn.CameEarly},
	} {
		if got := step(test.early); got.Outcome != test.want {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
	now = now.Add(turn.EarlyFor)
	if got := step(turn.Early{Bytes: 10}); got.Outcome != turn.CameEarly {
		t.Errorf("after their time: %+v", got)
	}
}
