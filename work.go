package onereply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// running is what runs outside of the loop, by the nonce of its lease, so that
// it can be stopped.
type running struct {
	mu    sync.Mutex
	stops map[string]context.CancelCauseFunc
}

func (r *running) add(nonce string, stop context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stops == nil {
		r.stops = map[string]context.CancelCauseFunc{}
	}
	r.stops[nonce] = stop
}

func (r *running) remove(nonce string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.stops, nonce)
}

func (r *running) stop(nonce string, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stop := r.stops[nonce]; stop != nil {
		stop(cause)
	}
}

// returnGrace is how long a responder or a sender may take to return once it
// was told to end. After that the turn goes on without it.
const returnGrace = 10 * time.Second

// start runs a responder.
func (r *running) start(a *App, o engine.Start) {
	ctx, stop := context.WithCancelCause(a.ctx)
	r.add(o.Lease.Nonce, stop)
	a.work.Go(func() {
		defer stop(nil)
		response := a.respond(ctx, o)
		r.remove(o.Lease.Nonce)
		a.do(func(now turn.Time) { a.node.Responded(now, response) })
	})
}

// respond runs one attempt and reads what came of it.
func (a *App) respond(ctx context.Context, o engine.Start) engine.Response {
	bot := a.bots[o.Key.Bot]
	tooLong := &ResponderError{Kind: ResponderFailed, Err: fmt.Errorf("no answer within %v", bot.Timeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, bot.Timeout, tooLong)
	defer cancel()
	var tokens, firstByte atomic.Int64
	t := a.newTurn(ctx, o, &tokens, &firstByte)
	log := a.logOf(o.Key).With("turn", o.Turn, "attempt", o.Attempt, "token", o.Lease.Token)
	log.Debug("attempt started", "messages", len(t.Messages))

	reply, err := outside(ctx, a, log, "responder", func() (Reply, error) { return bot.Responder.Respond(ctx, t) })
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	response := readReply(reply, err)
	response.Key, response.Nonce, response.Tokens = o.Key, o.Lease.Nonce, tokens.Load()
	response.FirstByte = turn.Time(firstByte.Load())
	if response.Fault != "" && !errors.Is(a.cut(ctx), errCut) {
		log.Warn("attempt failed", "fault", response.Fault, "err", response.Reason)
	}
	return response
}

var errCut = errors.New("the attempt was ended from outside")

// cut is errCut where the attempt was told to end.
func (a *App) cut(ctx context.Context) error {
	var fault *ResponderError
	if cause := context.Cause(ctx); cause != nil && !errors.As(cause, &fault) {
		return errCut
	}
	return nil
}

// outside calls code that the program brought, survives its panic, and leaves
// it behind where it does not return when ctx ends.
func outside[T any](ctx context.Context, a *App, log *slog.Logger, name string, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	a.work.Go(func() {
		var got answer
		defer func() {
			if p := recover(); p != nil {
				log.Error("the "+name+" panicked", "panic", p, "stack", string(debug.Stack()))
				got.err = fmt.Errorf("the %s panicked: %v", name, p)
			}
			done <- got
		}()
		got.value, got.err = f()
	})
	select {
	case got := <-done:
		return got.value, got.err
	case <-ctx.Done():
	}
	select {
	case got := <-done:
		return got.value, got.err
	case <-time.After(returnGrace):
		log.Warn("the " + name + " did not return when its context ended")
		return *new(T), context.Cause(ctx)
	}
}

// quotaPause is the least pause after a spent quota: somebody must pay first.
const quotaPause = 5 * time.Minute

// readReply turns what a responder returned into what the engine knows.
func readReply(reply Reply, err error) engine.Response {
	fail := func(err error) engine.Response {
		var fault *ResponderError
		if !errors.As(err, &fault) {
			fault = &ResponderError{Kind: ResponderFailed, Err: err}
		}
		after := fault.RetryAfter
		if fault.Kind == ResponderQuotaSpent {
			after = max(after, quotaPause)
		}
		return engine.Response{Fault: fault.class(), Reason: fault.Error(), After: after}
	}
	if err != nil {
		return fail(err)
	}
	if reply.Silent {
		return engine.Response{None: true}
	}
	parts := notBlank(reply.Parts)
	if len(reply.Parts) == 0 {
		parts = notBlank([]string{reply.Text})
	}
	text := reply.Text
	if strings.TrimSpace(text) == "" {
		text = strings.Join(parts, "\n")
	}
	switch {
	case len(parts) == 0:
		return fail(errors.New("the responder gave an empty reply"))
	case len(parts) > MaxParts:
		return fail(fmt.Errorf("the reply has %d parts, more than %d", len(parts), MaxParts))
	case max(len(text), size(parts)) > MaxReplyBytes:
		return fail(fmt.Errorf("the reply has %d bytes, more than %d", max(len(text), size(parts)), MaxReplyBytes))
	}
	return engine.Response{Text: strings.ToValidUTF8(text, "\uFFFD"), Parts: parts}
}

func size(texts []string) (bytes int) {
	for _, t := range texts {
		bytes += len(t)
	}
	return bytes
}

func notBlank(texts []string) []string {
	var out []string
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			out = append(out, strings.ToValidUTF8(t, "\uFFFD"))
		}
	}
	return out
}

