package server

import (
	"context"
	"sync"
	"time"
)

// patience is how long a request waits whose client need not be watched: its work
// is done whether the client stays or not. Requests that come about the same time
// share a context, because one for each is a thirtieth of the processor time of a
// message.
type patience struct {
	timeout time.Duration

	mu    sync.Mutex
	ctx   context.Context
	renew time.Time // from when on requests get another one
	end   context.CancelFunc
}

// now is a context that ends after the timeout, and at most a sixteenth later.
func (p *patience) now() context.Context {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil || !now.Before(p.renew) {
		p.renew = now.Add(p.timeout / 16)
		// The one before is not ended: others wait with it. It ends by itself.
		p.ctx, p.end = context.WithDeadline(context.Background(), p.renew.Add(p.timeout))
	}
	return p.ctx
}
