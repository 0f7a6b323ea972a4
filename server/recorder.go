package server

import "net/http"

// recorder remembers the status of the answer, for the log and the metrics, and whether
// the answer has begun. One wraps the writer of each request, around all handlers. So the
// status is known whichever handler answered.
type recorder struct {
	http.ResponseWriter
	status  int
	started bool // the header is out: nothing else can be answered
}

// WriteHeader remembers the final status. Those below 200 only announce one.
func (w *recorder) WriteHeader(status int) {
	if !w.started && status >= 200 {
		w.status, w.started = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write begins the answer with 200, as net/http does, if no status was written.
func (w *recorder) Write(p []byte) (int, error) {
	if !w.started {
		w.status, w.started = http.StatusOK, true
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
