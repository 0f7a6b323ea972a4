package node

import (
	"context"
	"sync/atomic"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// Attempt is one run of a responder: what it is to answer, and what it reports while
// it runs.
type Attempt struct {
	engine.Start
	tokens    atomic.Int64
	firstByte atomic.Int64 // a turn.Time; 0: no text came yet
	show      func(now turn.Time, text string)
	clock     *Clock
	ended     func() bool // the run's context has ended
}

func (n *Node) newAttempt(ctx context.Context, o engine.Start) *Attempt {
	a := &Attempt{Start: o, clock: n.clock, ended: func() bool { return ctx.Err() != nil }}
	name := o.Conversation
	if name == o.Key.Conversation {
		name = "" // as all events say it
	}
	a.show = func(now turn.Time, text string) {
		n.options.Tell(&engine.Event{
			Notice: turn.Notice{
				Kind: engine.Delta, At: now, Turn: o.Turn, Attempt: o.Attempt, Token: o.Lease.Token, Version: o.Through, Through: o.Through,
			},
			Key: o.Key, Name: name, Node: n.options.Name, ReplyID: engine.ReplyID(o.Key, o.Turn), Text: text,
		})
	}
	return a
}

// Delta shows a piece of the reply to watchers before it is committed. A piece that
// comes after the run's context ended belongs to no reply, and is dropped.
func (a *Attempt) Delta(text string) {
	if a.ended() {
		return
	}
	now := a.clock.Now()
	a.firstByte.CompareAndSwap(0, int64(now))
	a.show(now, text)
}

// Spend counts tokens that the model used, also where the attempt is discarded
// later.
func (a *Attempt) Spend(tokens int64) { a.tokens.Add(tokens) }
