package node

import (
	"context"
	"fmt"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Deliver carries out an [engine.Send]. It reads the reply where the engine does not
// know its text, and does not begin once the engine's time is over: after that another
// node may send the same part. send hands the part to the channel, and ends when ctx does:
// the lease is renewed meanwhile, and the engine ends ctx where that fails. nil: there is
// no channel, and every part counts as delivered.
func Deliver(ctx context.Context, s store.Store, o engine.Send, now func() turn.Time,
	send func(o engine.Send) (engine.SendResult, error),
) engine.SendResult {
	if o.Entry == nil {
		var err error
		if o.Entry, err = readEntry(ctx, s, o.Key, o.Reply.Seq); err != nil {
			return sendResult(o, engine.SendResult{
				Err: fmt.Sprintf("the reply could not be read: %v", err), Certain: true, NotSent: ctx.Err() != nil,
			}, nil)
		}
	}
	if send == nil {
		return sendResult(o, engine.SendResult{}, nil)
	}
	if now() >= o.Until || ctx.Err() != nil {
		return sendResult(o, engine.SendResult{NotSent: true}, nil)
	}
	result, err := send(o)
	return sendResult(o, result, err)
}
