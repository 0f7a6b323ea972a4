package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A write that another node's came before is decided anew.
func TestAConflictIsDecidedAnew(t *testing.T) {
	h := newHarness(t)
	h.say("m1")
	h.settle()
	h.other("c", turn.Message{})
	h.say("m2")
	h.settle()
	if got := h.answers["m2"]; got.Version != 3 || got.Err != nil {
		t.Errorf("the message after the other node's: %+v, want version 3", got)
	}
	if h.writes != 3 {
		t.Errorf("%d writes, want 3: one met a conflict", h.writes)
	}
}

// A write whose answer was lost: what became of it, and what the caller of a
// message is told. Whatever it is, the message is stored once at most.
func TestUnknownOutcomes(t *testing.T) {
	commit := func(h *harness, w store.Write) { h.store.Commit(context.Background(), w) }
	tests := map[string]struct {
		become  func(h *harness, w store.Write) // of the write
		outcome turn.Outcome
		version int64
	}{
		"applied":                              {commit, turn.Queued, 1},
		"not applied":                          {func(*harness, store.Write) {}, turn.Queued, 1},
		"applied, then overtaken":              {func(h *harness, w store.Write) { commit(h, w); h.other("c", turn.Typing{For: time.Minute}) }, turn.Queued, 1},
		"applied, then overtaken by a message": {func(h *harness, w store.Write) { commit(h, w); h.other("c", turn.Message{}) }, turn.Queued, 1},
		"not applied, and another wrote":       {func(h *harness, w store.Write) { h.other("c", turn.Message{}) }, turn.Queued, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			lost := true
			h.fault = func(w store.Write) (store.Result, error) {
				if !lost {
					return h.store.Commit(context.Background(), w)
				}
				lost = false
				test.become(h, w)
				return store.Result{}, store.ErrUnknown
			}
			h.say("m")
			h.settle()
			got := h.answers["m"]
			if got.Err != nil || got.Outcome != test.outcome || got.Version != test.version || got.Duplicate {
				t.Errorf("answered %+v, want %s with version %d", got, test.outcome, test.version)
			}
			if n := len(h.entries(keyOf("c"), store.EntryQuery{ID: "m"})); n != 1 {
				t.Errorf("the message is stored %d times", n)
			}
		})
	}
}

// The version that a sender is told is that of the conversation, which is not the number
// of the entry.
func TestTheVersionAfterALostAnswer(t *testing.T) {
	h := newHarness(t)
	h.answered("hello", "before")
	h.losesAnswer(func() {
		h.other("c", turn.Message{})
	})
	h.say("m")
	h.settle()
	if got := h.answers["m"]; got.Version != 2 || got.Outcome != turn.Queued || got.Duplicate || h.entries(keyOf("c"), store.EntryQuery{ID: "m"})[0].Seq != 3 {
		t.Errorf("answered %+v", got)
	}
}

// A message that came before is a duplicate, also where the answer to its repeat is
// lost and somebody else writes: what is stored is not what this try would have
// stored.
func TestAnEarlierDeliveryIsToldFromALostAnswer(t *testing.T) {
	for name, become := range map[string]func(h *harness){
		"nobody wrote":                 func(*harness) {},
		"somebody wrote":               func(h *harness) { h.other("c", turn.Typing{For: time.Minute}) },
		"somebody wrote more messages": func(h *harness) { h.other("c", turn.Message{}, turn.Message{}) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("first", "m")
			h.settle()
			again := newHarnessOn(t, h.store, h.now)
			again.fault = func(store.Write) (store.Result, error) {
				again.fault = nil
				become(again)
				return store.Result{}, store.ErrUnknown
			}
			again.say("m")
			again.settle()
			if got := again.answers["m"]; got.Outcome != engine.Duplicate || !got.Duplicate || got.Err != nil {
				t.Errorf("answered %+v, want a duplicate", got)
			}
		})
	}
}

// Two deliveries of one message that meet in one write are one message and its
// repeat, whatever becomes of the answer.
func TestARepeatInTheSameWriteIsADuplicate(t *testing.T) {
	h := newHarness(t)
	h.say("before")
	h.settle()
	h.losesAnswer(func() {
		h.other("c", turn.Message{})
	})
	for _, name := range []string{"lone", "one", "two"} { // the first is written alone, and the others wait for it
		id := "m"
		if name == "lone" {
			id = "lone"
		}
		h.submit(name, engine.Request{Op: engine.Receive, ID: id, Body: store.Body{Text: id}})
	}
	h.settle()
	if one, two := h.answers["one"], h.answers["two"]; one.Duplicate || !two.Duplicate || h.answers["lone"].Version != 2 {
		t.Errorf("answered %+v and %+v, want a message and its duplicate; the lone one %+v", one, two, h.answers["lone"])
	}
}

