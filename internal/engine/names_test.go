package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// under submits a request under a name, lets it happen, and returns its result.
func (h *harness) under(name string, r engine.Request) engine.Result {
	h.t.Helper()
	r.Key = keyOf(name)
	delete(h.answers, "under")
	h.submit("under", r)
	h.settle()
	got, ok := h.answers["under"]
	if !ok {
		h.t.Fatalf("a request under %s has no answer", name)
	}
	return got
}

// message is one whose text is its id.
func message(id string) engine.Request {
	return engine.Request{Op: engine.Receive, ID: id, Body: store.Body{Text: id}}
}

// alias makes a name lead to the conversation "c", as the API does.
func (h *harness) alias(name string) {
	h.t.Helper()
	h.under(name, engine.Request{Op: engine.LeadName, Name: "c"})
	h.under("c", engine.Request{Op: engine.AdoptName, Name: name})
}

// move gives the conversation "c" another key, as the API does.
func (h *harness) move(name string) {
	h.t.Helper()
	h.under("c", engine.Request{Op: engine.ClaimName, Name: name})
	h.under(name, engine.Request{Op: engine.LeadName, Name: "c", Fresh: true})
	h.under("c", engine.Request{Op: engine.AdoptName, Name: name, Moves: true})
}

// waits is the texts of the messages that wait in a conversation.
func (h *harness) waits(conversation string) string {
	return texts(h.entries(keyOf(conversation), store.EntryQuery{Status: turn.InputPending}))
}

// names is what the transcript of "c" says of its names.
func (h *harness) names() (all []string) {
	for _, e := range h.entries(keyOf("c"), store.EntryQuery{}) {
		if e.Kind == store.Name {
			all = append(all, e.Reason+" "+e.Text)
		}
	}
	return all
}

// A message under an alias is the conversation's. Where the node knows both, it takes one
// round trip, and a node that knows neither needs one for each.
func TestAMessageUnderAnAlias(t *testing.T) {
	h := newHarness(t)
	h.say("first")
	h.settle()
	h.alias("a")
	other := newHarnessOn(t, h.store, h.now)
	for _, test := range []struct {
		node  *harness
		id    string
		calls string
	}{{h, "m", "[commit]"}, {other, "n", "[commit load commit]"}} {
		test.node.calls = nil
		if got := test.node.under("a", message(test.id)); got.Err != nil || got.Key != keyOf("c") || got.Outcome != turn.Queued {
			t.Errorf("%s is answered %+v", test.id, got)
		}
		if got := fmt.Sprint(test.node.calls); got != test.calls {
			t.Errorf("%s: calls of the store: %s, want %s", test.id, got, test.calls)
		}
	}
	if c, a := h.waits("c"), h.waits("a"); c != "first m n" || a != "" {
		t.Errorf("in the conversation waits %q, under the alias %q", c, a)
	}
	if got := h.names(); !slices.Equal(got, []string{"alias a"}) {
		t.Errorf("the transcript says %q", got)
	}
}

// What comes under a name together with the request that makes it an alias is the
// conversation's, and nothing of it is left at the name.
func TestRequestsBehindTheOneThatMakesAnAlias(t *testing.T) {
	for _, alone := range []bool{true, false} {
		h := newHarness(t, func(o *engine.Options) { o.Alone = alone })
		at := func(name string, r engine.Request) {
			r.Key = keyOf("a")
			h.submit(name, r)
		}
		at("lead", engine.Request{Op: engine.LeadName, Name: "c"})
		at("m", message("m"))
		at("reply", engine.Request{Op: engine.HumanReply, Body: store.Body{Text: "hello"}, Beside: true})
		at("pause", engine.Request{Op: engine.Pause})
		h.settle()
		for name, want := range map[string]turn.Outcome{"lead": turn.Done, "m": turn.Queued, "reply": turn.Done, "pause": turn.Done} {
			if got := h.answers[name]; got.Err != nil || got.Outcome != want {
				t.Errorf("alone %v: %s is answered %+v", alone, name, got)
			}
		}
		if got := h.answers["pause"]; got.Key != keyOf("c") || got.Record == nil || got.Record.Shown() != turn.Paused {
			t.Errorf("alone %v: after the pause, %s is %+v", alone, got.Key, got.Record)
		}
		if c, a := h.waits("c"), h.waits("a"); c != "m" || a != "" {
			t.Errorf("alone %v: in the conversation waits %q, under the alias %q", alone, c, a)
		}
	}
}

