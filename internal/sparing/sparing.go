// Package sparing thins out lines of a log that would come by the thousand. It
// imports the standard library only.
package sparing

import (
	"sync"
	"time"
)

// Lines counts lines of a log, so that most of them can be left out.
type Lines struct {
	mu      sync.Mutex
	since   time.Time // the second that is counted
	lines   int
	leftOut int
}

// Next reports whether one more line may be written, where at most so many may in a
// second, and how many were not since the last one that was.
func (l *Lines) Next(now time.Time, most int) (ok bool, leftOut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= time.Second {
		l.since, l.lines = now, 0
	}
	if l.lines++; l.lines > most {
		l.leftOut++
		return false, 0
	}
	leftOut, l.leftOut = l.leftOut, 0
	return true, leftOut
}
