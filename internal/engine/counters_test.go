package engine_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// counted is what a node counted since it was made.
type counted struct {
	tally      engine.Tally
	turns      map[string]uint64
	deliveries map[string]uint64
}

// What a node did is counted once, and in the right place.
func TestWhatIsCounted(t *testing.T) {
	retract := func(h *harness, id string) { h.submit("retract", engine.Request{Op: engine.Retract, ID: id}) }
	sendFails := func(h *harness, r engine.SendResult) {
		h.respond(h.started("m"), engine.Response{Text: "hello"})
		h.sent(asked[engine.Send](h), r)
	}
	stopped := engine.Response{Fault: turn.Failure, Reason: "canceled", Tokens: 7}
	endedBy := func(op engine.Op) func(h *harness) {
		return func(h *harness) {
			s := h.started("m")
			h.submit("end", engine.Request{Op: op})
			h.settle()
			h.respond(s, stopped)
		}
	}
	tests := map[string]struct {
		events func(h *harness)
		want   counted
	}{
		"a reply": {
			func(h *harness) { h.answered("hello", "m", "n") },
			counted{
				engine.Tally{Inputs: 2, ModelCalls: 1, Replies: 1, MessagesAnswered: 2},
				map[string]uint64{"sent": 1}, map[string]uint64{"sent": 1},
			},
		},
		"a repeat, and a message of our own": {
			func(h *harness) { h.answered("hello", "m"); h.say("m", "c/1"); h.settle() },
			counted{
				engine.Tally{Inputs: 1, Duplicates: 1, Ignored: 1, ModelCalls: 1, Replies: 1, MessagesAnswered: 1},
				map[string]uint64{"sent": 1}, map[string]uint64{"sent": 1},
			},
		},
		"an edit, a deletion, and one that comes too late": {
			func(h *harness) {
				h.say("m", "n")
				h.settle()
				h.submit("edit", engine.Request{Op: engine.Edit, ID: "m", Text: new("new")})
				retract(h, "n")
				h.settle()
				retract(h, "n")
				retract(h, "nobody")
				h.settle()
			},
			counted{engine.Tally{Inputs: 4, Ignored: 1}, nil, nil},
		},
		"an attempt that newer input overtook": {
			func(h *harness) { s := h.started("m"); h.say("n"); h.settle(); h.respond(s, stopped) },
			counted{engine.Tally{Inputs: 2, ModelCalls: 1, Discards: 1, TokensDiscarded: 7}, nil, nil},
		},
		"an attempt that a pause ended": {
			endedBy(engine.Pause),
			counted{engine.Tally{Inputs: 1, ModelCalls: 1, Discards: 1, TokensDiscarded: 7}, nil, nil},
		},
		"an attempt that a reset ended": {
			endedBy(engine.Reset),
			counted{engine.Tally{Inputs: 1, ModelCalls: 1, Discards: 1, TokensDiscarded: 7}, nil, nil},
		},
		"an attempt that a stop word ended": {
			func(h *harness) { s := h.started("m"); h.by("", "s", "stop"); h.settle(); h.respond(s, stopped) },
			counted{engine.Tally{Inputs: 2, ModelCalls: 1, Discards: 1, TokensDiscarded: 7}, nil, nil},
		},
		"an attempt that failed": {
			func(h *harness) {
				h.respond(h.started("m"), engine.Response{Fault: turn.Rejected, Reason: "no", Tokens: 1})
			},
			counted{engine.Tally{Inputs: 1, ModelCalls: 1, Failed: 1, TokensDiscarded: 1}, map[string]uint64{"failed": 1}, nil},
		},
		"no reply": {
			func(h *harness) { h.respond(h.started("m"), engine.Response{None: true, Tokens: 3}) },
			counted{engine.Tally{Inputs: 1, ModelCalls: 1}, map[string]uint64{"no_reply": 1}, nil},
		},
		"a person's reply": {
			func(h *harness) {
				h.human("hello")
				h.pass(time.Second)
				h.sent(asked[engine.Send](h), engine.SendResult{})
			},
			counted{engine.Tally{}, nil, map[string]uint64{"sent": 1}},
		},
		"a send that is tried again": {
			func(h *harness) { sendFails(h, engine.SendResult{Err: "busy", Certain: true}) },
			counted{engine.Tally{Inputs: 1, ModelCalls: 1}, nil, map[string]uint64{"retried": 1}},
		},
		"a send that is refused": {
			func(h *harness) { sendFails(h, engine.SendResult{Err: "no", Certain: true, ForGood: true}) },
			counted{engine.Tally{Inputs: 1, ModelCalls: 1, Failed: 1}, map[string]uint64{"failed": 1}, map[string]uint64{"failed": 1}},
		},
		"a send of unknown outcome": {
			func(h *harness) { sendFails(h, engine.SendResult{Err: "cut off"}) },
			counted{engine.Tally{Inputs: 1, ModelCalls: 1}, map[string]uint64{"unknown": 1}, map[string]uint64{"unknown": 1}},
		},
		"a reply of unknown outcome that an operator marks as sent": {
			func(h *harness) {
				sendFails(h, engine.SendResult{Err: "cut off"})
				h.submit("mark", engine.Request{Op: engine.MarkSent, Turn: 1})
				h.settle()
			},
			counted{engine.Tally{Inputs: 1, ModelCalls: 1}, map[string]uint64{"unknown": 1}, map[string]uint64{"unknown": 1}},
		},
		"one that its channel reports as delivered": {
			func(h *harness) {
				sendFails(h, engine.SendResult{Err: "cut off"})
				h.report("report", 0, turn.ReceiptDelivered)
			},
			counted{engine.Tally{Inputs: 1, ModelCalls: 1}, map[string]uint64{"unknown": 1}, map[string]uint64{"unknown": 1}},
		},
		"one that is sent again": {
			func(h *harness) {
				sendFails(h, engine.SendResult{Err: "cut off"})
				h.submit("resend", engine.Request{Op: engine.Resend, Turn: 1})
				h.pass(time.Second)
				h.sent(asked[engine.Send](h), engine.SendResult{})
			},
			counted{engine.Tally{Inputs: 1, ModelCalls: 1}, map[string]uint64{"unknown": 1}, map[string]uint64{"unknown": 1, "sent": 1}},
		},
		"requests that are no input": {
			func(h *harness) {
				h.submit("typing", engine.Request{Op: engine.Typing})
				h.submit("pause", engine.Request{Op: engine.Pause})
				h.submit("flush", engine.Request{Op: engine.Flush})
				h.settle()
			},
			counted{},
		},
		"inputs that a full conversation refuses": {
			func(h *harness) {
				for i := range turn.MaxEarly + 1 {
					h.edit(string(rune('a'+i)), "new")
				}
			},
			counted{},
		},
		"a reply that is withdrawn": {
			func(h *harness) {
				sendFails(h, engine.SendResult{Err: "busy", Certain: true})
				h.say("newer")
				h.pass(2 * time.Second)
			},
			counted{engine.Tally{Inputs: 2, ModelCalls: 2}, nil, map[string]uint64{"retried": 1, "withdrawn": 1}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, withWords)
			test.events(h)
			c := h.node.Counters
			got := counted{c.Total, c.Turns, c.Deliveries}
			if got.tally != test.want.tally || !maps.Equal(got.turns, test.want.turns) || !maps.Equal(got.deliveries, test.want.deliveries) {
				t.Errorf("counted %+v, want %+v", got, test.want)
			}
			sum := engine.Tally{}
			for _, minute := range c.Minutes(h.now) {
				sum.Add(minute.Tally)
			}
			if sum != c.Total {
				t.Errorf("the minutes add up to %+v, the total is %+v", sum, c.Total)
			}
			if c.Accepted != c.Total.Inputs || c.Duplicates != c.Total.Duplicates || c.Ignored != c.Total.Ignored ||
				c.Discards != c.Total.Discards || c.DiscardedTokens != c.Total.TokensDiscarded || c.LeasesLost != c.Total.LeasesLost {
				t.Errorf("the counters %+v differ from their total", c)
			}
		})
	}
}

