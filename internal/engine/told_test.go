package engine_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// newToldHarness is a node whose core notes the events that it is told, the last one last.
// Its jitter is 345.
func newToldHarness(t *testing.T, changes ...func(*engine.Options)) (*harness, *[]turn.Event) {
	told := &[]turn.Event{}
	changes = append(changes, func(o *engine.Options) {
		o.Random = func() uint64 { return 12_345 }
		o.Step = func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			*told = append(*told, e)
			return turn.Step(r, e, now, p)
		}
	})
	return newHarness(t, changes...), told
}

// toldOf is the events of a kind.
func toldOf[E turn.Event](told []turn.Event) (all []E) {
	for _, event := range told {
		if e, ok := event.(E); ok {
			all = append(all, e)
		}
	}
	return all
}

// What a caller asks for reaches the core in full.
func TestWhatTheCoreIsToldOfARequest(t *testing.T) {
	tests := []struct {
		request engine.Request
		want    turn.Event
	}{
		{engine.Request{Op: engine.Typing, For: 3 * time.Second}, turn.Typing{For: 3 * time.Second}},
		{engine.Request{Op: engine.Flush}, turn.Flush{}},
		{engine.Request{Op: engine.Pause, Reason: "why"}, turn.Pause{Reason: "why"}},
		{engine.Request{Op: engine.Resume, Answer: true}, turn.Resume{Answer: true}},
		{engine.Request{Op: engine.Resume}, turn.Resume{}},
		{engine.Request{Op: engine.Requeue}, turn.Requeue{}},
		{engine.Request{Op: engine.Resend, Turn: 7}, turn.Resend{Turn: 7}},
		{engine.Request{Op: engine.MarkSent, Turn: 7}, turn.MarkSent{Turn: 7}},
		{engine.Request{Op: engine.LeadName, Name: "d", Fresh: true}, turn.LeadName{To: "d", Fresh: true}},
		{engine.Request{Op: engine.LeadName, Name: "d"}, turn.LeadName{To: "d"}},
		{engine.Request{Op: engine.FreeName, Name: "d"}, turn.FreeName{From: "d"}},
		{engine.Request{Op: engine.ClaimName, Name: "d"}, turn.ClaimName{Name: "d"}},
		{engine.Request{Op: engine.AdoptName, Name: "d", Moves: true}, turn.AdoptName{Name: "d", Key: true}},
		{engine.Request{Op: engine.AdoptName, Name: "c"}, turn.AdoptName{}},
		{engine.Request{Op: engine.DropName, Name: "d"}, turn.DropName{Name: "d"}},
		{engine.Request{Op: engine.Reset, Reason: "why"}, turn.Reset{Reason: "why"}},
		{engine.Request{Op: engine.Seal, Token: 7}, turn.Seal{Token: 7}},
	}
	for _, test := range tests {
		h, told := newToldHarness(t)
		h.submit("r", test.request)
		h.settle()
		if len(*told) == 0 || !reflect.DeepEqual((*told)[len(*told)-1], test.want) {
			t.Errorf("%+v: the core is told %#v, want %#v", test.request, *told, test.want)
		}
	}
}

// What a message carries besides its text reaches the core.
func TestWhatTheCoreIsToldOfAMessage(t *testing.T) {
	pending := []store.Attachment{{URL: "https://example.test/a"}, {URL: "https://example.test/b", Pending: true}}
	tests := []struct {
		request engine.Request
		want    turn.Message
	}{
		{engine.Request{}, turn.Message{}},
		{engine.Request{Context: true}, turn.Message{Context: true}},
		{engine.Request{Unaddressed: true}, turn.Message{Unaddressed: true}},
		{engine.Request{Body: store.Body{SentAt: 7, Sender: store.Sender{Bot: true}}}, turn.Message{SentAt: 7, Bot: true}},
		{engine.Request{Body: store.Body{Attachments: pending}}, turn.Message{Media: true}},
		{engine.Request{Body: store.Body{Attachments: pending[:1]}}, turn.Message{}},
	}
	for _, test := range tests {
		h, told := newToldHarness(t)
		r := test.request
		r.Op, r.ID = engine.Receive, "m"
		h.submit("m", r)
		h.settle()
		test.want.Quiet, test.want.Bytes = time.Second, r.Body.Bytes()
		if got := (*told)[0]; got != turn.Event(test.want) {
			t.Errorf("%+v: the core is told %+v, want %+v", test.request, got, test.want)
		}
	}
}

