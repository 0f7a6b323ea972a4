package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// claims makes the node look at timers, and takes what it asks for.
func (h *harness) claims() engine.Claim {
	h.t.Helper()
	h.now = h.now.Add(time.Second)
	h.node.Tick(h.now)
	h.collect()
	return asked[engine.Claim](h)
}

// A claim asks for as many conversations as there are free slots, and hides them from other
// nodes while this one takes them up. Only one claim is under way at a time.
func TestOneClaimAtATime(t *testing.T) {
	h := newHarness(t)
	claim := h.claims()
	if claim.Limit != 4 || claim.Hold != 5*time.Second || len(claim.Bots) != 1 || claim.Bots[0] != "bot" {
		t.Errorf("asked for %+v", claim)
	}
	for range 3 {
		h.now = h.now.Add(time.Second)
		h.node.Tick(h.now)
		h.collect()
	}
	if n := count[engine.Claim](h); n != 0 {
		t.Errorf("%d claims beside the first", n)
	}
	h.node.Claimed(h.now, nil, nil)
	h.claims()
}

// A claim that found something is followed by the next at once: there may be more. Where
// it found nothing of this node's bots, where it failed, and where the node takes no turn
// any more, it is not.
func TestWhenTheNextClaimFollows(t *testing.T) {
	ours, foreign := store.Timer{Key: keyOf("c"), At: start}, store.Timer{Key: store.Key{Bot: "another", Conversation: "c"}, At: start}
	tests := map[string]struct {
		found  []store.Timer
		err    error
		leaves bool
		atOnce bool
	}{
		"one of ours":                {[]store.Timer{ours}, nil, false, true},
		"one of ours and of another": {[]store.Timer{foreign, ours}, nil, false, true},
		"one of another":             {[]store.Timer{foreign}, nil, false, false},
		"nothing":                    {nil, nil, false, false},
		"one that it works on":       {[]store.Timer{{Key: keyOf("worked on"), At: start}}, nil, false, true},
		"one, and then it failed":    {[]store.Timer{ours}, errors.New("away"), false, false},
		"one, and it leaves":         {[]store.Timer{ours}, nil, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.submit("worked on", engine.Request{Key: keyOf("worked on"), Op: engine.Receive, ID: "m"})
			h.claims()
			if test.leaves {
				h.node.Drain(h.now)
			}
			h.now = h.now.Add(10 * time.Millisecond)
			h.node.Claimed(h.now, test.found, test.err)
			if got := h.node.NextTick() == h.now; got != test.atOnce {
				t.Errorf("the next look is at once: %v, want %v", got, test.atOnce)
			}
			if test.leaves && h.node.NextTick() != 0 {
				t.Error("a node that leaves looks at timers")
			}
		})
	}
}

// A node looks for timers every 300 to 500 ms, and not at the moments at which another one
// does.
func TestNodesLookAtDifferentMoments(t *testing.T) {
	looks := func(name, instance string) (times []turn.Time) {
		h := newHarnessOn(t, memory.New(), start, func(o *engine.Options) { o.Name, o.Instance = name, instance })
		for range 50 {
			h.tick(h.node.NextTick())
			if wait := h.node.NextTick().Sub(h.now); wait < 300*time.Millisecond || wait >= 500*time.Millisecond {
				t.Errorf("%s%s looks again in %v", name, instance, wait)
			}
			times = append(times, h.now)
		}
		return times
	}
	first := looks("a", "1")
	for _, other := range [][]turn.Time{looks("b", "1"), looks("a", "2")} {
		same := 0
		for i := range first[1:] {
			if first[i+1] == other[i+1] {
				same++
			}
		}
		if same > 10 {
			t.Errorf("of 50 looks two nodes have %d in common", same)
		}
	}
	if first[49].Sub(first[0]) == 49*first[1].Sub(first[0]) {
		t.Error("all waits are alike")
	}
}

// A claimed timer of a conversation in which this node does something already begins
// nothing beside it.
func TestAClaimOfWhatIsWorkedOn(t *testing.T) {
	tests := map[string]func(h *harness){
		"an attempt runs": func(h *harness) { h.started("m") },
		"its record is read": func(h *harness) {
			h.node = newHarnessOn(h.t, h.store, h.now).node
			h.submit("flush", engine.Request{Op: engine.Flush})
		},
		"it waits for a slot":   func(h *harness) { h.started("m"); h.node.HandBack(h.now) },
		"its message is stored": func(h *harness) { h.say("m") },
	}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			before(h)
			h.collect()
			asks := len(h.out)
			h.node.Claimed(h.now, []store.Timer{{Key: keyOf("c"), At: h.now}}, nil)
			h.collect()
			if len(h.out) != asks {
				t.Errorf("it asks for %T", h.out[asks:])
			}
		})
	}
}