// A worker that was lost is counted by the node that takes over.
func TestALostWorkerIsCounted(t *testing.T) {
	h := newHarness(t)
	h.started("m")
	other := newHarnessOn(t, h.store, h.now)
	other.pass(lease + 10*time.Second)
	if c := other.node.Counters; c.LeasesLost != 1 || c.Total.LeasesLost != 1 || c.Discards != 0 {
		t.Errorf("counted %+v, want one lost lease and no discard", c.Total)
	}
}

// So is one that was lost while it sent.
func TestAWorkerThatIsLostWhileItSendsIsCounted(t *testing.T) {
	h := newHarness(t)
	h.respond(h.started("m"), engine.Response{Text: "hello"})
	asked[engine.Send](h)
	other := newHarnessOn(t, h.store, h.now)
	other.pass(lease + 10*time.Second)
	if c := other.node.Counters; c.LeasesLost != 1 || c.Total.LeasesLost != 1 || c.Discards != 0 {
		t.Errorf("counted %+v, want one lost lease and no discard", c.Total)
	}
}

// A reply may be there within a fraction of a second.
func TestAQuickReplyIsCounted(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) {
		b := o.Bots["bot"]
		b.Policy.Debounce = 125 * time.Millisecond
		o.Bots["bot"] = b
	})
	h.say("m")
	h.pass(125 * time.Millisecond)
	h.respond(asked[engine.Start](h), engine.Response{Text: "hello"})
	h.sent(asked[engine.Send](h), engine.SendResult{})
	if c := h.node.Counters; c.TimeToReply.Sum != 0.125 || c.DueToStart.Sum != 0 || c.BurstSize.Sum != 1 {
		t.Errorf("after %v s, %v s after it was due, for %v messages", c.TimeToReply.Sum, c.DueToStart.Sum, c.BurstSize.Sum)
	}
}

