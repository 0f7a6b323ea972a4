package onereply

import (
	"context"
	"errors"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// MaxDuty is the longest time for which a duty can be taken at once.
const MaxDuty = time.Hour

// TakeDuty asks for a job that one node at a time does, such as polling a channel. It
// reports whether the caller has it from now on, for d by the store's clock: start the job
// then, and ask again well before the end to keep it. If d is 0, the job is given back.
// nonce tells the caller from all others, and from its own earlier starts. name must be one
// that no conversation has.
//
// The caller may have lost the duty by the time it acts, so two nodes may do the job at
// once: that must do no harm. After an error with [CodeUnavailable] the caller may have it
// or not.
func (a *App) TakeDuty(ctx context.Context, bot, name, nonce string, d time.Duration) (bool, error) {
	c, err := a.begin("take_duty", bot, name)
	if err != nil {
		return false, err
	}
	if err := checkName(nonce); err != nil {
		return false, c.fail(CodeInvalid, "nonce", err)
	}
	if d < 0 || d > MaxDuty {
		return false, c.fail(CodeInvalid, "for", errors.New("it must be 0 to 1h"))
	}
	result, err := a.node.Submit(ctx, &engine.Request{Key: c.key, Op: engine.TakeDuty, Name: nonce, For: d})
	return err == nil && d > 0 && result.Outcome == turn.Done, c.of(err)
}
