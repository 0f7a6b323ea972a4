package engine_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// start is the time at which each test begins.
const start turn.Time = 1_000_000

// lease is that of every bot, unless a test says otherwise.
const lease = 30 * time.Second

// harness drives a node: it tells it what happened, and looks at what it
// asks for. What it asks of the store is carried out by settle, on a real store
// in memory; the rest waits for the test to take it.
type harness struct {
	t       *testing.T
	node    *engine.Node
	store   *memory.Store
	now     turn.Time
	out     []engine.Output
	answers map[string]engine.Result
	events  []engine.Event
	writes  int      // that were tried
	calls   []string // of the store for the conversation "c", but for those of an attempt
	fault   func(store.Write) (store.Result, error)
	unread  error       // what reading the store gives
	policy  turn.Policy // that of other nodes
}

func policy() turn.Policy {
	return turn.Policy{
		Debounce: time.Second, MaxWait: 5 * time.Second, MaxDiscards: 2, Lease: lease,
		MaxAttempts: 3, RetryFor: time.Hour, MediaWait: 10 * time.Second,
	}
}

// newHarness is a node with one bot, "bot".
func newHarness(t *testing.T, changes ...func(*engine.Options)) *harness {
	t.Helper()
	return newHarnessOn(t, memory.New(), start, changes...)
}

// newHarnessOn is one more node, on a store that others may use.
func newHarnessOn(t *testing.T, s *memory.Store, now turn.Time, changes ...func(*engine.Options)) *harness {
	t.Helper()
	o := engine.Options{
		Name: t.Name(), MaxGenerations: 4, NewOp: newOps(), Random: func() uint64 { return 0 },
		Bots: map[string]engine.Bot{"bot": {Policy: policy(), History: 10}},
	}
	for _, change := range changes {
		change(&o)
	}
	h := &harness{t: t, node: engine.New(o), store: s, now: now, answers: map[string]engine.Result{}, policy: o.Bots["bot"].Policy}
	h.node.Start(h.now)
	h.settle()
	return h
}

var opPrefix uint64

// newOps makes ids that differ between the nodes of a test.
func newOps() func() store.Op {
	opPrefix++
	prefix, count := opPrefix, uint64(0)
	return func() (op store.Op) {
		count++
		binary.BigEndian.PutUint64(op[:8], prefix)
		binary.BigEndian.PutUint64(op[8:], count)
		return op
	}
}

func keyOf(conversation string) store.Key { return store.Key{Bot: "bot", Conversation: conversation} }

// submit hands a request over; its ticket is its name.
func (h *harness) submit(name string, r engine.Request) {
	if r.Key == (store.Key{}) {
		r.Key = keyOf("c")
	}
	r.Ticket = name
	h.node.Submit(h.now, &r)
	h.collect()
}

// say submits messages of the conversation "c" whose text is their id.
func (h *harness) say(ids ...string) {
	for _, id := range ids {
		h.submit(id, engine.Request{Op: engine.Receive, ID: id, Body: store.Body{Text: id}})
	}
}

// collect sorts what the node asks for.
func (h *harness) collect() {
	for _, output := range h.node.Take() {
		switch o := output.(type) {
		case engine.Answer:
			h.answers[o.Ticket.(string)] = o.Result
		case engine.Tell:
			h.events = append(h.events, *o.Event)
		default:
			h.out = append(h.out, o)
		}
	}
}

// asked takes the oldest output of a kind, and fails where there is none.
func asked[T engine.Output](h *harness) T {
	h.t.Helper()
	for i, output := range h.out {
		if o, ok := output.(T); ok {
			h.out = slices.Delete(h.out, i, i+1)
			return o
		}
	}
	var none T
	h.t.Fatalf("the node did not ask for a %T; it asked for %T", none, h.out)
	return none
}

// count is how many outputs of a kind wait to be taken.
func count[T engine.Output](h *harness) int {
	n := 0
	for _, output := range h.out {
		if _, ok := output.(T); ok {
			n++
		}
	}
	return n
}

