package engine_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// prompted is the prompt that a node makes of the entries that it reads.
func prompted(t *testing.T, waiting, tail []store.Entry, history int) engine.Prompt {
	t.Helper()
	return observing(t, waiting, tail, history, 0)
}

// observing is the same for a bot that observes a group.
func observing(t *testing.T, waiting, tail []store.Entry, history, observe int) engine.Prompt {
	t.Helper()
	h := newHarness(t, func(o *engine.Options) {
		b := o.Bots["bot"]
		b.History, b.Observe = history, observe
		o.Bots["bot"] = b
	})
	h.say("m")
	h.settle()
	h.now = h.now.Add(time.Second)
	h.node.Tick(h.now)
	for h.step() && count[engine.ReadPrompt](h) == 0 {
	}
	read := asked[engine.ReadPrompt](h)
	h.node.PromptRead(h.now, read.Key, read.Nonce, waiting, tail, nil)
	h.settle()
	return asked[engine.Start](h).Prompt
}

// waits is a message that waits, as the attempt over version 1 finds it.
func waits(text string, sentAt turn.Time) store.Entry {
	return store.Entry{Kind: store.Message, Status: turn.InputPending, Version: 1, Body: store.Body{Text: text, SentAt: sentAt}}
}

// Messages stand in the order in which they were sent; those that do not say
// keep their slots.
func TestOrderOfThePrompt(t *testing.T) {
	tests := map[string][]store.Entry{
		"a b c": {waits("a", 0), waits("b", 0), waits("c", 0)},
		"b c a": {waits("a", 30), waits("b", 10), waits("c", 20)},
		"a c b": {waits("a", 0), waits("b", 20), waits("c", 10)},
		"c b a": {waits("a", 20), waits("b", 0), waits("c", 10)},
		"d a b": {waits("a", 10), waits("b", 10), waits("d", 5)},
	}
	for want, messages := range tests {
		if got := texts(prompted(t, messages, nil, 0).Messages); got != want {
			t.Errorf("the prompt reads %q, want %q", got, want)
		}
	}
}

func TestThePromptIsAsOfTheAttemptsStart(t *testing.T) {
	later := waits("accepted later", 0)
	later.Version = 2
	edited := waits("as it is", 0)
	edited.Version, edited.Was = 2, &store.Was{Version: 1, Text: "as it was"}
	editedBefore := waits("fresh", 0)
	editedBefore.Was = &store.Was{Version: 1, Text: "old"}
	twice := waits("as it is", 0)
	twice.Version, twice.Was = 3, &store.Was{Version: 2, Text: "in between"}
	gone := waits("", 0)
	gone.Status = turn.InputDeleted
	got := prompted(t, []store.Entry{later, edited, editedBefore, twice, gone}, nil, 0)
	if texts(got.Messages) != "as it was fresh" {
		t.Errorf("the prompt reads %q", texts(got.Messages))
	}
}