// What came of an attempt reaches the core, with the nonce of its lease, and what it saw.
func TestWhatTheCoreIsToldOfAnAttempt(t *testing.T) {
	const first turn.Time = 1_000_777
	bars := func(o *engine.Options) {
		b := o.Bots["bot"]
		b.Split = func(text string) []string { return strings.Split(text, "|") }
		o.Bots["bot"] = b
	}
	whole := func(o *engine.Options) { b := o.Bots["bot"]; b.Whole = true; o.Bots["bot"] = b }
	newer := func(h *harness) { h.say("newer"); h.settle() }
	leaves := func(h *harness) { h.node.HandBack(h.now); h.settle() }
	waited := []turn.Waiting{{Version: 2, Bytes: 1}, {Version: 3, Bytes: 1}}
	tests := map[string]struct {
		change   func(*engine.Options)
		before   func(h *harness)
		response engine.Response
		want     turn.Event
	}{
		"a text":          {response: engine.Response{Text: "hello"}, want: turn.Generated{Parts: 1, Waiting: waited}},
		"several parts":   {response: engine.Response{Text: "all", Parts: []string{"a", "b"}}, want: turn.Generated{Parts: 2, Waiting: waited}},
		"parts in one":    {change: whole, response: engine.Response{Text: "all", Parts: []string{"a", "b"}}, want: turn.Generated{Parts: 1, Waiting: waited}},
		"a text is cut":   {change: bars, response: engine.Response{Text: "a|b|c"}, want: turn.Generated{Parts: 3, Waiting: waited}},
		"parts are cut":   {change: bars, response: engine.Response{Text: "all", Parts: []string{"a|b", "c|d|e"}}, want: turn.Generated{Parts: 5, Waiting: waited}},
		"nothing to say":  {response: engine.Response{None: true}, want: turn.Generated{Waiting: waited}},
		"newer input":     {before: newer, response: engine.Response{Fault: turn.Failure}, want: turn.Interrupted{}},
		"too late a text": {before: newer, response: engine.Response{Text: "hello"}, want: turn.Generated{Parts: 1, Waiting: waited}},
		"the node leaves": {before: leaves, response: engine.Response{Fault: turn.Failure}, want: turn.HandBack{}},
		"a failure": {
			response: engine.Response{Fault: turn.Failure, Reason: "why", After: 7 * time.Second},
			want:     turn.GenerateFailed{Fault: turn.Failure, Text: "why", After: 7 * time.Second, Jitter: 345, Waiting: waited, History: true},
		},
		"a history of one": {
			change:   func(o *engine.Options) { b := o.Bots["bot"]; b.History = 1; o.Bots["bot"] = b },
			response: engine.Response{Fault: turn.Refused, Reason: "why"},
			want:     turn.GenerateFailed{Fault: turn.Refused, Text: "why", Jitter: 345, Waiting: waited, History: true},
		},
		"without a history": {
			change:   func(o *engine.Options) { b := o.Bots["bot"]; b.History = 0; o.Bots["bot"] = b },
			response: engine.Response{Fault: turn.Refused, Reason: "why"},
			want:     turn.GenerateFailed{Fault: turn.Refused, Text: "why", Jitter: 345, Waiting: waited},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.change == nil {
				test.change = func(*engine.Options) {}
			}
			h, told := newToldHarness(t, test.change)
			h.answered("hello", "before")
			s := h.started("m", "n")
			if test.before != nil {
				test.before(h)
			}
			test.response.FirstByte = first
			h.respond(s, test.response)
			want := reflect.New(reflect.TypeOf(test.want)).Elem()
			want.Set(reflect.ValueOf(test.want))
			want.FieldByName("Nonce").SetString(s.Lease.Nonce)
			want.FieldByName("FirstByte").SetInt(int64(first))
			if got := (*told)[len(*told)-1]; !reflect.DeepEqual(got, want.Interface()) {
				t.Errorf("the core is told %#v, want %#v", got, want.Interface())
			}
		})
	}
}

// A transcript that can't be read counts as an outage. One that does not hold what waits
// is a failure, so that it is tried only so often.
func TestAPromptThatCannotBeMade(t *testing.T) {
	for name, test := range map[string]struct {
		entries bool
		err     error
		want    turn.GenerateFailed
	}{
		"the store fails":   {true, errors.New("away"), turn.GenerateFailed{Fault: turn.Outage, Text: "what waits could not be read: away", Jitter: 345}},
		"nothing is in it":  {false, nil, turn.GenerateFailed{Fault: turn.Failure, Text: "nothing that waits is in the transcript", Jitter: 345}},
		"neither, in doubt": {false, errors.New("away"), turn.GenerateFailed{Fault: turn.Outage, Text: "what waits could not be read: away", Jitter: 345}},
	} {
		t.Run(name, func(t *testing.T) {
			h, told := newToldHarness(t)
			read := h.asksForPrompt()
			var entries []store.Entry
			if test.entries {
				entries = h.entries(read.Key, store.EntryQuery{})
			}
			h.node.PromptRead(h.now, read.Key, read.Nonce, entries, nil, test.err)
			h.settle()
			test.want.Nonce = read.Nonce
			if got := (*told)[len(*told)-1]; !reflect.DeepEqual(got, test.want) {
				t.Errorf("the core is told %#v, want %#v", got, test.want)
			}
			if n := count[engine.Start](h); n != 0 || h.node.Generating() != 0 {
				t.Errorf("%d responders run, %d slots are taken", n, h.node.Generating())
			}
		})
	}
}

// asksForPrompt lets a message become an attempt, up to the reading of its prompt.
func (h *harness) asksForPrompt() engine.ReadPrompt {
	h.t.Helper()
	h.say("m")
	h.settle()
	h.now = h.now.Add(time.Second)
	h.node.Tick(h.now)
	for h.step() && count[engine.ReadPrompt](h) == 0 {
	}
	return asked[engine.ReadPrompt](h)
}
