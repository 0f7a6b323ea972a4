package engine_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A reply of a person is cut like any other, and its answer names it.
func TestAReplyOfAPersonIsCut(t *testing.T) {
	for whole, sends := range map[bool]int{false: 2, true: 1} {
		h, told := newToldHarness(t, func(o *engine.Options) {
			b := o.Bots["bot"]
			b.Split, b.Whole = func(text string) []string { return strings.Split(text, "|") }, whole
			o.Bots["bot"] = b
		})
		h.answered("hello", "m")
		h.human("a|b")
		h.settle()
		if got := (*told)[len(*told)-1]; got != turn.Event(turn.HumanReply{Parts: sends}) {
			t.Errorf("the core is told %#v", got)
		}
		e := h.entries(keyOf("c"), store.EntryQuery{Status: turn.ReplyCommitted})[0]
		if e.ID != "c/2" || e.Turn != 2 || e.Text != "a|b" || !slices.Equal(e.Parts, []string{"a", "b"}) || e.Author != turn.ReplyHuman || e.At != h.now || h.answers["human"].MessageID != "c/2" {
			t.Errorf("the entry is %+v, the answer %+v", e, h.answers["human"])
		}
	}
}

// A splitter may give one part that is not the text as it was.
func TestAReplyOfOnePart(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) {
		b := o.Bots["bot"]
		b.Split = func(text string) []string { return []string{strings.TrimSpace(text)} }
		o.Bots["bot"] = b
	})
	h.respond(h.started("m"), engine.Response{Text: " hello "})
	if e := h.theReply(); e.Text != " hello " || !slices.Equal(e.Parts, []string{"hello"}) {
		t.Errorf("the parts of %q are %q", e.Text, e.Parts)
	}
}

// Where one send carries all parts, a channel may report each of them.
func TestAReportOfAPartOfOneSend(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) { b := o.Bots["bot"]; b.Whole = true; o.Bots["bot"] = b })
	h.respond(h.started("m"), engine.Response{Text: "all", Parts: []string{"a", "b"}})
	h.sent(asked[engine.Send](h), engine.SendResult{})
	if got := h.report("second", 2, turn.ReceiptDelivered); got.Outcome != turn.Done || !slices.Equal(h.theReply().Receipts, turn.Receipts{"", turn.ReceiptDelivered}) {
		t.Errorf("answered %+v, the reply has %q", got, h.theReply().Receipts)
	}
}

// Watchers are told of a committed reply with its text and what it answers.
func TestACommittedReplyIsTold(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.human("hello")
	h.settle()
	i := slices.IndexFunc(h.events, func(e engine.Event) bool { return e.Kind == turn.KindReplyCommitted })
	if i < 0 {
		t.Fatal("nothing is told")
	}
	if e := h.events[i]; e.ReplyID != "c/2" || e.Text != "hello" || !slices.Equal(e.Covers, []string{"m"}) || e.Author != turn.ReplyHuman {
		t.Errorf("told %+v", e)
	}
}

// Only so many replies of people wait to be sent.
func TestTooManyRepliesOfPeople(t *testing.T) {
	h := newHarness(t)
	for i := range 200 {
		h.submit(fmt.Sprint(i), engine.Request{Op: engine.HumanReply, Body: store.Body{Text: "hello"}})
		h.settle()
		if err := h.answers[fmt.Sprint(i)].Err; err != nil {
			if !errors.Is(err, engine.ErrTooMany) || i < 100 || h.answers[fmt.Sprint(i)].MessageID != "" {
				t.Errorf("number %d is answered %+v", i, h.answers[fmt.Sprint(i)])
			}
			return
		}
	}
	t.Error("none is refused")
}

// A text stands in for the reply of a turn that failed, and another one where the model
// refused all that waited.
func TestATextStandsInForAReply(t *testing.T) {
	for text, test := range map[string]struct {
		fault  turn.Fault
		author string
	}{"sorry": {turn.Rejected, turn.ReplyFallback}, "not this": {turn.Refused, turn.ReplyRefusal}} {
		h := newHarness(t, func(o *engine.Options) {
			b := o.Bots["bot"]
			b.Policy.Fallback, b.Policy.Refusal, b.Fallback, b.Refusal = true, true, "sorry", "not this"
			o.Bots["bot"] = b
		})
		h.respond(h.started("m"), engine.Response{Fault: test.fault, Reason: "no"})
		e := h.theReply()
		if e.Status != turn.ReplyCommitted || e.Text != text || !slices.Equal(e.Parts, []string{text}) || e.Author != test.author || e.Turn != 1 || e.ID != "c/1" || len(e.Covers) != 0 {
			t.Errorf("%s: the entry is %+v", test.fault, e)
		}
	}
}