// The history is what a person saw, in the order of the replies.
func TestHistory(t *testing.T) {
	message := func(seq int64, text string, status turn.Status, reply int64) store.Entry {
		return store.Entry{Seq: seq, Kind: store.Message, Status: status, ReplySeq: reply, Body: store.Body{Text: text}}
	}
	reply := func(seq int64, text string, status turn.Status, delivered int) store.Entry {
		return store.Entry{Seq: seq, Kind: store.Reply, Status: status, Body: store.Body{Text: text, Parts: strings.Split(text, ","), Delivered: delivered}}
	}
	tests := map[string]struct {
		tail  []store.Entry
		limit int
		want  string
	}{
		"a question and its answer": {[]store.Entry{message(1, "q", turn.InputAnswered, 2), reply(2, "A", turn.ReplySent, 0)}, 9, "q A"},
		"a message accepted before the reply that it is not part of": {
			[]store.Entry{
				message(1, "q1", turn.InputAnswered, 3), message(2, "q2", turn.InputAnswered, 4),
				reply(3, "A1", turn.ReplySent, 0), reply(4, "A2", turn.ReplySent, 0),
			}, 9, "q1 A1 q2 A2",
		},
		"messages in the order of their prompt": {
			[]store.Entry{
				{Seq: 1, Kind: store.Message, ID: "m1", Status: turn.InputAnswered, ReplySeq: 3, Body: store.Body{Text: "second"}},
				{Seq: 2, Kind: store.Message, ID: "m2", Status: turn.InputAnswered, ReplySeq: 3, Body: store.Body{Text: "first"}},
				{Seq: 3, Kind: store.Reply, Status: turn.ReplySent, Body: store.Body{Text: "A", Covers: []string{"m2", "m1"}}},
			}, 9, "first second A",
		},
		"what did not reach anybody": {
			[]store.Entry{
				reply(1, "withdrawn", turn.ReplyWithdrawn, 0), reply(2, "undelivered", turn.ReplyFailed, 0), reply(3, "unknown", turn.ReplyUnknown, 0),
				reply(4, "on its way", turn.ReplyCommitted, 0), reply(5, "partial", turn.ReplyPartial, 0),
			}, 9, "",
		},
		"a part of an unknown one": {[]store.Entry{reply(1, "one,two,three", turn.ReplyUnknown, 1)}, 9, "one"},
		"the parts before one that its channel reported later": {
			[]store.Entry{func() store.Entry {
				e := reply(1, "one,two,three", turn.ReplyFailed, 0)
				e.Receipts = turn.Receipts{turn.NoReceipt, turn.NoReceipt, turn.ReceiptFailed}
				return e
			}()}, 9, "one\ntwo",
		},
		"a part of it":                {[]store.Entry{reply(1, "one,two,three", turn.ReplyPartial, 2)}, 9, "one\ntwo"},
		"what nobody answered":        {[]store.Entry{reply(1, "A", turn.ReplySent, 0), message(2, "closed", turn.InputClosed, 0)}, 9, "A closed"},
		"what was closed before":      {[]store.Entry{message(1, "closed", turn.InputClosed, 0), reply(2, "A", turn.ReplySent, 0)}, 9, "closed A"},
		"a reply that did not arrive": {[]store.Entry{message(1, "q", turn.InputAnswered, 2), reply(2, "A", turn.ReplyUnknown, 0)}, 9, "q"},
		"unanswered ones are at most half": {
			[]store.Entry{
				message(1, "q1", turn.InputAnswered, 2), reply(2, "A1", turn.ReplySent, 0), message(3, "q2", turn.InputAnswered, 4), reply(4, "A2", turn.ReplySent, 0),
				message(5, "c1", turn.InputClosed, 0), message(6, "c2", turn.InputClosed, 0), message(7, "c3", turn.InputClosed, 0),
			}, 4, "q2 A2 c2 c3",
		},
		"unanswered ones leave room for all that was said": {
			[]store.Entry{message(1, "q", turn.InputAnswered, 2), reply(2, "A", turn.ReplySent, 0), message(3, "c", turn.InputClosed, 0)}, 3, "q A c",
		},
		"what waits or failed":      {[]store.Entry{message(1, "p", turn.InputPending, 0), message(2, "f", turn.InputFailed, 0), reply(3, "A", turn.ReplySent, 0)}, 9, "A"},
		"no more than is asked for": {[]store.Entry{message(1, "q", turn.InputAnswered, 2), reply(2, "A", turn.ReplySent, 0)}, 1, "A"},
	}
	for name, test := range tests {
		if got := texts(prompted(t, []store.Entry{waits("m", 0)}, test.tail, test.limit).History); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Context stands where it was accepted. What was not meant for the bot has a bound of its
// own, and is shown also where there is no history.
func TestContextInTheHistory(t *testing.T) {
	message := func(seq int64, text string, status turn.Status, reason string) store.Entry {
		return store.Entry{Seq: seq, Kind: store.Message, Status: status, Reason: reason, ReplySeq: 3, Body: store.Body{Text: text}}
	}
	tail := []store.Entry{
		message(1, "o1", turn.InputContext, turn.NotAddressed), message(2, "q", turn.InputAnswered, ""),
		{Seq: 3, Kind: store.Reply, Status: turn.ReplySent, Body: store.Body{Text: "A", Parts: []string{"A"}}},
		message(4, "old", turn.InputContext, turn.TooOld), message(5, "o2", turn.InputContext, turn.NotAddressed),
		message(6, "known", turn.InputContext, ""), message(7, "o3", turn.InputContext, turn.NotAddressed), message(8, "closed", turn.InputClosed, ""),
	}
	tests := []struct {
		history, observe int
		want             string
	}{
		{20, 9, "o1 q A old o2 known o3 closed"},
		{20, 2, "q A old o2 known o3 closed"},
		{20, 0, "q A old known closed"},
		{4, 1, "q A known o3 closed"},
		{0, 9, "o2 o3"},
		{0, 1, "o3"},
	}
	for _, test := range tests {
		if got := texts(observing(t, []store.Entry{waits("m", 0)}, tail, test.history, test.observe).History); got != test.want {
			t.Errorf("%d of history, %d observed: %q, want %q", test.history, test.observe, got, test.want)
		}
	}
}

// What was deleted does not come back as a quote.
func TestAQuoteOfADeletedMessageHasNoText(t *testing.T) {
	quoting := func(id string) store.Entry {
		e := waits("m", 0)
		e.ReplyTo = &store.Quote{ID: id, Text: "secret", Sender: store.Sender{ID: "1"}}
		return e
	}
	gone := store.Entry{Seq: 1, Kind: store.Message, ID: "gone", Status: turn.InputDeleted}
	got := prompted(t, []store.Entry{quoting("gone"), quoting("there")}, []store.Entry{gone}, 9).Messages
	if q := *got[0].ReplyTo; q != (store.Quote{ID: "gone"}) {
		t.Errorf("the quote of a deleted message is %+v", q)
	}
	if got[1].ReplyTo.Text != "secret" {
		t.Errorf("another quote is %+v", *got[1].ReplyTo)
	}
}

// A message that is settled while its prompt is read stands in the prompt once.
func TestAMessageThatIsSettledBetweenTheReadsIsNoHistory(t *testing.T) {
	asked := waits("m", 0)
	asked.Seq = 1
	closed := asked
	closed.Status = turn.InputClosed
	if got := prompted(t, []store.Entry{asked}, []store.Entry{closed}, 9); texts(got.Messages) != "m" || len(got.History) > 0 {
		t.Errorf("the prompt reads %q after %q", texts(got.Messages), texts(got.History))
	}
}

// Whether the end of a transcript holds the last lines of the history, whatever stands
// before it: not where one of them may be missing.
func TestHistoryComplete(t *testing.T) {
	message := func(seq int64, id string, reply int64) store.Entry {
		return store.Entry{Seq: seq, Kind: store.Message, ID: id, Status: turn.InputAnswered, ReplySeq: reply}
	}
	reply := func(seq int64, covers ...string) store.Entry {
		return store.Entry{Seq: seq, Kind: store.Reply, Status: turn.ReplySent, Body: store.Body{Covers: covers}}
	}
	tail := []store.Entry{message(2, "b", 4), message(3, "c", 4), reply(4, "a", "b", "c"), message(5, "d", 6), reply(6, "d")}
	for _, test := range []struct {
		tail  []store.Entry
		limit int
		want  bool
	}{
		{tail, 1, true},
		{tail, 2, true},
		{tail, 3, true},
		{tail, 4, true},
		{tail, 5, true},  // a stands before the first of them
		{tail, 6, false}, // a is the next one
		{tail[1:], 3, true},
		{tail[1:], 4, true},
		{tail[1:], 5, false},
		{[]store.Entry{message(2, "a", 4), reply(4, "a", "b")}, 1, true},
		{[]store.Entry{message(2, "a", 4), reply(4, "a", "b")}, 2, false}, // b stands between the two
		{[]store.Entry{message(2, "a", 3), reply(3, "a"), reply(5, "b")}, 2, false},
	} {
		if got := engine.HistoryComplete(test.tail, test.limit, 0); got != test.want {
			t.Errorf("the last %d lines of %d entries are complete: %v", test.limit, len(test.tail), got)
		}
	}
}

// Of a reply that was given up, the history holds what was delivered, whoever
// gave it up.
func TestAReplyThatWasGivenUpHalfWay(t *testing.T) {
	tests := map[string]func(h *harness, second engine.Send){
		"the receiver": func(h *harness, s engine.Send) { h.sent(s, engine.SendResult{Err: "no", Certain: true, ForGood: true}) },
		"a pause after a failure": func(h *harness, s engine.Send) {
			h.sent(s, engine.SendResult{Err: "later", Certain: true})
			h.submit("pause", engine.Request{Op: engine.Pause})
		},
		"a pause before a failure": func(h *harness, s engine.Send) {
			h.submit("pause", engine.Request{Op: engine.Pause})
			h.settle()
			h.sent(s, engine.SendResult{Err: "later", Certain: true})
		},
	}
	for name, giveUp := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.respond(h.started("m"), engine.Response{Parts: []string{"one", "two", "three"}, Text: "all"})
			h.sent(asked[engine.Send](h), engine.SendResult{})
			giveUp(h, asked[engine.Send](h))
			h.settle()
			h.submit("resume", engine.Request{Op: engine.Resume})
			h.say("next")
			h.pass(2 * time.Second)
			if got := texts(asked[engine.Start](h).Prompt.History); got != "m one" {
				t.Errorf("the history is %q, want the part that was delivered", got)
			}
		})
	}
}

