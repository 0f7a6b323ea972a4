package onereply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// inbox is what the loop has to tell the node, in order of arrival.
type inbox struct {
	mu     sync.Mutex
	queue  []func(turn.Time)
	closed bool
	signal chan struct{}
}

// do has f run by the loop, with the node to itself. It reports false where
// the App is closed, and then f never runs.
func (a *App) do(f func(turn.Time)) bool {
	a.inbox.mu.Lock()
	defer a.inbox.mu.Unlock()
	if a.inbox.closed {
		return false
	}
	a.inbox.queue = append(a.inbox.queue, f)
	select {
	case a.inbox.signal <- struct{}{}:
	default:
	}
	return true
}

func (a *App) take(last bool) []func(turn.Time) {
	a.inbox.mu.Lock()
	defer a.inbox.mu.Unlock()
	queue := a.inbox.queue
	a.inbox.queue = nil
	a.inbox.closed = last
	return queue
}

// loop owns the node. Whatever arrives while it is busy is handed over
// together, so that inputs of one conversation share a write.
func (a *App) loop() {
	defer close(a.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	armed := turn.Time(0)
	for {
		fired := false
		select {
		case <-a.ctx.Done():
			a.refuse()
			return
		case <-a.inbox.signal:
			// Whoever is ready to run has something for the node too, as likely as
			// not: to take it together saves the switch for each.
			runtime.Gosched()
		case <-timer.C:
			armed, fired = 0, true
		}
		for _, f := range a.take(false) {
			f(a.clock.now())
		}
		now := a.clock.now()
		// The time has come, also where the store's clock was set back meanwhile.
		if next := a.node.NextTick(); fired || next != 0 && next <= now {
			a.node.Tick(now)
		}
		for _, output := range a.node.Take() {
			a.carry(output)
		}
		if next := a.node.NextTick(); next == 0 {
			timer.Stop()
			armed = 0
		} else if next != armed {
			timer.Reset(max(0, next.Sub(a.clock.now())))
			armed = next
		}
	}
}

// refuse answers whoever still waits when the App closes.
func (a *App) refuse() {
	for _, f := range a.take(true) {
		f(a.clock.now())
	}
	for _, output := range a.node.Take() {
		if answer, ok := output.(engine.Answer); ok {
			a.carry(answer)
		}
	}
}

// carry carries out what the node asks for, without making it wait.
func (a *App) carry(output engine.Output) {
	switch o := output.(type) {
	case engine.Answer:
		o.Ticket.(chan engine.Result) <- o.Result
	case engine.Tell:
		a.tell(o.Event)
	case engine.Commit:
		a.commit(o.Write)
	case engine.Load:
		a.queueLoad(o)
	case engine.Delete:
		a.work.Go(func() { a.remove(o) })
	case engine.Claim:
		a.work.Go(func() { a.claim(o) })
	case engine.Recover:
		a.work.Go(func() { a.recover(o) })
	case engine.ReadPrompt:
		a.work.Go(func() { a.readPrompt(o) })
	case engine.Start:
		a.running.start(a, o)
	case engine.Send:
		a.running.send(a, o)
	case engine.Hint:
		a.hint(o.Key)
	case engine.Stop:
		a.running.stop(o.Nonce, errors.New(o.Reason))
	}
}

// storeTimeout bounds one call of the store.
const storeTimeout = 10 * time.Second

func (a *App) storeContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(a.ctx, storeTimeout)
}

// logOf is a logger whose lines name the conversation.
func (a *App) logOf(key store.Key) *slog.Logger {
	return a.log.With("bot", key.Bot, "conversation", key.Conversation)
}

// laterCommitter is an optional power of a store: a commit that is answered by
// a call, so that no goroutine waits for each. Until then write is not changed. done
// must neither block nor call the store. The store itself bounds how long it takes; Close waits for it.
type laterCommitter interface {
	CommitLater(write *store.Write, done func(store.Result, error))
}

func (a *App) commit(write *store.Write) {
	if s, ok := a.store.(laterCommitter); ok {
		a.work.Add(1)
		s.CommitLater(write, func(result store.Result, err error) {
			a.committed(write, result, err)
			a.work.Done()
		})
		return
	}
	a.work.Go(func() {
		ctx, cancel := a.storeContext()
		defer cancel()
		result, err := a.store.Commit(ctx, *write)
		a.committed(write, result, err)
	})
}

func (a *App) committed(write *store.Write, result store.Result, err error) {
	a.health.wrote(err)
	if err != nil {
		a.health.log(a.logOf(write.Key), "a write failed", "turn", write.Record.Turn, "token", write.Record.Token, "not_applied", errors.Is(err, store.ErrNotApplied), "err", err)
	}
	a.do(func(now turn.Time) { a.node.Committed(now, write.Key, result, err) })
}

func (a *App) load(o engine.Load) {
	ctx, cancel := a.storeContext()
	defer cancel()
	result := a.read(ctx, o)
	switch {
	case errors.Is(result.Err, store.ErrNewerSchema):
		a.health.log(a.logOf(o.Key), "a newer version of the program wrote this conversation; it is left alone: upgrade this node", "err", result.Err)
	case errors.Is(result.Err, store.ErrCorrupt):
		a.health.log(a.logOf(o.Key), "what is stored of this conversation can't be read; it is left alone: onereply doctor names all of them", "err", result.Err)
	case result.Err != nil:
		a.health.log(a.logOf(o.Key), "a read failed", "err", result.Err)
	}
	a.do(func(now turn.Time) { a.node.Loaded(now, result) })
}