// A reply that was committed although newer input existed says so, and for what version.
func TestALateReply(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) {
		b := o.Bots["bot"]
		b.Policy.OnNewInput = turn.Finish
		o.Bots["bot"] = b
	})
	s := h.started("m", "n")
	h.say("newer")
	h.settle()
	h.respond(s, engine.Response{Text: "hello"})
	if e := h.theReply(); !e.Late || e.Version != 2 || !slices.Equal(e.Covers, []string{"m", "n"}) {
		t.Errorf("the entry is %+v", e)
	}
}

// What came of a send reaches the core.
func TestWhatTheCoreIsToldOfASend(t *testing.T) {
	tests := []struct {
		result engine.SendResult
		want   turn.Event
	}{
		{engine.SendResult{}, turn.Sent{Pause: 3 * time.Second}},
		{engine.SendResult{NotSent: true}, turn.HandBack{}},
		{engine.SendResult{Err: "busy", Certain: true, After: 7 * time.Second}, turn.SendFailed{Text: "busy", After: 7 * time.Second, Jitter: 345}},
		{engine.SendResult{Err: "no", Certain: true, ForGood: true}, turn.SendFailed{Text: "no", ForGood: true, Jitter: 345}},
		{engine.SendResult{Err: "cut off"}, turn.SendUnknown{Text: "cut off", Jitter: 345}},
	}
	for _, test := range tests {
		for part := range 2 {
			h, told := newToldHarness(t, paced)
			h.respond(h.started("m"), engine.Response{Text: "all", Parts: []string{"a", "bbb", "ccc"}})
			send := asked[engine.Send](h)
			if part == 1 {
				h.sent(send, engine.SendResult{})
				h.pass(3 * time.Second)
				send = asked[engine.Send](h)
			}
			h.sent(send, test.result)
			want := reflect.New(reflect.TypeOf(test.want)).Elem()
			want.Set(reflect.ValueOf(test.want))
			want.FieldByName("Nonce").SetString(send.Lease.Nonce)
			if p := want.FieldByName("Part"); p.IsValid() {
				p.SetInt(int64(part))
			}
			got := (*told)[len(*told)-1]
			if !reflect.DeepEqual(got, want.Interface()) {
				t.Errorf("%+v: the core is told %#v, want %#v", test.result, got, want.Interface())
			}
			said := len(*told)
			h.sent(send, engine.SendResult{}) // a second result
			if len(*told) != said {
				t.Errorf("a second result of a send is told: %#v", (*told)[said:])
			}
		}
	}
}

// A send whose lease another node has taken is told to stop with the next renewal.
func TestALostLeaseStopsTheSend(t *testing.T) {
	h := newHarness(t)
	h.respond(h.started("m"), engine.Response{Text: "hello"})
	send := asked[engine.Send](h)
	h.other("c", turn.Wake{Holder: "other", Nonce: "other", Alone: true})
	h.pass(lease/3 + time.Millisecond)
	if stop := asked[engine.Stop](h); stop.Key != send.Key || stop.Nonce != send.Lease.Nonce || stop.Reason != "lease_lost" || count[engine.Stop](h) != 0 {
		t.Errorf("stopped %+v", stop)
	}
	h.sent(send, engine.SendResult{})
	if h.node.Working() != 0 {
		t.Errorf("%d at work", h.node.Working())
	}
}