// Requests that can't be told from their own repeat by an id.
func TestARequestWhoseFirstTryWasAppliedIsNotRefused(t *testing.T) {
	for name, request := range map[string]engine.Request{
		"edit":    {Op: engine.Edit, ID: "m", Text: new("new")},
		"retract": {Op: engine.Retract, ID: "m"},
	} {
		h := newHarness(t)
		h.say("m", "n")
		h.settle()
		h.losesAnswer(func() {
			h.other("c", turn.Typing{For: time.Minute})
		})
		h.submit(name, request)
		h.settle()
		if got := h.answers[name]; got.Outcome != turn.Queued || got.Err != nil {
			t.Errorf("%s: %+v, want queued", name, got)
		}
		if v := h.record().Version; v != 3 {
			t.Errorf("%s: version %d, want 3: it counted once", name, v)
		}
	}
}

func TestAHumansReplyIsNeverStoredTwice(t *testing.T) {
	away := errors.New("away")
	for name, after := range map[string]func(h *harness){
		"the store is read, and another wrote": func(h *harness) { h.other("c", turn.Typing{For: time.Minute}) },
		"the store can't be read":              func(h *harness) { h.unread = away },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("m")
			h.settle()
			h.fault = func(w store.Write) (store.Result, error) {
				h.fault = nil
				after(h)
				return store.Result{}, store.ErrUnknown
			}
			h.submit("human", engine.Request{Op: engine.HumanReply, Body: store.Body{Text: "hello"}})
			h.settle()
			got := h.answers["human"].Err
			if !errors.Is(got, engine.ErrOutcomeUnknown) {
				t.Errorf("answered %v, want that nobody knows", got)
			}
			if got := h.replied(turn.ReplyCommitted); got != "" {
				t.Errorf("the reply %q was written by a second try", got)
			}
		})
	}
}

// A store that does not write: callers are told at once, this node's own events
// are kept and tried again, less and less often.
func TestAStoreOutOfReach(t *testing.T) {
	refused := fmt.Errorf("away: %w", store.ErrNotApplied)
	for name, fault := range map[string]error{"certainly not applied": refused, "of unknown outcome": store.ErrUnknown} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			started := h.started("m")
			h.fault = func(store.Write) (store.Result, error) { return store.Result{}, fault }
			before := h.writes
			h.respond(started, engine.Response{Text: "hello"})
			h.say("n")
			h.settle()
			if err := h.answers["n"].Err; !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("a message: %v, want unavailable", err)
			}
			h.pass(20 * time.Second)
			if tries := h.writes - before; tries < 5 || tries > 60 {
				t.Errorf("%d tries in 20 seconds", tries)
			}
			h.fault = nil
			h.pass(2 * time.Second)
			if got := h.replied(turn.ReplyCommitted); got != "hello" {
				t.Errorf("the reply that waited for the store: %q", got)
			}
			if n := len(h.entries(keyOf("c"), store.EntryQuery{ID: "n"})); n != 0 {
				t.Error("the refused message is stored")
			}
			if r := h.record(); r.Version != 1 {
				t.Errorf("version %d, want 1: nothing half done", r.Version)
			}
		})
	}
}

// A conversation that can't be read gives its slot to others after a few tries, and is
// looked at again later.
func TestARecordThatCannotBeReadHoldsNoPlace(t *testing.T) {
	lost := newHarness(t)
	lost.say("m")
	lost.settle()
	h := newHarnessOn(t, lost.store, start.Add(2*time.Second), func(o *engine.Options) { o.MaxGenerations = 1 })
	h.unread = store.ErrNewerSchema
	h.calls = nil
	for h.pass(100 * time.Millisecond); h.node.Generating() > 0; h.pass(100 * time.Millisecond) {
		if h.now > start.Add(time.Minute) {
			t.Fatal("it keeps its slot")
		}
	}
	if got := fmt.Sprint(h.calls); got != "[load load load load load]" {
		t.Errorf("calls of the store: %s, want five reads", got)
	}
	h.unread = nil
	h.pass(10 * time.Second)
	asked[engine.Start](h)
}

// A wake-up that may have been applied is not given up, however long the store is away:
// it would hold the lease, and nobody would run the attempt before that ends.
func TestAWakeUpThatMayBeAppliedIsKept(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.fault = func(w store.Write) (store.Result, error) {
		h.store.Commit(context.Background(), w)
		h.cutOff()
		return store.Result{}, store.ErrUnknown
	}
	h.pass(8 * time.Second) // more than five tries to read what became of it
	h.reconnect()
	h.pass(1100 * time.Millisecond)
	asked[engine.Start](h)
}

