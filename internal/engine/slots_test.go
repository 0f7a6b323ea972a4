package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// slots is how many generations the nodes of this file run at once.
const slots = 4

// bots configures several bots alike.
func bots(names ...string) func(*engine.Options) {
	return func(o *engine.Options) {
		o.MaxGenerations = slots
		o.Bots = map[string]engine.Bot{}
		for _, name := range names {
			o.Bots[name] = engine.Bot{Policy: policy()}
		}
	}
}

// manyWait lets one message wait in each of many conversations of a bot.
func (h *harness) manyWait(bot string, conversations int) {
	for i := range conversations {
		h.submit(fmt.Sprint(bot, i), engine.Request{
			Key: store.Key{Bot: bot, Conversation: fmt.Sprint(i)}, Op: engine.Receive, ID: "m", Body: store.Body{Text: "hello"},
		})
	}
	h.settle()
}

func TestNoMoreRunThanThereAreSlots(t *testing.T) {
	h := newHarness(t, bots("bot"))
	h.manyWait("bot", 50)
	h.pass(2 * time.Second)
	served := map[string]bool{}
	for n := count[engine.Start](h); n > 0; n = count[engine.Start](h) {
		if n > slots || h.node.Generating() != n {
			t.Fatalf("%d run, %d are counted, there are %d slots", n, h.node.Generating(), slots)
		}
		started := asked[engine.Start](h)
		served[started.Key.Conversation] = true
		h.respond(started, engine.Response{None: true})
	}
	if len(served) != 50 || h.node.Generating() != 0 {
		t.Errorf("%d of 50 conversations were served, %d slots stay taken", len(served), h.node.Generating())
	}
}

func TestMoreBotsThanSlots(t *testing.T) {
	h := newHarness(t, bots("a", "b", "c", "d", "e", "f"))
	for _, bot := range []string{"a", "b", "c", "d", "e", "f"} {
		h.manyWait(bot, 1)
	}
	h.pass(2 * time.Second)
	if n := count[engine.Start](h); n != slots {
		t.Errorf("%d run, there are %d slots", n, slots)
	}
}

// Within a bot, whoever was due first goes first.
func TestConversationsTakeTurns(t *testing.T) {
	h := newHarness(t, bots("bot"), func(o *engine.Options) { o.MaxGenerations = 1 })
	for i := range 5 {
		h.submit(fmt.Sprint(i), engine.Request{Key: keyOf(fmt.Sprint(i)), Op: engine.Receive, ID: "m", Body: store.Body{Text: "hello"}})
		h.settle()
		h.now = h.now.Add(10 * time.Millisecond)
	}
	h.pass(2 * time.Second)
	for i := range 5 {
		started := asked[engine.Start](h)
		if started.Key.Conversation != fmt.Sprint(i) {
			t.Errorf("conversation %s is number %d", started.Key.Conversation, i)
		}
		h.respond(started, engine.Response{None: true})
	}
}

// A bot whose model is slow takes no slot that is another bot's share.
func TestEveryBotHasItsShare(t *testing.T) {
	h := newHarness(t, bots("quick", "slow"))
	h.manyWait("slow", 50)
	h.pass(2 * time.Second)
	if n := count[engine.Start](h); n != slots-1 {
		t.Errorf("the slow bot alone has %d of %d slots, want all but the other's share", n, slots)
	}
	h.manyWait("quick", 3)
	h.pass(2 * time.Second)
	for range 3 {
		var quick engine.Start
		for quick.Key.Bot != "quick" {
			quick = asked[engine.Start](h) // the slow ones never return
		}
		h.respond(quick, engine.Response{None: true})
	}
}

func TestBotsTakeTurns(t *testing.T) {
	h := newHarness(t, bots("a", "b"))
	h.manyWait("a", 20)
	h.manyWait("b", 20)
	h.pass(2 * time.Second)
	got := map[string]int{}
	for range 20 {
		started := asked[engine.Start](h)
		got[started.Key.Bot]++
		h.respond(started, engine.Response{None: true})
	}
	if got["a"] < 9 || got["a"] > 11 {
		t.Errorf("of the first 20 attempts, %d are a's", got["a"])
	}
}

