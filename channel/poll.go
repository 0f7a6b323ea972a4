package channel

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/turn"
)

// poll fetches an account's messages whenever this node has the duty to.
func (h *Host) poll(a *Account, poller Poller) {
	nonce := h.nonceBase + "/" + a.name
	for {
		began := time.Now()
		asking, cancel := context.WithTimeout(h.ctx, h.options.Duty)
		mine, err := h.app.TakeDuty(asking, a.bot, a.duty(), nonce, h.options.Duty)
		cancel()
		if err != nil && h.ctx.Err() == nil {
			a.status.failed(err)
			h.logOf(a).Warn("this node could not find out whether it is to poll", "err", err)
		}
		if mine {
			h.pollWithDuty(a, poller, nonce, began)
		}
		if !wait(h.ctx, h.options.Duty/3) {
			return
		}
	}
}

// duty is the name under which the duty to poll is stored. No conversation has this name,
// since no chat's address is empty.
func (a *Account) duty() string { return a.name + ":" }

// pollWithDuty polls until the node closes or the duty is lost. It keeps the duty
// meanwhile, and gives it back at the end. began is when it was asked for: by this node's
// clock it ends no later than one Duty after that.
func (h *Host) pollWithDuty(a *Account, poller Poller, nonce string, began time.Time) {
	ctx, lose := context.WithCancel(h.ctx)
	defer lose()
	ended := make(chan struct{})
	h.running.Go(func() {
		defer close(ended)
		h.pollUntil(ctx, a, poller)
	})
	a.status.polling(true)
	defer a.status.polling(false)
	for wait(h.ctx, h.options.Duty/3) {
		asked := time.Now()
		asking, cancel := context.WithDeadline(h.ctx, began.Add(h.options.Duty))
		mine, err := h.app.TakeDuty(asking, a.bot, a.duty(), nonce, h.options.Duty)
		cancel()
		if mine {
			began = asked
		}
		if !turn.KeepsDuty(mine, err == nil, time.Since(began), h.options.Duty) {
			break
		}
	}
	lose()
	<-ended
	back, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), 5*time.Second)
	defer cancel()
	_, _ = h.app.TakeDuty(back, a.bot, a.duty(), nonce, 0) // if nobody takes it, it ends by itself
}

// pollUntil polls until ctx ends, with growing pauses after failures.
func (h *Host) pollUntil(ctx context.Context, a *Account, poller Poller) {
	log, pause := h.logOf(a), h.options.Retry
	var worked atomic.Bool
	deliver := func(ctx context.Context, batch Batch) error {
		a.status.verified()
		worked.Store(true)
		return h.take(ctx, a, batch)
	}
	log.Info("this node polls the channel")
	for ctx.Err() == nil {
		err := poller.Poll(ctx, deliver)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("it ended by itself")
		}
		if worked.Swap(false) {
			pause = h.options.Retry
		}
		a.status.failed(err)
		after := pause
		if asked, ok := errors.AsType[*PauseError](err); ok {
			after = max(after, asked.For)
		}
		log.Warn("polling a channel failed; it is tried again", "after", after.String(), "err", err)
		pause = min(2*pause, time.Minute)
		wait(ctx, after)
	}
}

// PauseError is an error of a poll after which the platform wants a pause.
type PauseError struct {
	For time.Duration
	Err error
}

func (e *PauseError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PauseError) Unwrap() error { return e.Err }