// Where the store's clock was set back, a pause of the whole bot and the lease of a send
// last as long as they would have.
func TestTheClockIsSetBackDuringASend(t *testing.T) {
	h := newHarness(t)
	h.respond(h.started("m"), engine.Response{Text: "hello"})
	send := asked[engine.Send](h)
	h.now = h.now.Add(-5 * time.Minute)
	h.tick(h.now)
	h.pass(lease / 2)
	if left := h.record().Lease.Expires.Sub(h.now); left > lease {
		t.Errorf("its lease ends in %v", left)
	}
	h.sent(send, engine.SendResult{Err: "busy", Certain: true, After: 20 * time.Second, WholeBot: true})
	h.now = h.now.Add(-5 * time.Minute)
	h.tick(h.now)
	h.submit("d", engine.Request{Key: keyOf("d"), Op: engine.Receive, ID: "d", Body: store.Body{Text: "d"}})
	h.pass(time.Second)
	h.respond(asked[engine.Start](h), engine.Response{Text: "hello d"})
	h.pass(18 * time.Second)
	if n := count[engine.Send](h); n != 0 {
		t.Errorf("%d sends before the end of the pause", n)
	}
	h.pass(2 * time.Second)
	if send := asked[engine.Send](h); send.Key != keyOf("d") {
		t.Errorf("sends to %v", send.Key)
	}
}

// readTogether has what follows read and applied together, by one write.
func (h *harness) readTogether(do func()) {
	h.fault = func(w store.Write) (store.Result, error) {
		h.fault = nil
		return store.Result{Status: store.Conflict, Current: store.Snapshot{Op: w.Expect}}, nil // out of date: it reads
	}
	h.together(do)
}

// A report finds the reply as the write before it leaves it.
func TestAReportMeetsWhatIsSettledJustNow(t *testing.T) {
	report := func(h *harness, name string, receipt turn.Receipt) {
		h.submit(name, engine.Request{Op: engine.Report, Turn: 1, Receipt: receipt, Reason: "gone"})
	}
	t.Run("its send ends", func(t *testing.T) {
		h := newHarness(t)
		h.human("hello")
		h.pass(time.Second)
		send := asked[engine.Send](h)
		h.readTogether(func() {
			h.node.SendEnded(h.now, engine.SendResult{Key: send.Key, Nonce: send.Lease.Nonce, Entry: send.Entry})
			report(h, "report", turn.ReceiptFailed)
		})
		if got := h.answers["report"]; got.Outcome != turn.Done || h.theReply().Status != turn.ReplyFailed {
			t.Errorf("answered %+v, the reply is %s", got, h.theReply().Status)
		}
	})
	t.Run("another report", func(t *testing.T) {
		h := newHarness(t)
		h.answered("hello", "m")
		h.readTogether(func() { report(h, "first", turn.ReceiptDelivered); report(h, "second", turn.ReceiptDelivered) })
		if first, second := h.answers["first"], h.answers["second"]; first.Outcome != turn.Done || second.Reason != turn.NothingNew {
			t.Errorf("answered %+v and %+v", first, second)
		}
	})
}

// A report whose first write was applied without its knowing is done.
func TestAReportWhoseAnswerWasLost(t *testing.T) {
	h := newHarness(t)
	h.answered("hello", "m")
	h.losesAnswer(func() {
		h.other("c", turn.Typing{For: time.Minute}, turn.Message{})
	})
	if got := h.report("first", 0, turn.ReceiptRead); got.Outcome != turn.Done || got.Reason != "" || got.Err != nil {
		t.Errorf("the first: %+v", got)
	}
	if got := h.report("again", 0, turn.ReceiptRead); got.Outcome != turn.Ignored || got.Reason != turn.NothingNew {
		t.Errorf("once more: %+v", got)
	}
}

// The entry of a reply has to be known where its end has something to record in it.
func TestWhichRepliesNeedTheirEntry(t *testing.T) {
	for name, test := range map[string]struct {
		reply *turn.Reply
		want  bool
	}{
		"none":                       {nil, false},
		"nothing of it is sent":      {&turn.Reply{Parts: 2}, false},
		"a part of it is":            {&turn.Reply{Parts: 2, Done: 1}, true},
		"its channel reported":       {&turn.Reply{Parts: 1, Receipts: turn.Receipts{turn.ReceiptDelivered}}, true},
		"it is sent again":           {&turn.Reply{Parts: 1, Kind: turn.ReplyResend}, true},
		"a person's, nothing of it":  {&turn.Reply{Parts: 1, Kind: turn.ReplyHuman}, false},
		"a person's, a part is sent": {&turn.Reply{Parts: 2, Done: 1, Kind: turn.ReplyHuman}, true},
	} {
		if got := engine.NeedsEntry(turn.Record{Reply: test.reply}); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