// However an attempt ends, its slot is free again.
func TestEveryEndFreesTheSlot(t *testing.T) {
	respond := func(r engine.Response) func(*harness, engine.Start) {
		return func(h *harness, s engine.Start) { h.respond(s, r) }
	}
	stopped := func(before func(h *harness)) func(*harness, engine.Start) {
		return func(h *harness, s engine.Start) {
			before(h)
			h.settle()
			h.respond(s, engine.Response{Fault: turn.Failure, Reason: "canceled"})
		}
	}
	ends := map[string]func(h *harness, s engine.Start){
		"a reply":     respond(engine.Response{Text: "hello"}),
		"no reply":    respond(engine.Response{None: true}),
		"a failure":   respond(engine.Response{Fault: turn.Failure, Reason: "failed"}),
		"an outage":   respond(engine.Response{Fault: turn.Outage, Reason: "down"}),
		"a rejection": respond(engine.Response{Fault: turn.Rejected, Reason: "no"}),
		"newer input": stopped(func(h *harness) { h.say("newer") }),
		"a text beside newer": func(h *harness, s engine.Start) {
			h.say("newer")
			h.settle()
			h.respond(s, engine.Response{Text: "old"})
		},
		"a pause": stopped(func(h *harness) { h.submit("pause", engine.Request{Op: engine.Pause}) }),
		"a human's reply": stopped(func(h *harness) {
			h.submit("human", engine.Request{Op: engine.HumanReply, Body: store.Body{Text: "x"}})
		}),
		"the message's deletion":  stopped(func(h *harness) { h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"}) }),
		"the conversation's":      stopped(func(h *harness) { h.submit("forget", engine.Request{Op: engine.Forget}) }),
		"a hand-back":             stopped(func(h *harness) { h.node.HandBack(h.now) }),
		"a lost lease":            stopped(func(h *harness) { h.now = h.now.Add(lease); h.other("c", turn.Wake{Holder: "other", Nonce: "other"}) }),
		"a store that went away":  stopped(func(h *harness) { h.cutOff(); h.pass(lease); h.reconnect() }),
		"a result without an end": func(h *harness, s engine.Start) { h.cutOff(); h.respond(s, engine.Response{Text: "hello"}) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(o *engine.Options) { o.MaxGenerations = 1 })
			end(h, h.started("m"))
			if n := h.node.Generating(); n != 0 {
				t.Errorf("%d slots are taken", n)
			}
		})
	}
}

// So is that of an attempt whose responder never started.
func TestAnAttemptThatIsOverBeforeItsPromptIsRead(t *testing.T) {
	tests := map[string]func(h *harness){
		"paused":   func(h *harness) { h.submit("pause", engine.Request{Op: engine.Pause}) },
		"deleted":  func(h *harness) { h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"}) },
		"newer":    func(h *harness) { h.say("newer") },
		"handback": func(h *harness) { h.node.HandBack(h.now) },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("m")
			h.settle()
			h.now = h.now.Add(time.Second)
			h.node.Tick(h.now)
			for h.step() && count[engine.ReadPrompt](h) == 0 {
			}
			read := asked[engine.ReadPrompt](h)
			end(h)
			h.settle()
			h.node.PromptRead(h.now, read.Key, read.Nonce, h.entries(read.Key, store.EntryQuery{}), nil, nil)
			h.settle()
			if n := h.node.Generating(); n != 0 || count[engine.Start](h) != 0 {
				t.Errorf("%d slots are taken, %d responders run", n, count[engine.Start](h))
			}
		})
	}
}

// Timers that nobody acts on are claimed, as many as there are free slots, and
// more as soon as those are done.
func TestClaimsAreBoundedByFreeSlots(t *testing.T) {
	shared := memory.New()
	dead := newHarnessOn(t, shared, start, bots("bot"))
	dead.manyWait("bot", 20)
	h := newHarnessOn(t, shared, dead.now, bots("bot"))
	h.now = h.now.Add(time.Minute)
	h.node.Tick(h.now)
	h.collect()
	claim := asked[engine.Claim](h)
	if claim.Limit != slots {
		t.Errorf("claims %d, want %d", claim.Limit, slots)
	}
	found, err := shared.Claim(context.Background(), h.now, claim.Limit, claim.Hold)
	h.node.Claimed(h.now, found, err)
	h.settle()
	for range 20 {
		h.tick(h.now) // no time passes
		h.respond(asked[engine.Start](h), engine.Response{None: true})
	}
}

func TestFullNodesClaimNothing(t *testing.T) {
	h := newHarness(t, bots("bot"))
	h.manyWait("bot", slots)
	h.pass(2 * time.Second)
	h.now = h.now.Add(time.Second)
	h.node.Tick(h.now)
	h.collect()
	if n := count[engine.Claim](h); n != 0 {
		t.Error("a node without a free slot claims timers")
	}
}

