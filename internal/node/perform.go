package node

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// storeTimeout bounds one output that the store carries out.
const storeTimeout = 10 * time.Second

// storeContext bounds a call of the store. It ends early with the node.
func (n *Node) storeContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(n.ctx, storeTimeout)
}

// laterCommitter is an optional power of a store: a commit that is answered by a
// call, so that no goroutine waits for each. The write is not changed until then.
// done neither blocks nor calls the store. The store itself bounds how long it
// takes; Wait waits for it.
type laterCommitter interface {
	CommitLater(write *store.Write, done func(store.Result, error))
}

// commit carries out a write of the engine. The engine keeps the write, and waits for its
// outcome before it writes to the same conversation again.
func (n *Node) commit(write *store.Write) {
	if s, ok := n.store.(laterCommitter); ok {
		n.goroutines.Add(1)
		s.CommitLater(write, func(result store.Result, err error) {
			n.committed(write, result, err)
			n.goroutines.Done()
		})
		return
	}
	n.goroutines.Go(func() {
		ctx, cancel := n.storeContext()
		defer cancel()
		result, err := n.store.Commit(ctx, *write)
		n.committed(write, result, err)
	})
}

// committed takes the outcome of a commit, on any goroutine.
func (n *Node) committed(write *store.Write, result store.Result, err error) {
	if !store.IsUnreadable(err) { // one record that can't be read says nothing of the store
		n.health.wrote(err)
	}
	n.logFailure(write.Key, "a write failed", err, "turn", write.Record.Turn, "token", write.Record.Token,
		"not_applied", errors.Is(err, store.ErrNotApplied))
	n.post(func(now turn.Time) { n.engine.Committed(now, write.Key, result, err) })
}

// load reads a conversation; see [Load].
func (n *Node) load(o engine.Load) {
	ctx, cancel := n.storeContext()
	defer cancel()
	result := Load(ctx, n.store, o)
	n.logFailure(o.Key, "a read failed", result.Err)
	n.post(func(now turn.Time) { n.engine.Loaded(now, result) })
}

// logFailure logs the failure of a call of the store, if there was one. If it concerns
// this conversation alone, the line says what to do.
func (n *Node) logFailure(key store.Key, text string, err error, args ...any) {
	switch {
	case err == nil:
		return
	case errors.Is(err, store.ErrNewerSchema):
		text = "a newer version of the program wrote this conversation; it is left alone: upgrade this node"
	case errors.Is(err, store.ErrCorrupt):
		text = "what is stored of this conversation can't be read; it is left alone: onereply doctor names all of them"
	}
	n.health.log(n.logOf(key), text, append(args, "err", err)...)
}

// readPrompt reads the messages and the history of an attempt; see [ReadPrompt].
func (n *Node) readPrompt(o engine.ReadPrompt) {
	ctx, cancel := n.storeContext()
	defer cancel()
	waiting, tail, err := ReadPrompt(ctx, n.store, o)
	n.logFailure(o.Key, "the prompt could not be read", err)
	n.post(func(now turn.Time) { n.engine.PromptRead(now, o.Key, o.Nonce, waiting, tail, err) })
}

// remove deletes a conversation.
func (n *Node) remove(o engine.Delete) {
	ctx, cancel := n.storeContext()
	defer cancel()
	err := n.store.Delete(ctx, o.Key)
	if err != nil {
		n.logOf(o.Key).Error("a conversation could not be deleted", "err", err)
	}
	n.post(func(now turn.Time) { n.engine.Deleted(now, o.Key, err) })
}

// claim takes over timers that are due and that no other node acts on. Its outcome
// tells whether the store works, unless the node ended meanwhile.
func (n *Node) claim(o engine.Claim) {
	ctx, cancel := n.storeContext()
	defer cancel()
	claimed, err := n.store.Claim(ctx, n.clock.Now(), o.Limit, o.Hold, o.Bots...)
	if n.ctx.Err() == nil {
		n.health.claimed(err)
		if err != nil {
			n.health.log(n.log, "due timers could not be claimed", "err", err)
		}
	}
	n.post(func(now turn.Time) { n.engine.Claimed(now, claimed, err) })
}

// readOrphaned reads the conversations that the process before this one was working on, on a
// store that only one process has open. If that fails, they are taken over when their
// leases end.
func (n *Node) readOrphaned(o engine.Recover) {
	ctx, cancel := n.storeContext()
	defer cancel()
	found, err := n.store.Due(ctx, o.Until, o.Limit)
	if err != nil && n.ctx.Err() == nil {
		n.log.Error("the work of the process before this one could not be read; it is taken over when its leases end", "err", err)
	}
	n.post(func(now turn.Time) { n.engine.Recovered(now, found, err) })
}

// tell passes an event on to watchers, and logs it.
func (n *Node) tell(e *engine.Event) {
	e.Node = n.options.Name
	if e.Kind == turn.KindLeaseLost {
		e.Node = e.Holder // the one that was lost
	}
	n.options.Tell(e)
	level := levelOf(e.Kind)
	if !n.log.Enabled(n.ctx, level) {
		return // the attributes would be made for nothing, for every message
	}
	log := n.logOf(e.Key).With("turn", e.Turn, "token", e.Token)
	switch level {
	case slog.LevelWarn:
		log.Warn(string(e.Kind), "reason", e.Reason)
	case slog.LevelInfo:
		log.Info(string(e.Kind), "reason", e.Reason, "saw", e.Through, "newest", e.Version)
	default:
		log.Debug(string(e.Kind), "version", e.Version)
	}
}

// levelOf is the level at which a kind of event is logged.
func levelOf(kind turn.Kind) slog.Level {
	switch kind {
	case turn.KindTurnFailed, turn.KindReplyFailed:
		return slog.LevelWarn
	case turn.KindReplyDiscarded, turn.KindLeaseLost, turn.KindTurnRequeued, turn.KindReplyResent, turn.KindReplyMarked:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}
