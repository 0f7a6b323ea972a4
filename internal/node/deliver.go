package node

import (
	"context"
	"fmt"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Deliver carries out an [engine.Send]. It reads the reply where the engine does not
// know its text, and gives up before the engine's time is over: after that another
// node may send the same part. send hands the part to the channel and gives up after
// limit, which is timeout or what is left; nil: there is no channel, and every part
// counts as delivered.
func Deliver(ctx context.Context, s store.Store, o engine.Send, now func() turn.Time, timeout time.Duration,
	send func(o engine.Send, limit time.Duration) (engine.SendResult, error),
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
	left := o.Until.Sub(now())
	if left <= 0 || ctx.Err() != nil {
		return sendResult(o, engine.SendResult{NotSent: true}, nil)
	}
	result, err := send(o, min(timeout, left))
	return sendResult(o, result, err)
}
