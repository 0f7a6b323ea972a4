package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/onereply/onereply/store"
)

// broadcastLoop tells the other nodes what they want to know, until the fleet ends. It is
// the only goroutine that broadcasts, so that messages of a node have an order. After each
// round it rests for gatherFor: events that come meanwhile share the next one. So the
// first event after a quiet time leaves at once, and a busy node has at most ten rounds
// a second, however many events it has.
//
// tellNow and eventsWait only say that there is something to tell; broadcastLoop takes all
// that is there by then. A signal during the rest waits in its channel.
func (f *Fleet) broadcastLoop() {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	ask := true // twice: the first answers may come before this node listens
	f.tellAll(f.ctx, ask)
	for f.ctx.Err() == nil {
		select {
		case <-f.ctx.Done():
		case <-ticker.C:
			f.forget()
			f.tellAll(f.ctx, ask)
			ask = false
			f.checkReception(f.ctx)
		case <-f.tellNow:
			f.tellAll(f.ctx, false)
		case <-f.eventsWait:
			f.tellEvents(f.ctx)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(gatherFor):
		}
	}
	// The last report says that this node stopped, so that it is not taken for silent.
	last, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), farewellTime)
	defer cancel()
	f.tellAll(last, false)
}

// tellAll tells how this node is and what is watched here.
func (f *Fleet) tellAll(ctx context.Context, ask bool) {
	watched := f.watched()
	m := message{Ask: ask, Watches: &watched, Revoked: f.revoked.told(f.options.Now())}
	if report, ok := f.options.Report(ctx); ok {
		m.Report = &report
	}
	f.broadcast(ctx, m)
}

// tellEvents tells the events that were gathered. Some may have been dropped: watchers
// elsewhere miss them, which only the log tells.
func (f *Fleet) tellEvents(ctx context.Context) {
	events, dropped := f.outgoing.take()
	groups, tooLarge := packed(events)
	for _, group := range groups {
		f.broadcast(ctx, message{Events: group})
	}
	if count := f.missed.Add(time.Now(), uint64(dropped+tooLarge)); count > 0 {
		f.log.Warn("too many events at once, or too large ones: watchers on other nodes miss some", "missed", count)
	}
}

// broadcast sends one message, within 10 s. An error loses the message and nothing else:
// the next report comes in 5 s, and events are never sent twice. A store that refuses for
// want of room (ErrCrowded) is worth a warning, since people see gaps. Any other failure
// is not: whatever ails the store shows in the calls that matter.
func (f *Fleet) broadcast(ctx context.Context, m message) {
	m.Node, m.Instance = f.options.Name, f.options.Instance
	payload, err := json.Marshal(m)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, tellTimeout)
		defer cancel()
		err = f.out.Broadcast(ctx, payload)
	}
	switch {
	case err == nil:
		f.reception.said(time.Now())
	case f.ctx.Err() != nil:
	case errors.Is(err, store.ErrCrowded):
		if count := f.crowded.Add(time.Now(), uint64(max(1, len(m.Events)))); count > 0 {
			f.log.Warn("the store carries less than this node has to tell: watchers on other nodes miss some", "missed", count, "err", err)
		}
	default:
		f.log.Debug("other nodes were not told", "err", err)
	}
}
