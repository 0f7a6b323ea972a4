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

func (h *harness) cutOff() {
	h.fault = func(store.Write) (store.Result, error) { return store.Result{}, store.ErrUnknown }
	h.unread = errors.New("cut off")
}

func (h *harness) reconnect() { h.fault, h.unread = nil, nil }

// The lease is renewed in time, for as long as the responder runs.
func TestTheLeaseIsRenewed(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	for range 60 {
		h.pass(5 * time.Second)
		if left := h.record().Lease.Expires.Sub(h.now); left < lease/2 {
			t.Fatalf("only %v of the lease are left", left)
		}
	}
	if n := count[engine.Stop](h); n != 0 {
		t.Errorf("the attempt was stopped %d times", n)
	}
	h.respond(started, engine.Response{Text: "hello"})
	asked[engine.Send](h)
}

// Where the store's clock was set back, the node goes on with what it does by itself:
// it claims, renews its leases, and tries again what the store did not take.
func TestTheStoresClockIsSetBack(t *testing.T) {
	for name, cut := range map[string]bool{"the store is well": false, "the store is away": true} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			started := h.started("m")
			if cut {
				h.cutOff()
				h.pass(11 * time.Second) // a renewal waits to be tried again
			}
			h.now = h.now.Add(-10 * time.Minute)
			h.node.Tick(h.now)
			h.settle()
			if wait := h.node.NextTick().Sub(h.now); wait > 500*time.Millisecond {
				t.Errorf("it looks at timers again in %v", wait)
			}
			h.reconnect()
			h.pass(12 * time.Second)
			if left := h.record().Lease.Expires.Sub(h.now); left > lease {
				t.Errorf("its lease ends in %v, want no more than %v", left, lease)
			}
			h.respond(started, engine.Response{Text: "hello"})
			asked[engine.Send](h)
		})
	}
}

// A holder that can't renew stops itself before its lease ends, and nothing of
// it is looked at in between.
func TestAHolderThatCannotRenewStopsItself(t *testing.T) {
	for name, before := range map[string]func(h *harness){
		"running":                            func(*harness) {},
		"told to end because of newer input": func(h *harness) { h.say("newer"); h.settle(); asked[engine.Stop](h) },
		"told to hand back":                  func(h *harness) { h.node.HandBack(h.now); h.collect(); asked[engine.Stop](h) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			started := h.started("m")
			before(h)
			h.cutOff()
			h.pass(lease - time.Second)
			if name == "running" {
				if stop := asked[engine.Stop](h); stop.Nonce != started.Lease.Nonce || stop.Reason != "lease_lost" {
					t.Errorf("stopped: %+v", stop)
				}
			}
			h.pass(time.Minute)
			h.reconnect()
			h.respond(started, engine.Response{Fault: turn.Failure, Reason: "stopped"})
			h.pass(6 * time.Second)
			if name == "told to hand back" {
				if !h.node.Quiet() {
					t.Error("not quiet, although all was handed back")
				}
				return
			}
			asked[engine.Start](h) // it goes on, without waiting for one more lease
		})
	}
}

// A responder that comes back late, while its lease is still nobody else's, has
// not worked for nothing; where it is somebody else's it changes nothing.
func TestATextThatComesAfterTheLease(t *testing.T) {
	for taken, want := range map[bool]string{false: "late", true: ""} {
		h := newHarness(t)
		started := h.started("m")
		h.cutOff()
		h.pass(2 * lease)
		h.reconnect()
		if taken {
			h.other("c", turn.Wake{Holder: "other", Nonce: "other"})
		}
		h.respond(started, engine.Response{Text: "late", Tokens: 7})
		h.pass(time.Second)
		if got := h.replied(turn.ReplyCommitted); got != want {
			t.Errorf("taken over %v: committed %q, want %q", taken, got, want)
		}
		if got := h.node.Counters.DiscardedTokens; taken == (got == 0) {
			t.Errorf("taken over %v: %d tokens counted as discarded", taken, got)
		}
	}
}

// A holder that lost its lease to another node learns of it when it renews.
func TestALostLeaseStopsTheAttempt(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	h.other("c", turn.Wake{Holder: "other", Nonce: "other", Alone: true})
	h.pass(lease/3 + time.Millisecond)
	if stop := asked[engine.Stop](h); stop.Nonce != started.Lease.Nonce {
		t.Errorf("stopped %+v", stop)
	}
	h.respond(started, engine.Response{Text: "stale"})
	if got := h.record().Lease.Nonce; got != "other" || h.replied(turn.ReplyCommitted) != "" {
		t.Errorf("the lease is %q's, and %q is committed", got, h.replied(turn.ReplyCommitted))
	}
}