// A request behind the one that frees an alias is not the conversation's any more, and one
// behind a LeadName that was refused stays where it is.
func TestRequestsBehindAChangeOfAName(t *testing.T) {
	h := newHarness(t)
	h.alias("a")
	free := engine.Request{Op: engine.FreeName, Name: "c", Key: keyOf("a")}
	lead := engine.Request{Op: engine.LeadName, Name: "d", Key: keyOf("a"), Fresh: true}
	h.submit("free", free)
	h.submit("lead", lead)
	m := message("m")
	m.Key = keyOf("a")
	h.submit("m", m)
	h.settle()
	if c, d := h.waits("c"), h.waits("d"); c != "" || d != "m" {
		t.Errorf("in the conversation from which the name was taken waits %q, in the next one %q", c, d)
	}
	h.submit("refused", engine.Request{Op: engine.LeadName, Name: "c", Key: keyOf("d")})
	n := message("n")
	n.Key = keyOf("d")
	h.submit("n", n)
	h.settle()
	if got := h.waits("d"); got != "m n" || h.answers["refused"].Reason != turn.NameTaken {
		t.Errorf("behind a refused alias waits %q; the alias is answered %+v", got, h.answers["refused"])
	}
}

// A reply goes to the name under which somebody wrote last, and shows the conversation
// under its key.
func TestTheAddressOfAReply(t *testing.T) {
	for _, test := range []struct {
		moved                 bool
		under                 string
		conversation, address string
		noted                 string
	}{
		{under: "c", conversation: "c", address: "c"},
		{under: "a", conversation: "c", address: "a", noted: "a"},
		{moved: true, under: "a", conversation: "b", address: "a", noted: "a"},
		{moved: true, under: "b", conversation: "b", address: "b"},
		{moved: true, under: "c", conversation: "b", address: "c", noted: "c"},
	} {
		h := newHarness(t)
		h.alias("a")
		if test.moved {
			h.move("b")
		}
		if got := h.names(); len(got) == 0 || got[0] != "alias a" {
			t.Errorf("the transcript begins with %q", got)
		}
		h.under(test.under, message("m"))
		if got := h.record().Names.Address; got != test.noted {
			t.Errorf("%+v: the record notes the address %q", test, got)
		}
		h.pass(time.Second)
		s := asked[engine.Start](h)
		if s.Key != keyOf("c") || s.Conversation != test.conversation || s.Address != test.address {
			t.Errorf("%+v: the responder answers %s at %s", test, s.Conversation, s.Address)
		}
		h.respond(s, engine.Response{Text: "hello"})
		if s := asked[engine.Send](h); s.Key != keyOf("c") || s.Conversation != test.conversation || s.Address != test.address {
			t.Errorf("%+v: the reply is sent to %s at %s", test, s.Conversation, s.Address)
		}
	}
}