// newTurn is what a responder sees of an attempt. Once ctx has ended, what it
// still streams is part of no reply.
func (a *App) newTurn(ctx context.Context, o engine.Start, tokens, firstByte *atomic.Int64) *Turn {
	t := &Turn{
		Bot: o.Key.Bot, Conversation: o.Key.Conversation, Number: o.Turn, Attempt: o.Attempt, Token: o.Lease.Token,
		History: newHistory(o.Prompt.History),
	}
	for _, e := range o.Prompt.Messages {
		t.Messages = append(t.Messages, messageOf(e))
	}
	t.seal = func(ctx context.Context) error { return a.Seal(ctx, o.Key.Bot, o.Key.Conversation, o.Lease.Token) }
	t.spend = func(u Usage) { tokens.Add(u.Input + u.Output) }
	t.delta = func(text string) {
		if ctx.Err() != nil {
			return
		}
		now := a.clock.now()
		firstByte.CompareAndSwap(0, int64(now))
		a.publish(&Event{
			Type: deltaType, At: now.Go(), Node: a.options.Node, Bot: o.Key.Bot, Conversation: o.Key.Conversation,
			Turn: o.Turn, Attempt: o.Attempt, Token: o.Lease.Token, Version: o.Through, Through: o.Through, Text: text,
			ReplyID: engine.ReplyID(o.Key, o.Turn),
		})
	}
	return t
}

// deltaType is the type of the events that no write makes.
const deltaType = "reply.delta"

func messageOf(e store.Entry) Message {
	return Message{ID: e.ID, Text: e.Text, Sender: e.Sender, SentAt: e.SentAt.Go(), Attachments: e.Attachments, Metadata: e.Metadata}
}

// newHistory joins neighbours of one role.
func newHistory(entries []store.Entry) []HistoryEntry {
	var lines []HistoryEntry
	for i := 0; i < len(entries); {
		role := roleOf(entries[i])
		var replies []string
		var messages []Message
		for ; i < len(entries) && roleOf(entries[i]) == role; i++ {
			replies = append(replies, entries[i].Text)
			messages = append(messages, messageOf(entries[i]))
		}
		text := strings.Join(replies, "\n")
		if role == RoleUser {
			text = joinMessages(messages)
		}
		lines = append(lines, HistoryEntry{Role: role, Text: text})
	}
	return lines
}

func roleOf(e store.Entry) Role {
	if e.Kind == store.Reply {
		return RoleAssistant
	}
	return RoleUser
}

// send delivers one part of a reply.
func (r *running) send(a *App, o engine.Send) {
	ctx, stop := context.WithCancelCause(a.ctx)
	r.add(o.Lease.Nonce, stop)
	a.work.Go(func() {
		defer stop(nil)
		result := a.deliver(ctx, o)
		r.remove(o.Lease.Nonce)
		a.do(func(now turn.Time) { a.node.SendEnded(now, result) })
	})
}

func (a *App) deliver(ctx context.Context, o engine.Send) engine.SendResult {
	result := engine.SendResult{Key: o.Key, Nonce: o.Lease.Nonce, Part: o.Reply.Done, Entry: o.Entry}
	log := a.logOf(o.Key).With("turn", o.Reply.Turn, "token", o.Lease.Token, "part", o.Reply.Done)
	if result.Entry == nil {
		entry, err := a.entry(ctx, o.Key, o.Reply.Seq)
		if err != nil {
			log.Error("the reply could not be read", "err", err)
			result.Err, result.Certain, result.NotSent = fmt.Sprintf("the reply could not be read: %v", err), true, ctx.Err() != nil
			return result
		}
		result.Entry = entry
	}
	bot := a.bots[o.Key.Bot]
	if bot.Sender == nil {
		return result
	}
	left := o.Until.Sub(a.clock.now())
	if left <= 0 || ctx.Err() != nil {
		result.NotSent = true
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, min(bot.SendTimeout, left))
	defer cancel()
	delivery := newDelivery(o, *result.Entry, capabilitiesOf(bot.Sender).AllParts)
	_, err := outside(ctx, a, log, "sender", func() (struct{}, error) { return struct{}{}, bot.Sender.Send(ctx, delivery) })
	if err != nil {
		known := outcomeOf(err)
		result.Err, result.Certain, result.ForGood, result.After = known.Error(), known.NotDelivered, known.Permanent, known.RetryAfter
		log.Warn("a send failed", "certain", known.NotDelivered, "for_good", known.Permanent, "err", err)
	}
	return result
}

func (a *App) entry(ctx context.Context, key store.Key, seq int64) (*store.Entry, error) {
	found, err := a.store.Entries(ctx, key, store.EntryQuery{After: seq - 1, Before: seq + 1, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no entry %d", seq)
	}
	return &found[0], nil
}

func newDelivery(o engine.Send, e store.Entry, whole bool) *Delivery {
	d := &Delivery{
		ID: e.ID, Bot: o.Key.Bot, Conversation: o.Key.Conversation, Turn: o.Reply.Turn,
		Part: o.Reply.Done, Parts: e.Parts, Text: e.Text, Covers: e.Covers, Version: e.Version,
		LateInput: e.Late, Human: e.Author == turn.ReplyHuman, CommittedAt: e.At.Go(), Try: o.Reply.Tries + 1,
	}
	if o.Reply.Parts == 1 && (whole || len(e.Parts) > 1) {
		d.Part = -1
		return d
	}
	d.Text = e.Parts[o.Reply.Done]
	return d
}
