package server

import (
	"fmt"
	"net/http"
	"time"

	"github.com/onereply/onereply"
)

// reconnectMillis is how long a browser waits before it connects again. It is a second:
// soon enough for a person who looks at the page, and long enough for a node that
// restarts with many pages open.
const reconnectMillis = 1000

// eventWriter writes text/event-stream. Its methods report whether the client took what
// was written; each write has a deadline of its own. It belongs to the one goroutine of
// its request. After a method has reported false, the stream is over: nothing else may be
// written.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	encoded *eventCache
}

func newEventWriter(w http.ResponseWriter, timeout time.Duration, encoded *eventCache) *eventWriter {
	return &eventWriter{w: w, control: http.NewResponseController(w), timeout: timeout, encoded: encoded}
}

// start sends the header. The status is 200 from here on, so everything that can be
// refused was refused before.
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

// greet tells a browser how long to wait before it connects again.
func (o *eventWriter) greet() bool {
	return o.write(true, fmt.Appendf(nil, "retry: %d\n\n", reconnectMillis))
}

// beat writes a comment: it keeps the connection open through proxies, and fails once the
// client is gone.
func (o *eventWriter) beat() bool { return o.write(true, []byte(": \n\n")) }

// event writes one event. While more events wait, the caller lets one flush serve all.
// While one model writes, events come in bursts, and each flush is a packet of its own.
func (o *eventWriter) event(e onereply.Event, flush bool) bool {
	text, err := o.encoded.encode(e)
	return err == nil && o.write(flush, text)
}

// passOver leaves an event out. What was written before it may still wait for its flush.
func (o *eventWriter) passOver(flush bool) bool {
	o.extend()
	return !flush || o.control.Flush() == nil
}

// write gives each write its own deadline: the stream may last for days, but no single
// write may hang. Without a flush the bytes wait in the buffer for the next event.
func (o *eventWriter) write(flush bool, text []byte) bool {
	o.extend()
	if _, err := o.w.Write(text); err != nil {
		return false
	}
	return !flush || o.control.Flush() == nil
}

// extend moves the deadline. It fails only where there is no connection.
func (o *eventWriter) extend() { _ = o.control.SetWriteDeadline(time.Now().Add(o.timeout)) }
