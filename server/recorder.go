package server

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// recorder remembers what was answered, for the log and the metrics.
type recorder struct {
	http.ResponseWriter
	status  int
	started bool // the header is out: nothing else can be answered
}

func (w *recorder) WriteHeader(status int) {
	if !w.started && status >= 200 {
		w.status, w.started = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if !w.started {
		w.status, w.started = http.StatusOK, true
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// panicked is a panic of a handler, as an error.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

func isPanic(err error) bool {
	if err == nil {
		return false
	}
	var p *panicked
	return errors.As(err, &p)
}

// recovered runs f and turns a panic into an error. http.ErrAbortHandler is
// left alone: it is how a handler drops a connection.
func recovered(f func() error) (err error) {
	defer func() {
		switch value := recover(); value {
		case nil:
		case http.ErrAbortHandler:
			panic(value)
		default:
			err = &panicked{value: value, stack: debug.Stack()}
		}
	}()
	return f()
}
