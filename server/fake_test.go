package server

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply"
)

var _ App = (*onereply.App)(nil)

// fakeApp remembers the last call and answers with what the test has put in.
type fakeApp struct {
	err       error
	receipt   onereply.Receipt
	state     onereply.State
	entries   onereply.TranscriptPage
	list      onereply.ConversationPage
	line      onereply.Timeline
	stats     onereply.Stats
	audit     []onereply.AuditEntry
	overview  onereply.Overview
	attention onereply.AttentionPage
	actor     onereply.Actor // of the last action
	events    chan onereply.Event
	hook      func(context.Context) // runs within Receive

	watching atomic.Int64 // subscriptions that were not stopped

	mu   sync.Mutex
	gone map[string]time.Time // what was revoked, and until when
	last call
	bots []string // of the last list
	n    int
}

// call is one call of the App.
type call struct {
	name         string
	bot          string
	conversation string
	argument     any
}

func newFakeApp() *fakeApp {
	now := onereply.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	return &fakeApp{
		receipt: onereply.Receipt{Outcome: onereply.OutcomeQueued},
		state:   onereply.State{Phase: onereply.PhaseIdle},
		events:  make(chan onereply.Event, 16),
		// As the library answers: no time is missing, and no list is nil.
		line: onereply.Timeline{Now: now, Turns: []onereply.TimelineTurn{}},
		overview: onereply.Overview{
			Now: now, Nodes: []onereply.NodeInfo{}, Minutes: []onereply.MinuteTally{},
			TimeToReply: onereply.Histogram{Bounds: []float64{}, Counts: []uint64{}},
		},
	}
}

func (f *fakeApp) record(name, bot, conversation string, argument any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = call{name, bot, conversation, argument}
	f.n++
}

// acts remembers who acts.
func (f *fakeApp) acts(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.actor, _ = onereply.ActorOf(ctx)
}

// lists remembers which bots a list is of.
func (f *fakeApp) lists(bots []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bots = bots
}

// asked is which bots the last call was about.
func (f *fakeApp) asked() (bot string, bots []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last.bot, f.bots
}

func (f *fakeApp) lastCall() call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *fakeApp) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

func (f *fakeApp) Receive(ctx context.Context, bot, conversation string, m onereply.Message) (onereply.Receipt, error) {
	f.record("receive", bot, conversation, m)
	if f.hook != nil {
		f.hook(ctx)
	}
	return f.receipt, f.err
}

func (f *fakeApp) Edit(_ context.Context, bot, conversation, id string, c onereply.Edit) (onereply.Receipt, error) {
	text := "unchanged"
	if c.Text != nil {
		text = *c.Text
	}
	f.record("edit", bot, conversation, id+"="+text)
	return f.receipt, f.err
}

func (f *fakeApp) Retract(_ context.Context, bot, conversation, id string) (onereply.Receipt, error) {
	f.record("retract", bot, conversation, id)
	return f.receipt, f.err
}

func (f *fakeApp) Typing(_ context.Context, bot, conversation string, d time.Duration) error {
	f.record("typing", bot, conversation, d)
	return f.err
}

func (f *fakeApp) Flush(ctx context.Context, bot, conversation string) (onereply.State, error) {
	f.acts(ctx)
	f.record("flush", bot, conversation, nil)
	return f.state, f.err
}

func (f *fakeApp) Pause(ctx context.Context, bot, conversation string, p onereply.Pause) (onereply.State, error) {
	f.acts(ctx)
	f.record("pause", bot, conversation, p)
	return f.state, f.err
}

func (f *fakeApp) Move(ctx context.Context, bot, conversation, to string) (onereply.State, error) {
	f.acts(ctx)
	f.record("move", bot, conversation, to)
	return f.state, f.err
}

func (f *fakeApp) SetAlias(ctx context.Context, bot, alias, conversation string) (onereply.NamedConversation, error) {
	f.acts(ctx)
	f.record("set alias", bot, alias, conversation)
	return onereply.NamedConversation{Alias: alias, Conversation: conversation}, f.err
}

func (f *fakeApp) Alias(_ context.Context, bot, alias string) (onereply.NamedConversation, error) {
	f.record("alias", bot, alias, nil)
	return onereply.NamedConversation{Alias: alias, Conversation: "c1"}, f.err
}

func (f *fakeApp) RemoveAlias(ctx context.Context, bot, alias string) error {
	f.acts(ctx)
	f.record("remove alias", bot, alias, nil)
	return f.err
}

func (f *fakeApp) Reset(ctx context.Context, bot, conversation, reason string) (onereply.State, error) {
	f.acts(ctx)
	f.record("reset", bot, conversation, reason)
	return f.state, f.err
}