// The lease stays taken until the responder has returned, so that no other
// attempt runs beside it.
func TestASupersededAttemptEndsWhenItsResponderReturns(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	h.say("newer")
	h.settle()
	if stop := asked[engine.Stop](h); stop.Reason != turn.Superseded {
		t.Errorf("stopped: %+v", stop)
	}
	h.pass(9 * time.Second)
	if r := h.record(); r.Phase != turn.Generating || r.Tries.Discards != 0 {
		t.Errorf("before it returned: %s, %d discards", r.Phase, r.Tries.Discards)
	}
	h.respond(started, engine.Response{Fault: turn.Failure, Reason: "canceled", Tokens: 5})
	if r := h.record(); r.Phase != turn.Collecting || r.Tries.Discards != 1 || r.Tries.Attempts != 0 {
		t.Errorf("after: %s, %d discards, %d attempts; want one discard", r.Phase, r.Tries.Discards, r.Tries.Attempts)
	}
	if got := h.node.Counters; got.Discards != 1 || got.DiscardedTokens != 5 {
		t.Errorf("counted %d discards and %d tokens", got.Discards, got.DiscardedTokens)
	}
}

// Tokens count as discarded also where a message was being written at the
// moment at which the attempt ended.
func TestAResultThatWaitsForAnotherWrite(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	h.say("newer")
	write := asked[engine.Commit](h)
	h.node.Responded(h.now, engine.Response{Key: started.Key, Nonce: started.Lease.Nonce, Text: "stale", Tokens: 5})
	h.collect()
	if h.node.Quiet() {
		t.Error("quiet, although a result waits to be written")
	}
	result, err := h.write(*write.Write)
	h.node.Committed(h.now, write.Write.Key, result, err)
	h.settle()
	if got := h.node.Counters.DiscardedTokens; got != 5 {
		t.Errorf("counted %d tokens, want 5", got)
	}
	if !h.node.Quiet() {
		t.Error("not quiet, although the result is written")
	}
}

// Nothing is sent that could outlive the lease, and a reply in many parts, each
// of which is quick, keeps it.
func TestSendsStayWithinTheLease(t *testing.T) {
	const parts = 40
	h := newHarness(t)
	started := h.started("m")
	h.respond(started, engine.Response{Parts: make([]string, parts), Text: "text"})
	for i := range parts {
		send := asked[engine.Send](h)
		if left := send.Until.Sub(h.now); left < lease/2 {
			t.Fatalf("part %d has %v, less than half a lease", i, left)
		}
		if expires := h.record().Lease.Expires; send.Until >= expires {
			t.Fatalf("part %d may take until %d, the lease ends at %d", i, send.Until, expires)
		}
		h.pass(5 * time.Second)
		h.sent(send, engine.SendResult{})
	}
	if got := h.record(); got.Phase != turn.Idle || got.Token != started.Lease.Token {
		t.Errorf("%s with token %d, want idle with the first, %d", got.Phase, got.Token, started.Lease.Token)
	}
}

func TestASendIsNotStartedNearTheEndOfALease(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	h.cutOff()
	h.now = started.Lease.Expires.Add(-time.Second) // no tick: the node was frozen
	h.reconnect()
	h.respond(started, engine.Response{Text: "hello"})
	h.tick(h.now)
	send := asked[engine.Send](h)
	if send.Lease.Nonce == started.Lease.Nonce || send.Until.Sub(h.now) < lease/2 {
		t.Errorf("sent under the old lease, or with only %v left", send.Until.Sub(h.now))
	}
}

func TestASendThatLostItsLeaseIsStopped(t *testing.T) {
	h := newHarness(t)
	h.respond(h.started("m"), engine.Response{Text: "hello"})
	send := asked[engine.Send](h)
	h.cutOff()
	h.pass(lease)
	if stop := asked[engine.Stop](h); stop.Nonce != send.Lease.Nonce {
		t.Errorf("stopped: %+v", stop)
	}
	h.reconnect()
	h.sent(send, engine.SendResult{})
	h.pass(2 * time.Second)
	if got := h.replied(turn.ReplySent); got != "hello" || h.node.Working() != 0 {
		t.Errorf("sent %q, %d at work", got, h.node.Working())
	}
}

// Whoever is told to hand back gives the lease to the next at once.
func TestHandBack(t *testing.T) {
	shared := memory.New()
	h, other := newHarnessOn(t, shared, start), newHarnessOn(t, shared, start)
	started := h.started("m")
	h.node.Drain(h.now)
	h.pass(time.Second)
	if h.node.Quiet() {
		t.Error("quiet, although an attempt runs")
	}
	h.node.HandBack(h.now)
	h.collect()
	asked[engine.Stop](h)
	h.respond(started, engine.Response{Fault: turn.Failure, Reason: "canceled"})
	if !h.node.Quiet() || h.record().Lease.Nonce != "" || h.record().Tries.Attempts != 0 {
		t.Errorf("after the hand-back: %+v", h.record())
	}
	other.now = h.now
	other.pass(500 * time.Millisecond)
	asked[engine.Start](other)
}