// The transcript tells each new name and each new key, once.
func TestTheTranscriptTellsNames(t *testing.T) {
	h := newHarness(t)
	h.say("m", "n", "o")
	h.settle()
	h.now = h.now.Add(time.Millisecond)
	h.alias("a")
	h.alias("a")
	h.move("b")
	h.under("c", engine.Request{Op: engine.AdoptName, Name: "c", Moves: true}) // back again
	if got, want := h.names(), []string{"alias a", "moved b", "moved c"}; !slices.Equal(got, want) {
		t.Errorf("the transcript says %q, want %q", got, want)
	}
	for i, e := range h.entries(keyOf("c"), store.EntryQuery{After: 3}) {
		if e.Seq != int64(4+i) || e.Status != turn.ReplyCommitted || e.Version != 3 || e.At != h.now {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if names := h.record().Names; names.Key != "" || !slices.Equal(names.Aliases, []string{"a", "b"}) {
		t.Errorf("its names are %+v", names)
	}
}

// Watchers are told the key by which a conversation is shown, from the move on.
func TestWatchersAreToldTheKey(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.move("b")
	h.say("n")
	h.settle()
	for _, e := range h.events {
		if want := map[bool]string{true: "b"}[e.Version == 2 || e.Kind == turn.KindConversationMoved]; e.Name != want {
			t.Errorf("%s of version %d names %q, want %q", e.Kind, e.Version, e.Name, want)
		}
	}
}

// Requests about the alias itself are applied to the alias. The others are handed on to the
// conversation, in order.
func TestWhatIsAboutAnAliasStaysThere(t *testing.T) {
	h := newHarness(t)
	h.say("first")
	h.settle()
	h.alias("a")
	node := newHarnessOn(t, h.store, h.now) // it reads the alias, while more comes
	for name, r := range map[string]engine.Request{"lead": {Op: engine.LeadName, Name: "c"}} {
		r.Key = keyOf("a")
		node.submit(name, r)
	}
	for _, id := range []string{"m1", "m2"} {
		m := message(id)
		m.Key = keyOf("a")
		node.submit(id, m)
	}
	node.submit("unlead", engine.Request{Key: keyOf("a"), Op: engine.FreeName, Name: "c"})
	node.settle()
	for name, at := range map[string]string{"lead": "a", "unlead": "a", "m1": "c", "m2": "c"} {
		if got := node.answers[name]; got.Err != nil || got.Key != keyOf(at) || got.Outcome == turn.Ignored {
			t.Errorf("%s is answered %+v, want that it is applied to %s", name, got, at)
		}
	}
	if got := h.waits("c"); got != "first m1 m2" {
		t.Errorf("in the conversation waits %q", got)
	}
	if got := node.under("a", message("own")); got.Key != keyOf("a") || node.waits("a") != "own" {
		t.Errorf("a message under the name that was freed: %+v", got)
	}
}

// An alias is forgotten by itself, and the conversation stays.
func TestAnAliasIsForgotten(t *testing.T) {
	h := newHarness(t)
	h.say("first")
	h.settle()
	h.alias("a")
	h.under("a", engine.Request{Op: engine.Forget})
	if h.recordOf("a").LeadsTo != "" || h.waits("c") != "first" {
		t.Errorf("the alias leads to %q, in the conversation waits %q", h.recordOf("a").LeadsTo, h.waits("c"))
	}
}

// An alias may still have a timer, from when it was a conversation. It wakes nothing.
func TestATimerOfAnAlias(t *testing.T) {
	h := newHarness(t)
	h.alias("a")
	writes := h.writes
	h.node.Claimed(h.now, []store.Timer{{Key: keyOf("a"), At: h.now}}, nil)
	h.settle()
	if !h.node.Quiet() || h.node.Generating() != 0 || h.node.Writing() != 0 || h.writes > writes+1 {
		t.Errorf("quiet %v, %d generate, %d write, %d writes", h.node.Quiet(), h.node.Generating(), h.node.Writing(), h.writes-writes)
	}
}

// A node that remembers where a name led finds out where it leads now. An id that was
// claimed, or a message that was found, in the conversation before says nothing about the
// next one.
func TestANameThatLeadsElsewhereByNow(t *testing.T) {
	tests := map[string]struct {
		given func(h *harness)
		to    string
	}{
		"to another conversation": {func(h *harness) {
			h.other("a", turn.LeadName{To: "d"})
			h.other("d", turn.Message{}, turn.AdoptName{Name: "a"})
		}, "d"},
		"to one that nobody told": {func(h *harness) { h.other("d", turn.Message{}); h.other("a", turn.LeadName{To: "d"}) }, "d"},
		"nowhere":                 {func(h *harness) { h.other("a", turn.FreeName{From: "c"}) }, "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("m", "other1")
			h.settle()
			h.alias("a")
			h.other("c", turn.DropName{Name: "a"})
			test.given(h)
			if got := h.under("a", message("m")); got.Err != nil || got.Key != keyOf(test.to) || got.Duplicate || got.Outcome != turn.Queued {
				t.Errorf("the message is answered %+v", got)
			}
			if got := h.waits("c"); got != "m other1" {
				t.Errorf("in the conversation before waits %q", got)
			}
			if test.to == "d" && !slices.Equal(h.recordOf("d").Names.Aliases, []string{"a"}) {
				t.Errorf("the names of the conversation are %+v", h.recordOf("d").Names)
			}
		})
		t.Run(name+", an edit", func(t *testing.T) {
			h := newHarness(t)
			h.say("other1")
			h.settle()
			h.alias("a")
			h.other("c", turn.DropName{Name: "a"})
			test.given(h)
			got := h.under("a", engine.Request{Op: engine.Edit, ID: "other1", Text: new("new")})
			if want := map[string]turn.Outcome{"d": turn.Queued, "a": turn.CameEarly}[test.to]; got.Err != nil || got.Key != keyOf(test.to) || got.Outcome != want {
				t.Errorf("the edit is answered %+v, want %s", got, want)
			}
			if c, d := h.waits("c"), h.waits("d"); c != "other1" || test.to == "d" && d != "new" {
				t.Errorf("in the conversation before waits %q, in the next one %q", c, d)
			}
		})
	}
}

// An alias whose maker did not live to tell the conversation: the next request under it
// does, once the alias was read again. What the maker asked for itself is not done twice.
func TestAConversationAdoptsAName(t *testing.T) {
	tests := map[string]struct {
		request engine.Request
		outcome turn.Outcome
		names   []string
	}{
		"a message":        {message("m"), turn.Queued, []string{"alias a"}},
		"somebody types":   {engine.Request{Op: engine.Typing, For: time.Second}, turn.Done, []string{"alias a"}},
		"it is adopted":    {engine.Request{Op: engine.AdoptName, Name: "a"}, turn.Done, []string{"alias a"}},
		"it becomes key":   {engine.Request{Op: engine.AdoptName, Name: "a", Moves: true}, turn.Done, []string{"moved a"}},
		"it is taken away": {engine.Request{Op: engine.DropName, Name: "a"}, turn.Done, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("first")
			h.settle()
			h.other("a", turn.LeadName{To: "c"})
			got := h.under("a", test.request)
			if got.Err != nil || got.Key != keyOf("c") || got.Outcome != test.outcome {
				t.Errorf("answered %+v, want %s", got, test.outcome)
			}
			if !slices.Equal(h.names(), test.names) {
				t.Errorf("the transcript says %q, want %q", h.names(), test.names)
			}
		})
	}
}

