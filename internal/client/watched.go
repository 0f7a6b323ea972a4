package client

import (
	"io"
	"time"
)

// watched is a stream whose every byte, comments included, puts off the timer
// that ends it.
type watched struct {
	source  io.Reader
	silence *time.Timer
}

// Read puts off the end of a stream that lives.
func (w watched) Read(p []byte) (int, error) {
	n, err := w.source.Read(p)
	if n > 0 {
		w.silence.Reset(maxSilence)
	}
	return n, err
}