// An attempt whose prompt can't be read is tried again, with back-off and
// without an end.
func TestAPromptThatCannotBeRead(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	entries := h.entries(keyOf("c"), store.EntryQuery{})
	empty := func(read engine.ReadPrompt, err error) {
		h.node.PromptRead(h.now, read.Key, read.Nonce, nil, nil, err)
		h.collect()
	}
	attempts := 0
	h.pass(900 * time.Millisecond)
	for end := h.now.Add(time.Minute); h.now < end; h.now = h.now.Add(50 * time.Millisecond) {
		h.node.Tick(h.now)
		h.collect()
		for h.step() {
			if count[engine.ReadPrompt](h) > 0 {
				attempts++
				empty(asked[engine.ReadPrompt](h), errors.New("damaged"))
			}
		}
	}
	if attempts < 3 || attempts > 20 {
		t.Errorf("%d attempts to read it in a minute", attempts)
	}
	if r := h.record(); r.Phase == turn.Failed || len(entries) != 1 {
		t.Errorf("the conversation is %s, want that it waits the fault out", r.Phase)
	}
}

// A prompt that is empty although the record says that something waits is a
// failed attempt: the turn ends as failed, for all to see.
func TestAPromptThatIsEmpty(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	for range 1000 {
		h.now = h.now.Add(100 * time.Millisecond)
		h.node.Tick(h.now)
		h.collect()
		for h.step() {
			if count[engine.ReadPrompt](h) > 0 {
				read := asked[engine.ReadPrompt](h)
				h.node.PromptRead(h.now, read.Key, read.Nonce, nil, nil, nil)
				h.collect()
			}
		}
	}
	if r := h.record(); r.Phase != turn.Failed || h.writes > 20 {
		t.Errorf("the conversation is %s after %d writes, want failed", r.Phase, h.writes)
	}
}

// A reply that can't be read waits, with back-off; nothing was sent.
func TestAReplyThatCannotBeRead(t *testing.T) {
	h := newHarness(t)
	h.respond(h.started("m"), engine.Response{Text: "hello"})
	before := h.writes
	for range 60 {
		for count[engine.Send](h) > 0 {
			s := asked[engine.Send](h)
			h.node.SendEnded(h.now, engine.SendResult{Key: s.Key, Nonce: s.Lease.Nonce, Err: "damaged", Certain: true})
			h.settle()
		}
		h.pass(time.Second)
	}
	if tries := (h.writes - before) / 2; tries < 3 || tries > 15 {
		t.Errorf("%d tries in a minute", tries)
	}
}

// A write that was not there when the node looked can't land any more once another
// one of this node took its place: what a person wrote with it is told apart from
// what may be on its way.
func TestAWriteOfThisNodeSettlesADoubt(t *testing.T) {
	h := newHarness(t)
	h.say("first")
	h.settle()
	faults := []store.Result{{Status: store.Conflict}, {}}
	h.fault = func(w store.Write) (store.Result, error) {
		if len(faults) == 0 {
			return h.store.Commit(context.Background(), w)
		}
		result := faults[0]
		faults = faults[1:]
		if result.Status == store.Conflict {
			result.Current.Op = w.Expect // an old answer: the node reads, and what a person wrote is in the next write
			return result, nil
		}
		return store.Result{}, store.ErrUnknown // and it was not applied
	}
	h.say("m")
	h.submit("human", engine.Request{Op: engine.HumanReply, Body: store.Body{Text: "hello"}})
	h.settle()
	if got := h.answers["human"]; got.Err != nil || got.MessageID == "" {
		t.Errorf("the reply of a person: %+v", got)
	}
}

// awry has the next writes and reads of a node go wrong, one after the other.
type awry struct {
	write func(h *harness, w store.Write) error // nil: the write is carried out and answered
	read  error
}

// goAwry lets the steps happen, in turn, and then all goes well. A write takes the
// next step, and so does the read that follows it.
func (h *harness) goAwry(steps ...awry) {
	h.fault = func(w store.Write) (store.Result, error) {
		if len(steps) == 0 || steps[0].write == nil {
			h.unread = nil
			return h.store.Commit(context.Background(), w)
		}
		step := steps[0]
		steps = steps[1:]
		h.unread = step.read
		return store.Result{}, step.write(h, w)
	}
}