func (f *fakeApp) Resume(ctx context.Context, bot, conversation string, answerPending bool) (onereply.State, error) {
	f.acts(ctx)
	f.record("resume", bot, conversation, answerPending)
	return f.state, f.err
}

func (f *fakeApp) Answer(ctx context.Context, bot, conversation string, r onereply.HumanReply) (onereply.Receipt, error) {
	f.acts(ctx)
	f.record("answer", bot, conversation, r)
	return f.receipt, f.err
}

func (f *fakeApp) ReportReply(_ context.Context, bot, conversation string, turn int64, r onereply.ReplyReport) (onereply.Receipt, error) {
	f.record("report", bot, conversation, fmt.Sprintf("%d %+v", turn, r))
	return f.receipt, f.err
}

func (f *fakeApp) Requeue(ctx context.Context, bot, conversation string) (onereply.State, error) {
	f.acts(ctx)
	f.record("requeue", bot, conversation, nil)
	return f.state, f.err
}

func (f *fakeApp) Resend(ctx context.Context, bot, conversation string, turn int64) (onereply.State, error) {
	f.acts(ctx)
	f.record("resend", bot, conversation, turn)
	return f.state, f.err
}

func (f *fakeApp) MarkSent(ctx context.Context, bot, conversation string, turn int64) (onereply.State, error) {
	f.acts(ctx)
	f.record("mark sent", bot, conversation, turn)
	return f.state, f.err
}

func (f *fakeApp) Timeline(_ context.Context, bot, conversation string, q onereply.TimelineQuery) (onereply.Timeline, error) {
	f.record("timeline", bot, conversation, q)
	return f.line, f.err
}

func (f *fakeApp) Seal(_ context.Context, bot, conversation string, token int64) error {
	f.record("seal", bot, conversation, token)
	return f.err
}

func (f *fakeApp) State(_ context.Context, bot, conversation string) (onereply.State, error) {
	f.record("state", bot, conversation, nil)
	return f.state, f.err
}

func (f *fakeApp) Transcript(_ context.Context, bot, conversation string, after int64, limit int) (onereply.TranscriptPage, error) {
	f.record("transcript", bot, conversation, [2]int64{after, int64(limit)})
	return f.entries, f.err
}

func (f *fakeApp) TranscriptBefore(_ context.Context, bot, conversation string, before int64, limit int) (onereply.TranscriptPage, error) {
	f.record("transcript before", bot, conversation, [2]int64{before, int64(limit)})
	return f.entries, f.err
}

func (f *fakeApp) Overview(context.Context) (onereply.Overview, error) {
	f.record("overview", "", "", nil)
	return f.overview, f.err
}

func (f *fakeApp) Attention(_ context.Context, q onereply.AttentionQuery) (onereply.AttentionPage, error) {
	f.lists(q.Bots)
	f.record("attention", q.Bot, "", q)
	return f.attention, f.err
}

func (f *fakeApp) Conversations(_ context.Context, q onereply.ConversationQuery) (onereply.ConversationPage, error) {
	f.lists(q.Bots)
	f.record("conversations", q.Bot, "", q)
	return f.list, f.err
}

func (f *fakeApp) Forget(ctx context.Context, bot, conversation string) error {
	f.acts(ctx)
	f.record("forget", bot, conversation, nil)
	return f.err
}

func (f *fakeApp) Audit(_ context.Context, q onereply.AuditQuery) ([]onereply.AuditEntry, error) {
	f.lists(q.Bots)
	f.record("audit", q.Bot, q.Conversation, q.Limit)
	return f.audit, f.err
}

func (f *fakeApp) Revoke(id string, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone == nil {
		f.gone = map[string]time.Time{}
	}
	f.gone[id] = until
}

func (f *fakeApp) Revoked(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, gone := f.gone[id]
	return gone
}

// Subscribe is not reached: see newWatched.
func (f *fakeApp) Subscribe(onereply.EventQuery) *onereply.Subscription { return nil }

// newWatched makes a server whose streams show what the test sends to
// app.events: only an App itself can make a Subscription.
func newWatched(app *fakeApp, options Options) *Server {
	s := New(app, options)
	s.subscribe = func(q onereply.EventQuery) (<-chan onereply.Event, func()) {
		app.record("subscribe", q.Bot, q.Conversation, q.After)
		app.watching.Add(1)
		return app.events, func() { app.watching.Add(-1) }
	}
	return s
}

func (f *fakeApp) Ready(context.Context) error { return f.err }
func (f *fakeApp) Bots() []string              { return []string{"support", "größe/1"} }
func (f *fakeApp) Stats() onereply.Stats       { return f.stats }
