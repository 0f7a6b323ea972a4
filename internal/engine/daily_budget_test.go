package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// withBudget gives the bot a budget.
func withBudget(daily turn.DailyBudget) func(*engine.Options) {
	return func(o *engine.Options) {
		bot := o.Bots["bot"]
		bot.Policy.Daily = daily
		o.Bots["bot"] = bot
	}
}

// quietly says a message of a conversation, and lets its quiet time pass.
func (h *harness) quietly(conversation, id string) {
	h.submit(conversation+id, engine.Request{Key: keyOf(conversation), Op: engine.Receive, ID: id, Body: store.Body{Text: id}})
	h.settle()
	h.pass(time.Second)
}

// Two nodes share a budget of two calls. The third call waits, whichever node it comes to; what
// it answers is kept and uses up no attempt. A node that is started anew knows as much.
func TestABudgetIsShared(t *testing.T) {
	s := memory.New()
	budget := withBudget(turn.DailyBudget{Calls: 2})
	one, other := newHarnessOn(t, s, start, budget), newHarnessOn(t, s, start, budget)
	one.quietly("a", "m")
	one.respond(asked[engine.Start](one), engine.Response{Text: "hello"})
	asked[engine.Send](one)
	other.quietly("b", "m")
	asked[engine.Start](other)
	for name, h := range map[string]*harness{"c": one, "d": other, "e": newHarnessOn(t, s, other.now, budget)} {
		h.quietly(name, "m")
		r := h.recordOf(name)
		if count[engine.Start](h) != 0 || r.Phase != turn.Collecting || r.Tries.Attempts != 0 || r.Pending != 1 {
			t.Errorf("conversation %s: %+v", name, r)
		}
		if !strings.Contains(r.Tries.LastError, "model_calls_per_day: 2") || !strings.Contains(r.Tries.LastError, "1970-01-02T00:00:00Z") {
			t.Errorf("the reason: %q", r.Tries.LastError)
		}
		if due := r.Window.Due.Sub(h.now); due < 4*time.Minute || due > 5*time.Minute {
			t.Errorf("it is tried again in %v", due)
		}
		if c := h.node.Counters; c.OverBudget != 1 {
			t.Errorf("counted %d", c.OverBudget)
		}
	}
	if told := count[engine.OverBudget](one) + count[engine.OverBudget](other); told > 1 {
		t.Errorf("operators were told %d times", told)
	}
	if calls := one.node.Counters.Total.ModelCalls + other.node.Counters.Total.ModelCalls; calls != 2 {
		t.Errorf("%d calls are counted", calls)
	}
}

// What waits for a budget is answered when the next day begins, and within minutes where the
// budget is raised.
func TestABudgetEnds(t *testing.T) {
	for name, end := range map[string]func(h *harness){
		"another day": func(h *harness) { h.pass(turn.NextDay(h.now).Sub(h.now) + time.Second) },
		"raised": func(h *harness) {
			h.node.ChangeBot("bot", func(b *engine.Bot) { b.Policy.Daily.Calls = 2 })
			h.pass(5*time.Minute + time.Second)
		},
		"no budget any more": func(h *harness) {
			h.node.ChangeBot("bot", func(b *engine.Bot) { b.Policy.Daily = turn.DailyBudget{} })
			h.pass(5*time.Minute + time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, withBudget(turn.DailyBudget{Calls: 1}))
			h.quietly("a", "m")
			asked[engine.Start](h)
			h.quietly("b", "m")
			if count[engine.Start](h) != 0 || count[engine.OverBudget](h) != 1 {
				t.Fatalf("%T", h.out)
			}
			end(h)
			if started := asked[engine.Start](h); started.Key != keyOf("b") {
				t.Errorf("%v begins", started.Key)
			}
		})
	}
}

