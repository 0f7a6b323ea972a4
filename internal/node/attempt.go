package node

import (
	"context"
	"sync/atomic"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// Attempt is one run of a responder: what it is to answer, and what it says while
// it runs.
type Attempt struct {
	engine.Start
	ctx               context.Context // of the run
	node              *Node
	tokens, firstByte atomic.Int64
}

// Delta shows a piece of the reply to watchers before it is committed. What comes
// after the attempt's context ended belongs to no reply, and is dropped.
func (a *Attempt) Delta(text string) {
	if a.ctx.Err() != nil {
		return
	}
	now := a.node.clock.Now()
	a.firstByte.CompareAndSwap(0, int64(now))
	a.node.options.Tell(&engine.Event{
		Notice: turn.Notice{
			Kind: engine.Delta, At: now, Turn: a.Turn, Attempt: a.Start.Attempt, Token: a.Lease.Token,
			Version: a.Through, Through: a.Through,
		},
		Key: a.Key, Node: a.node.options.Name, ReplyID: engine.ReplyID(a.Key, a.Turn), Text: text,
	})
}

// Spend counts tokens that the model used, also where the attempt is discarded
// later.
func (a *Attempt) Spend(tokens int64) { a.tokens.Add(tokens) }