// A name that was taken away is not listed again by a request under it, as long as its
// alias was not freed.
func TestANameThatWasTakenAwayIsNotAdopted(t *testing.T) {
	h := newHarness(t)
	h.say("first")
	h.settle()
	h.alias("a")
	h.under("c", engine.Request{Op: engine.DropName, Name: "a"})
	for _, id := range []string{"m", "n"} {
		if got := h.under("a", message(id)); got.Key != keyOf("c") || got.Outcome != turn.Queued {
			t.Errorf("answered %+v", got)
		}
	}
	if names := h.record().Names; len(names.Aliases) != 0 || !slices.Equal(h.names(), []string{"alias a"}) {
		t.Errorf("its names are %+v, the transcript says %q", names, h.names())
	}
}

// How many round trips it takes to find out that a conversation does not list the name.
func TestRoundTripsUnderANameThatIsNotListed(t *testing.T) {
	tests := map[string]struct {
		before func(h *harness)
		calls  string
	}{
		"the record was seen": {func(h *harness) { h.other("a", turn.LeadName{To: "c"}) }, "commit load commit"},
		"a conflict says so, which may be old": {func(h *harness) {
			h.alias("a")
			h.other("c", turn.DropName{Name: "a"})
		}, "commit load commit load commit"}, // the second one is in vain: it guesses that the name is free
		"a move claims it": {func(h *harness) {
			h.other("c", turn.ClaimName{Name: "a"})
			h.other("a", turn.LeadName{To: "c", Fresh: true})
			h.node = newHarnessOn(h.t, h.store, h.now).node
		}, "commit load load commit"},
		"one alias leads to another": {func(h *harness) {
			h.alias("b")
			h.other("a", turn.LeadName{To: "b"})
			h.under("a", message("before"))
		}, "commit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("first")
			h.settle()
			test.before(h)
			h.calls = nil
			if got := h.under("a", message("m")); got.Err != nil || got.Key != keyOf("c") {
				t.Errorf("answered %+v", got)
			}
			if got := fmt.Sprint(h.calls); got != "["+test.calls+"]" {
				t.Errorf("calls of the store: %s, want %s", got, test.calls)
			}
		})
	}
}

// A move whose maker died after the name was made to lead here is finished by the next
// request under the name.
func TestAMoveIsFinishedByTheNextRequest(t *testing.T) {
	h := newHarness(t)
	h.say("first")
	h.settle()
	h.other("c", turn.ClaimName{Name: "b"})
	h.other("b", turn.LeadName{To: "c", Fresh: true})
	h.under("b", message("m"))
	if names := h.record().Names; names.Key != "b" || names.Claim != "" || !slices.Equal(h.names(), []string{"moved b"}) {
		t.Errorf("its names are %+v, the transcript says %q", names, h.names())
	}
}

// A request is handed on eight times at most.
func TestNamesThatLeadOnAndOn(t *testing.T) {
	for hops, want := range map[int]error{8: nil, 9: engine.ErrUnavailable} {
		h := newHarness(t)
		name := func(i int) string { return fmt.Sprint("n", i) }
		for i := range hops {
			h.other(name(i), turn.LeadName{To: name(i + 1)})
		}
		h.other(name(hops), turn.Message{}, turn.AdoptName{Name: name(hops - 1)})
		got := h.under(name(0), message("m"))
		if !errors.Is(got.Err, want) {
			t.Errorf("after %d names: %+v, want %v", hops, got, want)
		}
		if stored := h.waits(name(hops)) == "other1 m"; stored != (want == nil) {
			t.Errorf("after %d names: in the last place waits %q", hops, h.waits(name(hops)))
		}
	}
}