// A lease that was on its way when everything was handed back is handed back
// too.
func TestHandBackOfWhatIsOnItsWay(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.now = h.now.Add(time.Second)
	h.node.Tick(h.now)
	h.collect() // the write that takes the lease
	h.node.Drain(h.now)
	if h.node.Quiet() {
		t.Error("quiet, although a lease is being taken")
	}
	h.node.HandBack(h.now)
	h.settle()
	if r := h.record(); r.Lease.Nonce != "" || r.Phase != turn.Collecting || !h.node.Quiet() {
		t.Errorf("%s under the lease %q; want it given back", r.Phase, r.Lease.Nonce)
	}
}

func TestHandBackBetweenTwoParts(t *testing.T) {
	h := newHarness(t)
	h.respond(h.started("m"), engine.Response{Parts: []string{"one", "two"}})
	first := asked[engine.Send](h)
	h.node.Drain(h.now)
	h.node.HandBack(h.now)
	h.collect()
	h.sent(first, engine.SendResult{})
	if r := h.record(); count[engine.Send](h) != 0 || r.Lease.Nonce != "" || r.Reply.Done != 1 {
		t.Errorf("after the first part: %d more sends, record %+v", count[engine.Send](h), r)
	}
}

// A sealed attempt is not handed back: another node would do the irreversible
// once more.
func TestASealedAttemptIsNotHandedBack(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	h.submit("seal", engine.Request{Op: engine.Seal, Token: started.Lease.Token})
	h.settle()
	h.node.Drain(h.now)
	h.node.HandBack(h.now)
	h.collect()
	if n := count[engine.Stop](h); n != 0 {
		t.Error("it was told to end")
	}
	h.respond(started, engine.Response{Text: "done"})
	if got := h.replied(turn.ReplyCommitted); got != "done" {
		t.Errorf("committed %q", got)
	}
}

func TestSealThatComesTooLate(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	h.say("newer")
	h.submit("seal", engine.Request{Op: engine.Seal, Token: started.Lease.Token})
	h.submit("wrong", engine.Request{Op: engine.Seal, Token: started.Lease.Token + 1})
	h.settle()
	for _, name := range []string{"seal", "wrong"} {
		if got := h.answers[name]; got.Outcome != turn.Fenced {
			t.Errorf("%s: %+v, want fenced", name, got)
		}
	}
}

// A node that starts alone on a store takes over at once what a process that
// is gone held.
func TestRecovery(t *testing.T) {
	alone := func(o *engine.Options) { o.Alone = true }
	for name, want := range map[string]bool{"alone": true, "among others": false} {
		t.Run(name, func(t *testing.T) {
			shared := memory.New()
			dead := newHarnessOn(t, shared, start, alone)
			dead.started("m")
			next := newHarnessOn(t, shared, dead.now, func(o *engine.Options) { o.Alone = want })
			next.pass(time.Second)
			if got := count[engine.Start](next) == 1; got != want {
				t.Errorf("taken over at once: %v, want %v", got, want)
			}
			next.pass(lease)
			asked[engine.Start](next)
		})
	}
}

// So it does with any read that finds such a lease, and once.
func TestRecoveryByAMessage(t *testing.T) {
	shared := memory.New()
	alone := func(o *engine.Options) { o.Alone = true }
	next := newHarnessOn(t, shared, start, alone)
	dead := newHarnessOn(t, shared, start, alone)
	dead.started("m")
	next.now = dead.now
	next.say("n")
	next.pass(2 * time.Second)
	began := asked[engine.Start](next)
	if got := texts(began.Prompt.Messages); got != "m n" || next.record().Tries.Lost.Count != 1 {
		t.Errorf("the prompt holds %q; lost: %+v", got, next.record().Tries.Lost)
	}
	next.edit("m", "edited") // it is read once more, and the lease is this node's by now
	next.pass(2 * time.Second)
	if got := next.record().Tries.Lost.Count; got != 1 {
		t.Errorf("%d workers were lost", got)
	}
}

// A hint makes the holder look at once.
func TestAHintOfNewerInput(t *testing.T) {
	h := newHarness(t)
	h.started("m")
	h.other("c", turn.Message{})
	h.node.Hinted(h.now, keyOf("c"))
	h.settle()
	if stop := asked[engine.Stop](h); stop.Reason != turn.Superseded {
		t.Errorf("stopped: %+v", stop)
	}
	h.node.Hinted(h.now, keyOf("unknown"))
	if h.node.Remembered() != 1 {
		t.Error("a hint of an unknown conversation is remembered")
	}
}