// An outcome that stays unknown while the store fails several times. The end of an
// attempt is kept and tried again until its outcome is known, and is applied once.
func TestAnOutcomeThatStaysUnknown(t *testing.T) {
	away := errors.New("away")
	applied := func(h *harness, w store.Write) error {
		h.store.Commit(context.Background(), w)
		return store.ErrUnknown
	}
	lost := func(*harness, store.Write) error { return store.ErrUnknown }
	refused := func(*harness, store.Write) error { return fmt.Errorf("away: %w", store.ErrNotApplied) }
	var late store.Write
	given := func(_ *harness, w store.Write) error { late = w; return store.ErrUnknown }
	lands := func(h *harness, _ store.Write) error {
		h.store.Commit(context.Background(), late)
		return store.ErrUnknown
	}
	tests := map[string][]awry{
		"applied, and the store can't be read":       {{applied, away}, {refused, nil}, {lost, away}},
		"not applied, and the store can't be read":   {{lost, away}, {lost, away}, {refused, nil}, {lost, nil}},
		"not applied, over and over":                 {{lost, nil}, {lost, nil}, {lost, nil}, {lost, nil}, {lost, nil}},
		"it lands while the next one is written":     {{given, nil}, {lands, nil}},
		"it lands after the store failed for a time": {{given, away}, {refused, nil}, {lands, away}, {lost, away}},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			started := h.started("m")
			h.goAwry(steps...)
			h.respond(started, engine.Response{Text: "hello"})
			for range 40 {
				h.unread = nil
				h.pass(250 * time.Millisecond)
			}
			if got := h.replied(turn.ReplyCommitted); got != "hello" {
				t.Errorf("committed: %q, want the reply once", got)
			}
			if n := count[engine.Send](h); n != 1 {
				t.Errorf("%d sends began, want 1", n)
			}
			if r := h.record(); r.Phase != turn.Sending || r.Version != 1 {
				t.Errorf("the conversation is %s at version %d", r.Phase, r.Version)
			}
		})
	}
}

// The same for a message whose sender repeats it until he is told that it was
// accepted: it is stored once, and told as accepted or as a repeat.
func TestAMessageWhoseOutcomeStaysUnknown(t *testing.T) {
	away := errors.New("away")
	for name, applies := range map[string]int{"the first try is applied": 0, "the second": 1, "the last": 3} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("before")
			h.settle()
			tries := 0
			h.fault = func(w store.Write) (store.Result, error) {
				h.unread = away
				if tries++; tries > 3 {
					h.unread = nil
					return h.store.Commit(context.Background(), w)
				}
				if tries == applies+1 {
					h.store.Commit(context.Background(), w)
				}
				return store.Result{}, store.ErrUnknown
			}
			for range 10 {
				h.unread = nil
				h.say("m")
				h.settle()
				if h.answers["m"].Err == nil {
					break
				}
				if err := h.answers["m"].Err; !errors.Is(err, engine.ErrUnavailable) {
					t.Fatalf("told %v, want to try again", err)
				}
				h.now = h.now.Add(time.Second)
			}
			if got := h.answers["m"]; got.Err != nil || got.Duplicate != (applies < 3) || got.Version != 2 {
				t.Errorf("told in the end: %+v", got)
			}
			if n := len(h.entries(keyOf("c"), store.EntryQuery{ID: "m"})); n != 1 || h.record().Version != 2 {
				t.Errorf("the message is stored %d times, version %d", n, h.record().Version)
			}
		})
	}
}

// A pause that a receiver asks of the whole bot holds back the sends of its other
// conversations, and those that were about to begin; another bot's go out.
func TestAPauseForTheWholeBot(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) { o.Bots["other"] = o.Bots["bot"] })
	elsewhere := store.Key{Bot: "other", Conversation: "c"}
	h.submit("a", engine.Request{Key: keyOf("a"), Op: engine.Receive, ID: "a", Body: store.Body{Text: "a"}})
	h.submit("b", engine.Request{Key: keyOf("b"), Op: engine.Receive, ID: "b", Body: store.Body{Text: "b"}})
	h.submit("x", engine.Request{Key: elsewhere, Op: engine.Receive, ID: "x", Body: store.Body{Text: "x"}})
	h.settle()
	h.pass(time.Second)
	starts := map[store.Key]engine.Start{}
	for range 3 {
		s := asked[engine.Start](h)
		starts[s.Key] = s
	}
	h.respond(starts[keyOf("a")], engine.Response{Text: "hello a"})
	first := asked[engine.Send](h)
	h.sent(first, engine.SendResult{Err: "too many", Certain: true, After: 20 * time.Second, WholeBot: true})
	h.respond(starts[keyOf("b")], engine.Response{Text: "hello b"})
	h.respond(starts[elsewhere], engine.Response{Text: "hello x"})
	if s := asked[engine.Send](h); s.Key != elsewhere {
		t.Fatalf("sends to %v, whose bot's receiver asked for a pause", s.Key)
	}
	h.pass(19 * time.Second)
	if n := count[engine.Send](h); n != 0 {
		t.Fatalf("%d sends before the end of the pause", n)
	}
	h.pass(time.Second)
	if n := count[engine.Send](h); n != 2 {
		t.Errorf("%d sends at the end of the pause, want 2", n)
	}
}