// version is the version of a message as an attempt sees it that began at the version
// through; 0: it does not see it.
func version(e store.Entry, through int64) int64 {
	switch {
	case e.Version <= through:
		return e.Version
	case e.Was != nil && e.Was.Version <= through:
		return e.Was.Version
	}
	return 0
}

// asSeen are the messages that an attempt sees, in the order of their versions.
func asSeen(entries []store.Entry, through int64) (seen []int64) {
	for _, e := range entries {
		if v := version(e, through); v != 0 {
			seen = append(seen, v)
		}
	}
	slices.SortFunc(seen, cmp.Compare)
	return seen
}

// A prompt may be made of the messages that were read first, whatever was edited: they are
// the first ones by version too. If they are not all, they are more than the prompt may
// have, so that it is never taken for one of all that waits.
func TestWhatIsReadForAPromptComesFirstByVersion(t *testing.T) {
	const most = 1000
	ended := 0 // before all was read
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 11))
		entries := make([]store.Entry, 2+random.IntN(30))
		for i := range entries {
			entries[i] = store.Entry{Seq: int64(i + 1), Kind: store.Message, Status: turn.InputPending, Version: int64(i + 1)}
			entries[i].Size = 1 + random.IntN(2*most/(1+random.IntN(20)))
			entries[i].Text = strings.Repeat("x", entries[i].Size)
		}
		last := int64(len(entries))
		for range random.IntN(len(entries)) {
			e := &entries[random.IntN(len(entries))]
			if last++; random.IntN(2) == 0 {
				e.Was = &store.Was{Version: e.Version, Text: e.Text}
			}
			e.Version, e.EditedAt = last, 1
		}
		through := 1 + random.Int64N(last)
		read := engine.ReadPrompt{Through: through, Bytes: most}
		first := entries
		for n := 1; n < len(entries); n++ {
			found, enough := read.First(slices.Clone(entries[:n]))
			if enough {
				first = found
				break
			}
		}
		got, want := asSeen(first, through), asSeen(entries, through)
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("seed %d: the versions %v are not the first of %v", seed, got, want)
		}
		size := 0
		for _, e := range first {
			if version(e, through) != 0 {
				size += e.Size
			}
		}
		if len(got) < len(want) {
			if ended++; size <= most || len(got) < 2 {
				t.Fatalf("seed %d: %d of %d messages with %d bytes look as if they were all", seed, len(got), len(want), size)
			}
		}
	}
	if ended < 500 {
		t.Errorf("only %d prompts were made of a part", ended)
	}
}
