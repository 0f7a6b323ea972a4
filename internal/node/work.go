package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// running is the attempts and sends under way here, by the nonce of their lease, so
// that a Stop of the engine can end them.
type running struct {
	mu    sync.Mutex
	stops map[string]context.CancelCauseFunc
}

func newRunning() running { return running{stops: map[string]context.CancelCauseFunc{}} }

// add makes work known, so that it can be stopped.
func (r *running) add(nonce string, stop context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stops[nonce] = stop
}

// remove forgets work that ended. Other work may come under the same nonce: a part
// after a part, all under one lease.
func (r *running) remove(nonce string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.stops, nonce)
}

// stop ends the work under a nonce, if it has not ended yet.
func (r *running) stop(nonce string, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stop := r.stops[nonce]; stop != nil {
		stop(cause)
	}
}

// startWork runs f in a goroutine of its own and posts the task that f returns. The
// context of f ends when the engine stops the work under the nonce, or when the node
// ends.
func (n *Node) startWork(nonce string, f func(ctx context.Context) func(now turn.Time)) {
	ctx, stop := context.WithCancelCause(n.ctx)
	n.work.add(nonce, stop)
	n.goroutines.Go(func() {
		defer stop(nil)
		task := f(ctx)
		n.work.remove(nonce)
		n.post(task)
	})
}

// startAttempt runs a responder and posts its result.
func (n *Node) startAttempt(o engine.Start) {
	n.startWork(o.Lease.Nonce, func(ctx context.Context) func(turn.Time) {
		response := n.respond(ctx, o)
		return func(now turn.Time) { n.engine.Responded(now, response) }
	})
}

// startSend delivers one part of a reply and posts the outcome.
func (n *Node) startSend(o engine.Send) {
	n.startWork(o.Lease.Nonce, func(ctx context.Context) func(turn.Time) {
		result := n.send(ctx, o)
		return func(now turn.Time) { n.engine.SendEnded(now, result) }
	})
}

// respond runs a bot's responder for one attempt. An attempt that was told to end is
// no failure, so it is not logged as one.
func (n *Node) respond(ctx context.Context, o engine.Start) engine.Response {
	bot := n.bot(o.Key.Bot)
	ctx, cancel := context.WithTimeoutCause(ctx, bot.Timeout, fmt.Errorf("%w within %v", errNoAnswer, bot.Timeout))
	defer cancel()
	log := n.logOf(o.Key).With("turn", o.Turn, "attempt", o.Attempt, "token", o.Lease.Token)
	log.Debug("attempt started", "messages", len(o.Prompt.Messages))

	defer n.showTyping(ctx, o)()
	attempt := n.newAttempt(ctx, o)
	response, err := call(ctx, n, log, "responder", func() engine.Response { return bot.Respond(ctx, attempt) })
	response = AttemptResult(response, err, context.Cause(ctx))
	response.Key, response.Nonce = o.Key, o.Lease.Nonce
	response.Tokens, response.FirstByte = attempt.tokens.Load(), turn.Time(attempt.firstByte.Load())
	if response.Fault != "" && !stopped(context.Cause(ctx)) {
		log.Warn("attempt failed", "fault", response.Fault, "err", response.Reason)
	}
	return response
}

// send has a bot's sender deliver one part of a reply.
func (n *Node) send(ctx context.Context, o engine.Send) engine.SendResult {
	log := n.logOf(o.Key).With("turn", o.Reply.Turn, "token", o.Lease.Token, "part", o.Reply.Done)
	result := n.deliver(ctx, o, log)
	if result.Err != "" {
		log.Warn("a send failed", "certain", result.Certain, "for_good", result.ForGood, "err", result.Err)
	}
	return result
}

// deliver is send without its log; see [Deliver].
func (n *Node) deliver(ctx context.Context, o engine.Send, log *slog.Logger) engine.SendResult {
	bot := n.bot(o.Key.Bot)
	var send func(engine.Send) (engine.SendResult, error)
	if bot.Send != nil {
		send = func(o engine.Send) (engine.SendResult, error) {
			ctx, cancel := context.WithTimeout(ctx, bot.SendTimeout)
			defer cancel()
			return call(ctx, n, log, "sender", func() engine.SendResult { return bot.Send(ctx, o) })
		}
	}
	return Deliver(ctx, n.store, o, n.clock.Now, send)
}

// returnGrace is how long a responder or a sender may take to return once its
// context ended. After that the turn goes on without it.
const returnGrace = 10 * time.Second

// errNoAnswer ends the context of an attempt that takes too long.
var errNoAnswer = errors.New("no answer")

// call runs a responder or a sender in a goroutine of its own, because the runtime can't
// trust it to return. It turns a panic into an error, and gives up a call that does not
// return in time after ctx ended.
func call[T any](ctx context.Context, n *Node, log *slog.Logger, name string, f func() T) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	n.goroutines.Go(func() {
		var got answer
		defer func() {
			if p := recover(); p != nil {
				log.Error("the "+name+" panicked", "panic", p, "stack", string(debug.Stack()))
				got.err = fmt.Errorf("the %s panicked: %v", name, p)
			}
			done <- got
		}()
		got.value = f()
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