func (a *App) read(ctx context.Context, o engine.Load) engine.LoadResult {
	result := engine.LoadResult{Key: o.Key}
	result.Snapshot, result.Err = a.store.Load(ctx, o.Key)
	for _, id := range o.IDs {
		if result.Err != nil {
			return result
		}
		var found []store.Entry
		found, result.Err = a.store.Entries(ctx, o.Key, store.EntryQuery{ID: id, Limit: 1})
		result.Messages = append(result.Messages, found...)
	}
	if o.Pending && result.Err == nil {
		result.Pending, result.Err = a.entriesAfter(ctx, o.Key, result.Snapshot.Record.AfterSeq, turn.InputPending)
	}
	return result
}

// entriesAfter reads all entries after a sequence, page by page.
func (a *App) entriesAfter(ctx context.Context, key store.Key, after int64, status turn.Status) ([]store.Entry, error) {
	var all []store.Entry
	for {
		page, err := a.store.Entries(ctx, key, store.EntryQuery{After: after, Status: status, Limit: store.MaxEntries})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < store.MaxEntries {
			return all, nil
		}
		after = page[len(page)-1].Seq
	}
}

func (a *App) readPrompt(o engine.ReadPrompt) {
	ctx, cancel := a.storeContext()
	defer cancel()
	entries, err := a.entriesAfter(ctx, o.Key, o.AfterSeq, turn.InputPending)
	var tail []store.Entry
	if err == nil && o.History > 0 {
		// Twice as many, for those that do not count: what waits, what was withdrawn.
		limit := min(2*o.History+len(entries), store.MaxEntries)
		tail, err = a.store.Entries(ctx, o.Key, store.EntryQuery{Limit: limit, Backward: true})
	}
	if err != nil {
		a.health.log(a.logOf(o.Key), "the prompt could not be read", "err", err)
	}
	a.do(func(now turn.Time) { a.node.PromptRead(now, o.Key, o.Nonce, entries, reversed(tail), err) })
}

func reversed(entries []store.Entry) []store.Entry {
	out := make([]store.Entry, len(entries))
	for i, e := range entries {
		out[len(entries)-1-i] = e
	}
	return out
}

func (a *App) remove(o engine.Delete) {
	ctx, cancel := a.storeContext()
	defer cancel()
	err := a.store.Delete(ctx, o.Key)
	if err != nil {
		a.logOf(o.Key).Error("a conversation could not be deleted", "err", err)
	}
	a.do(func(now turn.Time) { a.node.Deleted(now, o.Key, err) })
}

func (a *App) claim(o engine.Claim) {
	ctx, cancel := a.storeContext()
	defer cancel()
	claimed, err := a.store.Claim(ctx, a.clock.now(), o.Limit, o.Hold, o.Bots...)
	if a.ctx.Err() == nil {
		a.health.claimed(err)
	}
	if err != nil && a.ctx.Err() == nil {
		a.health.log(a.log, "due timers could not be claimed", "err", err)
	}
	a.do(func(now turn.Time) { a.node.Claimed(now, claimed, err) })
}

func (a *App) recover(o engine.Recover) {
	ctx, cancel := a.storeContext()
	defer cancel()
	found, err := a.store.Due(ctx, o.Until, o.Limit)
	if err != nil && a.ctx.Err() == nil {
		a.log.Error("what was under way before could not be read; it is taken over when its leases end", "err", err)
	}
	a.do(func(now turn.Time) { a.node.Recovered(now, found, err) })
}

// maintain removes what is older than the retention, in small batches.
func (a *App) maintain() {
	ticker := time.NewTicker(expireEvery)
	defer ticker.Stop()
	for {
		a.expire()
		select {
		case <-a.ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

const (
	expireEvery = 10 * time.Minute
	expireBatch = 500
	minIDs      = 192 * time.Hour // providers deliver again for up to a week
)

func (a *App) expire() {
	for a.ctx.Err() == nil {
		ctx, cancel := a.storeContext()
		now := a.clock.now()
		removed, err := a.store.Expire(ctx, now.Add(-a.options.Retention), now.Add(-max(a.options.Retention, minIDs)), expireBatch)
		cancel()
		if err != nil {
			if a.ctx.Err() == nil {
				a.log.Error("what is older than the retention could not be removed", "err", err)
			}
			return
		}
		if removed < expireBatch {
			return
		}
	}
}

// request hands a request to the node and waits for its result.
func (a *App) request(ctx context.Context, r *engine.Request) (engine.Result, error) {
	answer := make(chan engine.Result, 1)
	r.Ticket = answer
	if !a.do(func(now turn.Time) { a.node.Submit(now, r) }) {
		return engine.Result{}, errClosed
	}
	select {
	case result := <-answer:
		return result, result.Err
	case <-ctx.Done():
		return engine.Result{}, fmt.Errorf("nobody knows whether it was stored; send it again with the same id: %w", context.Cause(ctx))
	case <-a.ctx.Done():
		select {
		case result := <-answer:
			return result, result.Err
		default:
			return engine.Result{}, errClosed
		}
	}
}