// A call whose attempt is ended while its budget is asked never begins.
func TestAnAttemptEndsWhileItsBudgetIsAsked(t *testing.T) {
	h := newHarness(t, withBudget(turn.DailyBudget{Calls: 5}))
	h.fault = func(w store.Write) (store.Result, error) {
		if w.Record.Spent.Calls == 0 {
			return h.store.Commit(t.Context(), w)
		}
		h.fault = nil
		h.submit("pause", engine.Request{Op: engine.Pause})
		return store.Result{}, store.ErrNotApplied // it is tried again when the pause is written
	}
	h.quietly("c", "m")
	h.pass(time.Second)
	if h.recordOf("onereply:budget").Spent.Calls != 1 {
		t.Error("the budget was not asked")
	}
	if count[engine.Start](h) != 0 || h.node.Working() != 0 || h.node.Generating() != 0 {
		t.Errorf("%d calls, %d work, %d slots are taken", count[engine.Start](h), h.node.Working(), h.node.Generating())
	}
}

// Where nobody knows whether a call was counted, it is counted again, and made once.
func TestACallOfUnknownOutcomeIsMadeOnce(t *testing.T) {
	h := newHarness(t, withBudget(turn.DailyBudget{Calls: 5}))
	h.fault = func(w store.Write) (store.Result, error) {
		if w.Record.Spent.Calls == 0 {
			return h.store.Commit(t.Context(), w)
		}
		h.losesAnswer(func() { h.other("onereply:budget", turn.Spend{Calls: 1}) })
		return h.fault(w)
	}
	h.quietly("c", "m")
	h.pass(time.Second)
	if calls := count[engine.Start](h); calls != 1 {
		t.Errorf("%d calls", calls)
	}
	if spent := h.recordOf("onereply:budget").Spent; spent.Calls < 2 || spent.Calls > 3 {
		t.Errorf("counted %+v", spent)
	}
}

// Tokens are counted when a call has ended, also where nobody wants its result any more.
func TestTokensUseUpABudget(t *testing.T) {
	h := newHarness(t, withBudget(turn.DailyBudget{Tokens: 10}))
	h.quietly("a", "m")
	running := asked[engine.Start](h)
	h.quietly("b", "m")
	h.respond(asked[engine.Start](h), engine.Response{Text: "hello", Tokens: 4})
	h.submit("gone", engine.Request{Key: keyOf("a"), Op: engine.Forget})
	h.settle()
	h.respond(running, engine.Response{Text: "hello", Tokens: 6})
	h.quietly("c", "m")
	if spent := h.recordOf("onereply:budget").Spent; spent.Tokens != 10 || spent.Calls != 2 || count[engine.Start](h) != 0 {
		t.Errorf("%+v, %d calls", spent, count[engine.Start](h))
	}
	if got := h.recordOf("c").Tries.LastError; !strings.Contains(got, "tokens_per_day: 10") {
		t.Errorf("the reason: %q", got)
	}
}

// An attempt whose prompt is too large calls no model, and is none of its calls.
func TestATooLargePromptIsNoCall(t *testing.T) {
	h := newHarness(t, withBudget(turn.DailyBudget{Calls: 5}), func(o *engine.Options) {
		bot := o.Bots["bot"]
		bot.Policy.PromptBytes = 1
		o.Bots["bot"] = bot
	})
	for _, id := range []string{"m1", "m2"} {
		h.submit(id, engine.Request{Op: engine.Receive, ID: id, Body: store.Body{Text: id, Size: 2}})
	}
	h.settle()
	h.pass(time.Second)
	h.pass(0)
	asked[engine.Start](h)
	if r := h.record(); r.Tries.Runs < 2 {
		t.Fatalf("no attempt ended for its size: %+v", r.Tries)
	}
	if calls, spent := h.node.Counters.Total.ModelCalls, h.recordOf("onereply:budget").Spent.Calls; calls != 1 || spent != 1 {
		t.Errorf("%d calls are counted, %d are spent", calls, spent)
	}
}
