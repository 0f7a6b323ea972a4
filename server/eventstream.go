package server

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/onereply/onereply"
)

// reconnectMillis is how long a browser waits before it connects again.
const reconnectMillis = 1000

// eventWriter writes text/event-stream. Its methods report whether the client
// took what was written; each write has a deadline of its own.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	frames  *frames
}

func newEventWriter(w http.ResponseWriter, timeout time.Duration, frames *frames) *eventWriter {
	return &eventWriter{w: w, control: http.NewResponseController(w), timeout: timeout, frames: frames}
}

func (o *eventWriter) start() bool {
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // proxies must not hold events back
	o.extend()
	o.w.WriteHeader(http.StatusOK)
	return o.control.Flush() == nil
}

func (o *eventWriter) greet() bool {
	return o.write(true, fmt.Appendf(nil, "retry: %d\n\n", reconnectMillis))
}

// beat keeps the connection open through proxies, and finds out when the
// client is gone.
func (o *eventWriter) beat() bool { return o.write(true, []byte(": \n\n")) }

// event writes one event. While more of them wait, one flush serves all.
func (o *eventWriter) event(e onereply.Event, flush bool) bool {
	text, err := o.frames.of(e)
	return err == nil && o.write(flush, text)
}

func (o *eventWriter) write(flush bool, text []byte) bool {
	o.extend()
	if _, err := o.w.Write(text); err != nil {
		return false
	}
	return !flush || o.control.Flush() == nil
}

// extend moves the deadline. It fails only where there is no connection.
func (o *eventWriter) extend() { _ = o.control.SetWriteDeadline(time.Now().Add(o.timeout)) }

// streams counts the event streams and ends them all at once.
type streams struct {
	ended chan struct{} // closed when they must end

	mu     sync.Mutex
	limit  int
	active int
	over   bool
}

func newStreams(limit int) *streams { return &streams{ended: make(chan struct{}), limit: limit} }

func (s *streams) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.active >= s.limit {
		return false
	}
	s.active++
	return true
}

func (s *streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
}

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.ended)
	}
}