// Timers of bots that this node does not know are left alone, also at the
// start.
func TestTimersOfUnknownBots(t *testing.T) {
	shared := memory.New()
	newHarnessOn(t, shared, start, bots("gone")).manyWait("gone", 3)
	h := newHarnessOn(t, shared, start, bots("bot"), func(o *engine.Options) { o.Alone = true })
	h.pass(time.Minute)
	if n := h.node.Remembered(); n != 0 || h.writes != 0 {
		t.Errorf("%d conversations are remembered, %d writes", n, h.writes)
	}
}

// What a bot's share does not let run here is left to nodes that can run it.
func TestABotWithoutASlotIsNotClaimed(t *testing.T) {
	shared := memory.New()
	newHarnessOn(t, shared, start, bots("quick", "slow")).manyWait("slow", 50)
	h := newHarnessOn(t, shared, start.Add(2*time.Second), bots("quick", "slow"))
	h.pass(2 * time.Second)
	if n := count[engine.Start](h); n != slots-1 {
		t.Fatalf("%d of the slow bot run, want all slots but the other's share", n)
	}
	due, err := shared.Due(context.Background(), h.now.Add(-time.Millisecond), 100)
	if err != nil || len(due) != 50-(slots-1) {
		t.Errorf("%d timers are due, %v; want all but those that run: the node holds some that it can't run", len(due), err)
	}
}

// They are not even claimed: it is for others to act on them, at once.
func TestTimersOfUnknownBotsAreNotPostponed(t *testing.T) {
	shared := memory.New()
	theirs := newHarnessOn(t, shared, start, bots("theirs"))
	theirs.manyWait("theirs", 3)
	h := newHarnessOn(t, shared, start, bots("ours"))
	h.pass(time.Minute)
	due, err := shared.Due(context.Background(), start.Add(time.Second), 10)
	if err != nil || len(due) != 3 {
		t.Errorf("%d of 3 timers are where they were, %v", len(due), err)
	}
}

// Nodes that were started together do not look for timers in step, also where
// somebody gave them one name.
func TestNodesDoNotPollInStep(t *testing.T) {
	t.Run("names of their own", func(t *testing.T) { testPolls(t, [2]string{"node-a", "node-b"}, [2]string{}) })
	t.Run("one name", func(t *testing.T) { testPolls(t, [2]string{"node", "node"}, [2]string{"x", "y"}) })
}

func testPolls(t *testing.T, names, instances [2]string) {
	shared := memory.New()
	polls := func(i int) (at []turn.Time) {
		h := newHarnessOn(t, shared, start, bots("bot"), func(o *engine.Options) { o.Name, o.Instance = names[i], instances[i] })
		for h.now < start.Add(time.Minute) {
			h.now = h.node.NextTick()
			h.node.Tick(h.now)
			h.collect()
			for ; count[engine.Claim](h) > 0; asked[engine.Claim](h) {
				at = append(at, h.now)
			}
			h.node.Claimed(h.now, nil, nil)
		}
		return at
	}
	a, b := polls(0), polls(1)
	together := 0
	for i, at := range a {
		if i > 0 && (at.Sub(a[i-1]) < 300*time.Millisecond || at.Sub(a[i-1]) > 500*time.Millisecond) {
			t.Errorf("%v between two looks", at.Sub(a[i-1]))
		}
		for _, other := range b {
			if d := at.Sub(other); -20*time.Millisecond < d && d < 20*time.Millisecond {
				together++
			}
		}
	}
	if together > len(a)/3 {
		t.Errorf("%d of %d looks come together", together, len(a))
	}
}

// A claim that comes for nothing sets the timer back to where it belongs.
func TestAClaimMovesNoTimerForLong(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.now = h.now.Add(900 * time.Millisecond)
	found, err := h.store.Claim(context.Background(), h.now.Add(time.Second), 1, time.Hour)
	if err != nil || len(found) != 1 {
		t.Fatalf("claimed %v, %v", found, err)
	}
	h.node.Claimed(h.now, found, nil)
	h.settle()
	due, err := h.store.Due(context.Background(), h.now.Add(time.Second), 1)
	if err != nil || len(due) != 1 || due[0].At != start.Add(time.Second) {
		t.Errorf("the timer is %v, want the end of the window", due)
	}
}