// settle carries out all that is asked of the store, until nothing is.
func (h *harness) settle() {
	h.collect()
	for i := 0; i < len(h.out); i++ {
		if call := h.call(h.out[i]); call != nil {
			h.out = slices.Delete(h.out, i, i+1)
			call()
			h.collect()
			i = -1
		}
	}
}

// call is what carries out an output that is asked of the store, or nil.
func (h *harness) call(output engine.Output) func() {
	ctx := context.Background()
	switch o := output.(type) {
	case engine.Hint:
		return func() {}
	case engine.Load:
		return func() { h.node.Loaded(h.now, h.load(o)) }
	case engine.Commit:
		return func() {
			result, err := h.write(*o.Write)
			h.node.Committed(h.now, o.Write.Key, result, err)
		}
	case engine.Delete:
		return func() { h.node.Deleted(h.now, o.Key, h.store.Delete(ctx, o.Key)) }
	case engine.Claim:
		return func() {
			found, err := h.store.Claim(ctx, h.now, o.Limit, o.Hold, o.Bots...)
			h.node.Claimed(h.now, found, err)
		}
	case engine.Recover:
		return func() {
			found, err := h.store.Due(ctx, o.Until, o.Limit)
			h.node.Recovered(h.now, found, err)
		}
	case engine.ReadPrompt:
		return func() {
			waiting := h.entries(o.Key, store.EntryQuery{After: o.AfterSeq, Status: turn.InputPending})
			h.node.PromptRead(h.now, o.Key, o.Nonce, waiting, h.entries(o.Key, store.EntryQuery{After: o.FreshAfter}), h.unread)
		}
	}
	return nil
}

func (h *harness) load(o engine.Load) engine.LoadResult {
	h.calls = append(h.calls, "load")
	result := engine.LoadResult{Key: o.Key, Err: h.unread}
	result.Snapshot, _ = h.store.Load(context.Background(), o.Key)
	for _, id := range o.IDs {
		result.Messages = append(result.Messages, h.entries(o.Key, store.EntryQuery{ID: id})...)
	}
	for _, e := range h.entries(o.Key, store.EntryQuery{}) {
		if e.ReplyTo != nil && slices.Contains(o.Quoting, e.ReplyTo.ID) {
			result.Quoting = append(result.Quoting, e)
		}
	}
	for _, number := range o.Turns {
		for _, e := range h.entries(o.Key, store.EntryQuery{}) {
			if e.Kind == store.Reply && e.Turn == number {
				result.Replies = append(result.Replies, e)
			}
		}
	}
	if engine.NeedsEntry(result.Snapshot.Record) {
		for _, e := range h.entries(o.Key, store.EntryQuery{}) {
			if e.Seq == result.Snapshot.Record.Reply.Seq {
				result.Reply = &e
			}
		}
	}
	if o.Pending {
		result.Pending = h.entries(o.Key, store.EntryQuery{Status: turn.InputPending})
	}
	if o.Early {
		result.Early = h.entries(o.Key, store.EntryQuery{Status: turn.InputEarly})
	}
	return result
}

// write carries out a write, and checks what every write must keep.
func (h *harness) write(w store.Write) (store.Result, error) {
	h.t.Helper()
	h.writes++
	h.calls = append(h.calls, "commit")
	if err := turn.Check(w.Record); err != nil {
		h.t.Errorf("a record that breaks a rule is written: %v", err)
	}
	if at, _ := w.Record.Wake(); at != w.Timer {
		h.t.Errorf("a write sets the timer to %d, its record wants %d", w.Timer, at)
	}
	if h.fault != nil {
		return h.fault(w)
	}
	return h.store.Commit(context.Background(), w)
}

// losesAnswer has the next write applied and its answer lost, after whatever happens then.
func (h *harness) losesAnswer(then func()) {
	h.fault = func(w store.Write) (store.Result, error) {
		h.fault = nil
		h.store.Commit(context.Background(), w)
		then()
		return store.Result{}, store.ErrUnknown
	}
}