// The distributions: a value counts in every bucket that holds it, and the buckets
// are in order.
func TestDistributions(t *testing.T) {
	h := newHarness(t)
	h.say("m", "n", "o")
	h.settle()
	h.now = h.now.Add(time.Second + 30*time.Millisecond) // 30 ms late
	h.tick(h.now)
	h.respond(asked[engine.Start](h), engine.Response{Text: "hello"})
	h.now = h.now.Add(2970 * time.Millisecond)
	h.sent(asked[engine.Send](h), engine.SendResult{})
	c := h.node.Counters.Clone()
	for name, test := range map[string]struct {
		h   engine.Histogram
		sum float64
	}{
		"burst": {c.BurstSize, 3}, "due to start": {c.DueToStart, 0.03}, "time to reply": {c.TimeToReply, 4},
	} {
		if !slices.IsSorted(test.h.Bounds) || len(test.h.Bounds) != len(test.h.Counts) {
			t.Errorf("%s: the bounds %v are not in order", name, test.h.Bounds)
		}
		if test.h.Count != 1 || test.h.Sum != test.sum {
			t.Errorf("%s: %d values, sum %v; want one of %v", name, test.h.Count, test.h.Sum, test.sum)
		}
		for i, bound := range test.h.Bounds {
			if want := bound >= test.sum; (test.h.Counts[i] == 1) != want {
				t.Errorf("%s: %v counts %d at or below %v", name, test.sum, test.h.Counts[i], bound)
			}
		}
	}
	h.node.Counters.Turns["sent"]++
	h.node.Counters.BurstSize.Counts[len(c.BurstSize.Counts)-1]++
	if c.Turns["sent"] != 1 || c.BurstSize.Counts[len(c.BurstSize.Counts)-1] != 1 {
		t.Error("a clone shares what it copied")
	}
}

// The tallies of the last hour, and no others.
func TestMinutes(t *testing.T) {
	c := engine.New(engine.Options{}).Counters
	minute := turn.Time(time.Minute.Milliseconds())
	for _, at := range []turn.Time{100 * minute, 100*minute + 59_999, 101 * minute, 159 * minute} {
		c.Ignore(at)
	}
	numbers := func(now turn.Time) (got []int64) {
		for _, m := range c.Minutes(now) {
			got = append(got, m.Number)
			if want := map[int64]uint64{100: 2, 101: 1, 159: 1}[m.Number]; m.Ignored != want {
				t.Errorf("minute %d has %d, want %d", m.Number, m.Ignored, want)
			}
		}
		slices.Sort(got)
		return got
	}
	for now, want := range map[turn.Time][]int64{159 * minute: {100, 101, 159}, 160 * minute: {101, 159}, 161 * minute: {159}, 219 * minute: nil} {
		if got := numbers(now); !slices.Equal(got, want) {
			t.Errorf("at minute %d: %v, want %v", now/minute, got, want)
		}
	}
	c.Ignore(160 * minute) // in the place of minute 100
	if got := c.Minutes(160 * minute); len(got) != 3 {
		t.Errorf("%d minutes after one was replaced, want 3", len(got))
	}
}

// A responder that has nothing to say ends the turn that it was asked in, also where
// newer input has begun the next one.
func TestNoReplyBelongsToItsTurn(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) {
		bot := o.Bots["bot"]
		bot.Policy.OnNewInput = turn.Finish
		o.Bots["bot"] = bot
	})
	s := h.started("m")
	h.say("newer")
	h.settle()
	h.respond(s, engine.Response{None: true})
	for _, e := range h.entries(keyOf("c"), store.EntryQuery{}) {
		if e.Kind == store.Reply && (e.Turn != s.Turn || e.ID != engine.ReplyID(s.Key, s.Turn) || !slices.Equal(e.Covers, []string{"m"})) {
			t.Errorf("the empty reply is %s of turn %d to %q, want turn %d", e.ID, e.Turn, e.Covers, s.Turn)
		}
	}
	if r := h.record(); r.Pending != 1 || r.Phase != turn.Collecting {
		t.Errorf("%d wait, %s", r.Pending, r.Phase)
	}
}

// The bounds are what a dashboard asks for by name, so they stay: a value at a bound
// counts in its bucket, and a value beyond it in the next one.
func TestTheBoundsOfDistributions(t *testing.T) {
	c := engine.New(engine.Options{}).Counters
	for name, test := range map[string]struct {
		h    engine.Histogram
		want []float64
	}{
		"messages of a reply": {c.BurstSize, []float64{1, 2, 3, 5, 8, 13, 21, 50, 100}},
		"due to start":        {c.DueToStart, []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30}},
		"time to reply":       {c.TimeToReply, []float64{.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120, 300}},
	} {
		if !slices.Equal(test.h.Bounds, test.want) || !slices.Equal(test.h.Counts, make([]uint64, len(test.want))) {
			t.Errorf("%s: %v with counts %v, want the bounds %v", name, test.h.Bounds, test.h.Counts, test.want)
		}
	}
}