// A failed claim, and one that is answered after the node began to drain,
// neither stop the looking nor turn it into a busy loop.
func TestAnswersToClaims(t *testing.T) {
	h := newHarness(t, bots("bot"))
	h.now = h.now.Add(time.Second)
	h.node.Tick(h.now)
	h.collect()
	asked[engine.Claim](h)
	h.node.Claimed(h.now, nil, errors.New("away"))
	h.now = h.now.Add(time.Second)
	h.node.Tick(h.now)
	h.collect()
	asked[engine.Claim](h)
	h.node.Drain(h.now)
	h.node.Claimed(h.now, []store.Timer{{Key: keyOf("c")}}, nil)
	h.tick(h.now)
	if next := h.node.NextTick(); next != 0 {
		t.Errorf("a draining node wants to be looked at, at %d", next)
	}
	if n := h.node.Remembered(); n != 0 {
		t.Errorf("it remembers %d conversations", n)
	}
}

// Nor does it start what had waited for a slot.
func TestDrainStartsNothingThatWaits(t *testing.T) {
	h := newHarness(t, bots("bot"), func(o *engine.Options) { o.MaxGenerations = 1 })
	h.manyWait("bot", 2)
	h.pass(2 * time.Second)
	h.node.Drain(h.now)
	h.respond(asked[engine.Start](h), engine.Response{None: true})
	h.pass(time.Second)
	if n := count[engine.Start](h); n != 0 || !h.node.Quiet() {
		t.Errorf("%d responders run", n)
	}
}

// A draining node leaves what is due to others, and still takes messages in.
func TestDrainLeavesWhatIsDueToOthers(t *testing.T) {
	shared := memory.New()
	h, other := newHarnessOn(t, shared, start), newHarnessOn(t, shared, start)
	h.node.Drain(h.now)
	h.say("m")
	h.pass(2 * time.Second)
	if h.answers["m"].Err != nil || count[engine.Start](h) != 0 {
		t.Errorf("answered %+v, %d responders run", h.answers["m"], count[engine.Start](h))
	}
	other.pass(2 * time.Second)
	asked[engine.Start](other)
}

// A wake-up that is being written, and a conversation that waits for a slot, are no
// alarms: they would hide those of all others.
func TestWhatWaitsIsNoAlarm(t *testing.T) {
	h := newHarness(t, bots("bot"), func(o *engine.Options) { o.MaxGenerations = 1 })
	h.manyWait("bot", 2)
	h.now = h.now.Add(time.Second)
	for range 3 { // the write of the wake-up is not answered
		h.node.Tick(h.now)
		h.collect()
		if next := h.node.NextTick(); next <= h.now {
			t.Errorf("at %d it wants to be looked at again at %d", h.now, next)
		}
	}
	if n := count[engine.Commit](h); n != 1 {
		t.Errorf("%d writes, want that of the one that has the slot", n)
	}
}

// A conversation that was deleted here wakes nobody, and is forgotten.
func TestADeletedConversationArmsNothing(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.forget()
	if n := h.node.Remembered(); n != 0 {
		t.Errorf("%d conversations are remembered", n)
	}
}

// A reply that is sent again needs no slot: it waits for no model.
// Where all slots are taken people wait the longest, and are told so. That begins no
// attempt: it takes none of the slots, and the conversation keeps its place.
func TestASignNeedsNoSlot(t *testing.T) {
	h := newHarness(t, bots("bot"), func(o *engine.Options) {
		bot := o.Bots["bot"]
		bot.Policy.DelayAfter, bot.DelayText = 3*time.Second, "One moment."
		o.Bots["bot"], o.MaxGenerations = bot, 1
	})
	h.say("m1")
	h.settle()
	h.pass(time.Second)
	h.submit("other", engine.Request{Key: keyOf("other"), Op: engine.Receive, ID: "m", Body: store.Body{Text: "hello"}})
	h.settle()
	h.pass(1500 * time.Millisecond)
	if n := count[engine.Show](h); n != 0 {
		t.Fatalf("%d signs before their time", n)
	}
	for range 10 {
		h.pass(time.Second)
	}
	var told []string
	for count[engine.Show](h) > 0 {
		show := asked[engine.Show](h)
		told = append(told, show.Conversation+": "+show.Text)
	}
	if !slices.Contains(told, "other: One moment.") || len(told) > 2 {
		t.Errorf("people were told %q", told)
	}
	first := asked[engine.Start](h)
	if n := count[engine.Start](h); n != 0 || h.node.Generating() != 1 {
		t.Fatalf("%d run besides, %d slots are taken", n, h.node.Generating())
	}
	h.respond(first, engine.Response{None: true})
	if next := asked[engine.Start](h); next.Key != keyOf("other") {
		t.Errorf("the slot goes to %v", next.Key)
	}
}