func (h *harness) entries(key store.Key, q store.EntryQuery) []store.Entry {
	found, _, err := h.store.Entries(context.Background(), key, q)
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

// record is what the store holds of the conversation "c".
func (h *harness) record() turn.Record { return h.recordOf("c") }

func (h *harness) recordOf(conversation string) turn.Record {
	h.t.Helper()
	snapshot, err := h.store.Load(context.Background(), keyOf(conversation))
	if err != nil {
		h.t.Fatal(err)
	}
	return snapshot.Record
}

// tick lets time come to pass, and checks that the node does not ask to be
// looked at again in the same instant, for ever.
func (h *harness) tick(now turn.Time) {
	h.t.Helper()
	h.now = now
	for range 100 {
		h.node.Tick(h.now)
		h.settle()
		if next := h.node.NextTick(); next == 0 || next > h.now {
			return
		}
	}
	h.t.Fatalf("at %d the node wants to be looked at over and over: next %d", h.now, h.node.NextTick())
}

// pass lets time go by, tick by tick as the node asks for it.
func (h *harness) pass(d time.Duration) {
	h.t.Helper()
	h.settle()
	end := h.now.Add(d)
	for {
		next := h.node.NextTick()
		if next == 0 || next > end {
			break
		}
		h.tick(max(next, h.now))
	}
	h.now = end
	h.tick(end)
}

// started lets a message become an attempt, and takes it.
func (h *harness) started(ids ...string) engine.Start {
	h.t.Helper()
	h.say(ids...)
	h.pass(time.Second)
	return asked[engine.Start](h)
}

// respond returns a text for an attempt.
func (h *harness) respond(s engine.Start, r engine.Response) {
	r.Key, r.Nonce = s.Key, s.Lease.Nonce
	h.node.Responded(h.now, r)
	h.settle()
}

// sent ends a send.
func (h *harness) sent(s engine.Send, r engine.SendResult) {
	r.Key, r.Nonce, r.Part = s.Key, s.Lease.Nonce, s.Reply.Done
	if r.Entry = s.Entry; r.Entry == nil {
		r.Entry = &h.entries(s.Key, store.EntryQuery{After: s.Reply.Seq - 1, Limit: 1})[0]
	}
	h.node.SendEnded(h.now, r)
	h.settle()
}

// answered brings a reply to the conversation "c" all the way.
func (h *harness) answered(text string, ids ...string) {
	h.t.Helper()
	h.respond(h.started(ids...), engine.Response{Text: text})
	h.sent(asked[engine.Send](h), engine.SendResult{})
}

// replied is the texts of what was said, by status.
func (h *harness) replied(status turn.Status) string {
	var texts []string
	for _, e := range h.entries(keyOf("c"), store.EntryQuery{Status: status}) {
		if e.Kind == store.Reply {
			texts = append(texts, e.Text)
		}
	}
	return strings.Join(texts, " | ")
}

// other lets another node write to a conversation behind this one's back.
func (h *harness) other(conversation string, events ...turn.Event) {
	h.t.Helper()
	for i, event := range events {
		before, _ := h.store.Load(context.Background(), keyOf(conversation))
		record, effects := turn.Step(before.Record, event, h.now, h.policy)
		w := store.Write{Key: keyOf(conversation), Expect: before.Op, Op: newOps()(), Record: record, Settle: effects.Settles, At: h.now}
		w.Timer, _ = record.Wake()
		if effects.AppendInput {
			id := fmt.Sprintf("other%d", i+1)
			w.Append = []store.Entry{{Seq: record.Seq, Kind: store.Message, ID: id, Status: turn.InputPending, Version: record.Version, Body: store.Body{Text: id}}}
		}
		if result, err := h.store.Commit(context.Background(), w); err != nil || result.Status != store.OK {
			h.t.Fatalf("the other node's write: %v, %v", result, err)
		}
	}
}

func texts(entries []store.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Text)
	}
	return strings.Join(all, " ")
}

// step carries out the next call of the store, but for the reading of prompts,
// and reports whether something was asked for.
func (h *harness) step() bool {
	h.collect()
	for i, output := range h.out {
		if _, ok := output.(engine.ReadPrompt); ok {
			return true
		}
		if call := h.call(output); call != nil {
			h.out = slices.Delete(h.out, i, i+1)
			call()
			h.collect()
			return true
		}
	}
	return false
}
