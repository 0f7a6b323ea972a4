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