// The same for a conversation whose timer this node has claimed: it is looked at while it
// waits for a slot, and no look follows another without end.
func TestASignOfAClaimedConversationNeedsNoSlot(t *testing.T) {
	h := newHarness(t, bots("bot"), func(o *engine.Options) {
		bot := o.Bots["bot"]
		bot.Policy.DelayAfter, bot.DelayText = 30*time.Second, "One moment."
		o.Bots["bot"], o.MaxGenerations = bot, 1
	})
	h.other("other", turn.Message{})
	h.now = h.now.Add(5 * time.Second)
	h.node.Tick(h.now)
	h.collect()
	claim := asked[engine.Claim](h) // there is a free slot
	h.started("m1")                 // and now there is none
	h.call(claim)()
	h.submit("other", engine.Request{Key: keyOf("other"), Op: engine.Receive, ID: "m", Body: store.Body{Text: "hello"}})
	h.settle()
	for range 40 {
		h.pass(time.Second)
	}
	var told []string
	for count[engine.Show](h) > 0 {
		told = append(told, asked[engine.Show](h).Conversation)
	}
	if !slices.Contains(told, "other") {
		t.Errorf("people were told in %q", told)
	}
}

func TestARetriedSendNeedsNoSlot(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) { o.MaxGenerations = 1 })
	h.respond(h.started("m"), engine.Response{Text: "hello"})
	h.sent(asked[engine.Send](h), engine.SendResult{Err: "later", Certain: true, After: 5 * time.Second})
	h.submit("other", engine.Request{Key: keyOf("other"), Op: engine.Receive, ID: "m", Body: store.Body{Text: "hello"}})
	h.pass(2 * time.Second)
	asked[engine.Start](h) // it has the one slot
	h.pass(10 * time.Second)
	asked[engine.Send](h)
}

// A claimed conversation whose record is not known waits for a slot, whatever it was when
// it was known: it may have become one that generates.
func TestAClaimGoesByNoOldRecord(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) { o.MaxGenerations = 1 })
	h.respond(h.started("m"), engine.Response{Text: "hello"})
	h.sent(asked[engine.Send](h), engine.SendResult{Err: "later", Certain: true, After: time.Hour}) // it is sending
	h.submit("other", engine.Request{Key: keyOf("other"), Op: engine.Receive, ID: "m", Body: store.Body{Text: "hello"}})
	h.pass(2 * time.Second)
	asked[engine.Start](h) // it has the one slot
	h.other("c", turn.Pause{}, turn.Resume{}, turn.Message{})
	h.cutOff()
	h.submit("pause", engine.Request{Op: engine.Pause}) // it fails, so what was known of the record is forgotten
	h.settle()
	h.reconnect()
	h.now = h.now.Add(20 * time.Second)
	h.node.Claimed(h.now, []store.Timer{{Key: keyOf("c"), At: h.now}}, nil)
	h.settle()
	if n := count[engine.Start](h); n != 0 {
		t.Errorf("%d more run, and there is one slot", n)
	}
}

// Of the timers that a start finds, those of conversations that this node has read
// meanwhile need no other read.
func TestWhatIsKnownIsNotRecovered(t *testing.T) {
	shared := memory.New()
	newHarnessOn(t, shared, start).say("before")
	h := newHarnessOn(t, shared, start, func(o *engine.Options) { o.Alone = true })
	h.say("m")
	h.settle()
	found := []store.Timer{{Key: keyOf("c"), At: h.now}}
	h.node.Recovered(h.now, found, nil)
	h.collect()
	if n := count[engine.Load](h); n != 0 {
		t.Errorf("%d reads of a record that is known", n)
	}
	h.say("n") // it is being written
	h.node.Recovered(h.now, found, nil)
	h.collect()
	if n := count[engine.Load](h); n != 0 {
		t.Errorf("%d reads of a record that is being written", n)
	}
	h.settle()
	if got := h.answers["n"]; got.Err != nil || got.Version != 2 {
		t.Errorf("answered %+v", got)
	}
}
