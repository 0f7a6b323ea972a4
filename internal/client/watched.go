package client

import (
	"io"
	"time"
)

// watched is a stream that ends after a silence. Every byte, comments included, starts
// the timer anew: a node that is gone without closing the connection sends none.
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
