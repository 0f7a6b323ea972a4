package turn_test

import (
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// spender is a node with a budget: what it knows of the record, and the write that it waits
// for.
type spender struct {
	knows   turn.Record
	op      int  // of the write that made what it knows
	writing bool // it waits for the outcome of a write
	next    turn.Record
	left    int // calls that it is still to make
}

// spendWorld is the record of a budget, and two nodes that make calls.
type spendWorld struct {
	record  turn.Record
	op, ops int
	now     turn.Time
	nodes   [2]spender
	began   map[int64]int // calls that began, by day
	lost    int           // writes of unknown outcome so far
}

func (w spendWorld) clone() spendWorld {
	began := map[int64]int{}
	for day, count := range w.began {
		began[day] = count
	}
	w.began = began
	return w
}

// Every order of up to nine steps of two nodes that know the record as it was, or is: each
// asks for a call and writes what was decided, which may meet a conflict, or be of unknown
// outcome and be asked for again; and a day passes. All of them together never begin more
// calls in a day than the budget allows.
func TestABudgetIsNeverExceeded(t *testing.T) {
	const day = 24 * time.Hour
	policy := turn.Policy{Daily: turn.DailyBudget{Calls: 2}}
	states, refused := 0, 0
	var explore func(w spendWorld, left int)
	explore = func(w spendWorld, left int) {
		states++
		if err := turn.Check(w.record); err != nil {
			t.Fatal(err)
		}
		for on, count := range w.began {
			if count > 2 {
				t.Fatalf("on day %d %d calls began", on, count)
			}
		}
		if left == 0 || t.Failed() {
			return
		}
		for i := range w.nodes {
			n := w.nodes[i]
			switch {
			case n.writing:
				// The write arrives: it is applied, or meets a conflict.
				next := w.clone()
				me := &next.nodes[i]
				me.writing = false
				if me.op == w.op {
					next.ops++
					next.record, next.op = me.next, next.ops
					me.knows, me.op = next.record, next.op
					next.begin(i)
				} else {
					me.knows, me.op = w.record, w.op
				}
				explore(next, left-1)
				if w.lost == 0 { // nobody learns whether it arrived, and it is asked for again
					for _, applied := range []bool{true, false} {
						next := w.clone()
						me := &next.nodes[i]
						me.writing, next.lost = false, 1
						if applied && me.op == w.op {
							next.ops++
							next.record, next.op = me.next, next.ops
						}
						me.knows, me.op = next.record, next.op
						explore(next, left-1)
					}
				}
			case n.left > 0:
				next := w.clone()
				me := &next.nodes[i]
				record, effects := turn.Step(me.knows, turn.Spend{Calls: 1}, w.now, policy)
				switch {
				case effects.Outcome == turn.Ignored:
					refused++
					if me.op == w.op && w.record.Spent.Calls < 2 {
						t.Fatalf("a call is refused although there were %d", w.record.Spent.Calls)
					}
					me.left = 0
				case !effects.Changed:
					t.Fatal("a call is allowed and not counted")
				default:
					me.writing, me.next = true, record
				}
				explore(next, left-1)
			}
		}
		if w.now < turn.At(time.Unix(0, 0).Add(day)) {
			next := w.clone()
			next.now = next.now.Add(day)
			explore(next, left-1)
		}
	}
	explore(spendWorld{now: 1_000, nodes: [2]spender{{left: 3}, {left: 3}}, began: map[int64]int{}}, 9)
	if states < 10_000 || refused == 0 {
		t.Errorf("%d states, %d refused", states, refused)
	}
}

// begin begins the call of a node that was allowed, on the day of the write that counts it.
func (w *spendWorld) begin(i int) {
	w.nodes[i].left--
	w.began[w.record.Spent.Day]++
}

func TestBudgetOfADay(t *testing.T) {
	noon := turn.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	const day = 24 * time.Hour
	spend := func(r turn.Record, e turn.Spend, now turn.Time, b turn.DailyBudget) (turn.Record, turn.Effects) {
		return turn.Step(r, e, now, turn.Policy{Daily: b})
	}
	two := turn.DailyBudget{Calls: 2}
	var r turn.Record
	var effects turn.Effects
	for range 2 {
		if r, effects = spend(r, turn.Spend{Calls: 1}, noon, two); effects.Outcome != turn.Done || !effects.Changed {
			t.Fatalf("%+v", effects)
		}
	}
	if _, wakes := r.Wake(); wakes || !r.Empty() || len(effects.Notices) > 0 {
		t.Errorf("a budget is no conversation: %+v, %+v", r, effects)
	}
	full := r
	r, effects = spend(full, turn.Spend{Calls: 1}, noon, two)
	if effects.Outcome != turn.Ignored || effects.Reason != turn.OverBudget || !effects.Changed || r.Spent.Refused != noon || r.Spent.Calls != 2 {
		t.Errorf("the first call beyond the budget: %+v, %+v", r.Spent, effects)
	}
	refused := r
	if r, effects = spend(refused, turn.Spend{Calls: 1}, noon.Add(time.Minute), two); effects.Outcome != turn.Ignored || effects.Changed || r.Spent != refused.Spent {
		t.Errorf("the second: %+v, %+v", r.Spent, effects)
	}
	for name, later := range map[string]struct {
		at turn.Time
		b  turn.DailyBudget
	}{
		"the next day":               {turn.NextDay(noon), two},
		"with a greater budget":      {noon, turn.DailyBudget{Calls: 3}},
		"without a budget":           {noon, turn.DailyBudget{}},
		"with a budget of tokens":    {noon, turn.DailyBudget{Tokens: 1}},
		"by a clock that was behind": {turn.NextDay(noon).Add(day), two},
	} {
		if r, effects := spend(refused, turn.Spend{Calls: 1}, later.at, later.b); effects.Outcome != turn.Done || r.Spent.Refused != 0 {
			t.Errorf("%s: %+v, %+v", name, r.Spent, effects)
		}
	}
	if r, _ := spend(refused, turn.Spend{Calls: 1}, turn.NextDay(noon), two); r.Spent.Calls != 1 {
		t.Errorf("the next day begins with %+v", r.Spent)
	}
	if _, effects = spend(refused, turn.Spend{Calls: 1}, noon.Add(-day), two); effects.Outcome != turn.Ignored {
		t.Errorf("a clock that is set back begins the day anew: %+v", effects)
	}
}

// Tokens are known when they are spent already: they count whatever they add up to, and end the
// budget for the next call.
func TestBudgetOfTokens(t *testing.T) {
	policy := turn.Policy{Daily: turn.DailyBudget{Tokens: 10}}
	r, _ := turn.Step(turn.Record{}, turn.Spend{Calls: 1}, 1_000, policy)
	for _, tokens := range []int64{9, 40} {
		var effects turn.Effects
		if _, effects = turn.Step(r, turn.Spend{Calls: 1}, 1_000, policy); effects.Outcome != turn.Done {
			t.Errorf("with %d tokens: %+v", r.Spent.Tokens, effects)
		}
		if r, effects = turn.Step(r, turn.Spend{Tokens: tokens}, 1_000, policy); effects.Outcome != turn.Done {
			t.Errorf("%+v", effects)
		}
	}
	if _, effects := turn.Step(r, turn.Spend{Calls: 1}, 1_000, policy); effects.Outcome != turn.Ignored || r.Spent.Tokens != 49 {
		t.Errorf("with %d tokens: %+v", r.Spent.Tokens, effects)
	}
}