// A claim of a conversation that this node works on does not move its timer: the work
// sets it. Any other has to be written anew.
func TestAClaimMovesATimer(t *testing.T) {
	claim := func(h *harness) {
		h.node.Claimed(h.now, []store.Timer{{Key: keyOf("c"), At: h.now}}, nil)
		h.settle()
	}
	fails := func(h *harness, s engine.Start) {
		h.respond(s, engine.Response{Fault: turn.Failure, Reason: "no"})
		h.pass(time.Minute)
	}
	for name, test := range map[string]struct {
		happen func(h *harness)
		moved  bool
	}{
		"nothing happens here":  {func(h *harness) { h.say("m"); h.settle(); claim(h) }, true},
		"an attempt runs":       {func(h *harness) { s := h.started("m"); claim(h); fails(h, s) }, false},
		"its message is stored": {func(h *harness) { h.say("m"); claim(h); h.pass(time.Second) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, told := newToldHarness(t)
			test.happen(h)
			wakes := toldOf[turn.Wake](*told)
			if got := wakes[len(wakes)-1]; got.Moved != test.moved || got.Holder != t.Name() || got.Alone || got.Nonce == "" {
				t.Errorf("the last wake-up is %+v", got)
			}
		})
	}
}

// A conversation that is claimed while all slots are taken waits in line, and hides no
// alarm of others.
func TestAClaimHidesNoAlarm(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) { o.MaxGenerations = 1 })
	h.started("m")
	h.submit("d", engine.Request{Key: keyOf("d"), Op: engine.Receive, ID: "d", Body: store.Body{Text: "d"}})
	h.settle()
	h.node.Claimed(h.now, []store.Timer{{Key: keyOf("d"), At: h.now}}, nil)
	h.settle()
	if next := h.node.NextTick(); next == 0 || next > h.now.Add(500*time.Millisecond) {
		t.Errorf("it wants to be looked at at %d, it is %d", next, h.now)
	}
}

// A node that was not started looks for nothing.
func TestANodeThatWasNotStarted(t *testing.T) {
	n := engine.New(engine.Options{MaxGenerations: 1, Bots: map[string]engine.Bot{"bot": {Policy: policy()}}})
	n.Tick(start)
	if out := n.Take(); len(out) != 0 || n.NextTick() != 0 {
		t.Errorf("it asks for %T", out)
	}
}

// Of the timers that a claim returns, the one that was due first is served first.
func TestClaimedTimersAreServedInOrder(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) { o.MaxGenerations = 1 })
	for _, name := range []string{"one", "two", "three"} {
		h.other(name, turn.Message{})
	}
	h.now = h.now.Add(time.Minute)
	h.node.Claimed(h.now, []store.Timer{{Key: keyOf("three"), At: 30}, {Key: keyOf("one"), At: 10}, {Key: keyOf("two"), At: 20}}, nil)
	for _, want := range []string{"one", "two", "three"} {
		h.settle()
		s := asked[engine.Start](h)
		if s.Key.Conversation != want {
			t.Errorf("serves %s, want %s", s.Key.Conversation, want)
		}
		h.respond(s, engine.Response{None: true})
	}
}

// A start on a store that no other process has open takes over what a dead one held.
// Conversations of bots that this node does not have are left alone.
func TestAStartAlone(t *testing.T) {
	dead := newHarness(t)
	dead.started("m")
	h := newHarnessOn(t, dead.store, dead.now, func(o *engine.Options) { o.Alone = true })
	if s := asked[engine.Start](h); s.Key != keyOf("c") {
		t.Errorf("takes over %v", s.Key)
	}
	h.node.Recovered(h.now, []store.Timer{{Key: store.Key{Bot: "another", Conversation: "c"}, At: 1}, {Key: keyOf("d"), At: 1}}, nil)
	h.collect()
	if read := asked[engine.Load](h); read.Key != keyOf("d") || count[engine.Load](h) != 0 {
		t.Errorf("it reads %v, and %d more", read.Key, count[engine.Load](h))
	}
}

// A start alone arms the timers of all others that are due soon, and asks for none that
// lie behind the end of any lease.
func TestAStartAloneArmsTimers(t *testing.T) {
	before := newHarness(t)
	before.other("c", turn.Message{})
	told := &[]turn.Event{}
	h := newHarnessOn(t, before.store, before.now, func(o *engine.Options) {
		o.Alone = true
		o.Step = func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			*told = append(*told, e)
			return turn.Step(r, e, now, p)
		}
	})
	if len(*told) != 0 {
		t.Errorf("before the end of the window the core is told %#v", *told)
	}
	h.node.Drain(h.now) // which ends the look at timers
	if next := h.node.NextTick(); next != h.recordOf("c").Window.Due {
		t.Errorf("armed for %d, the window ends at %d", next, h.recordOf("c").Window.Due)
	}
	fresh := engine.New(engine.Options{Alone: true, Bots: map[string]engine.Bot{
		"a": {Policy: turn.Policy{Lease: time.Second}}, "b": {Policy: turn.Policy{Lease: time.Minute}}, "c": {Policy: turn.Policy{Lease: 2 * time.Second}},
	}})
	fresh.Start(start)
	if out := fresh.Take(); len(out) != 1 || out[0] != engine.Output(engine.Recover{Until: start.Add(time.Minute), Limit: 10_000}) {
		t.Errorf("asks for %+v", out)
	}
}
