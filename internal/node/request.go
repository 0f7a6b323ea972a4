package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// ErrAbandoned is returned where a caller's context ended before its request was
// answered. The request may still be carried out.
var ErrAbandoned = errors.New("nobody knows whether it was stored; send it again with the same id")

// Submit hands a request to the engine and waits for its result, which comes once what
// it asks for is durable. The engine gets a ticket, a channel with room for the one
// result, so that the loop never waits for a caller that left.
func (n *Node) Submit(ctx context.Context, r *engine.Request) (engine.Result, error) {
	answer := make(chan engine.Result, 1)
	r.Ticket = answer
	if !n.post(func(now turn.Time) { n.engine.Submit(now, r) }) {
		return engine.Result{}, ErrClosed
	}
	select {
	case result := <-answer:
		return result, result.Err
	case <-ctx.Done():
		return engine.Result{}, fmt.Errorf("%w: %w", ErrAbandoned, context.Cause(ctx))
	case <-n.ctx.Done():
	}
	<-n.ended // the loop has given its last answers
	select {
	case result := <-answer:
		return result, result.Err
	default:
		return engine.Result{}, ErrClosed
	}
}

// ask has the loop run a task and waits for what it returns.
func ask[T any](ctx context.Context, n *Node, task func(now turn.Time) T) (T, error) {
	answer := make(chan T, 1)
	if !n.post(func(now turn.Time) { answer <- task(now) }) {
		return *new(T), ErrClosed
	}
	select {
	case value := <-answer:
		return value, nil
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// ChangePolicy changes a bot's policy and returns the new one, which holds for each step
// from then on.
func (n *Node) ChangePolicy(ctx context.Context, bot string, change func(turn.Policy) turn.Policy) (turn.Policy, error) {
	return ask(ctx, n, func(turn.Time) (changed turn.Policy) {
		n.engine.ChangeBot(bot, func(b *engine.Bot) {
			changed = change(b.Policy)
			b.Policy = changed
		})
		return changed
	})
}

// ChangeBots changes the settings of bots that this node serves. They hold for each step from
// then on; an attempt or a send that runs goes on as it began.
func (n *Node) ChangeBots(ctx context.Context, bots map[string]Bot) error {
	_, err := ask(ctx, n, func(turn.Time) struct{} {
		n.bots.Store(&bots)
		for name, bot := range bots {
			n.engine.ChangeBot(name, func(b *engine.Bot) { *b = bot.Bot })
		}
		return struct{}{}
	})
	return err
}

// bot is a bot that this node serves, as it is now.
func (n *Node) bot(name string) Bot { return (*n.bots.Load())[name] }

// Ignore counts an input that reaches no conversation.
func (n *Node) Ignore() { n.post(func(now turn.Time) { n.engine.Counters.Ignore(now) }) }

// Hinted takes a hint of another node: a conversation changed.
func (n *Node) Hinted(key store.Key) { n.post(func(now turn.Time) { n.engine.Hinted(now, key) }) }
