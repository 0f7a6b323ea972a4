// Package loglimit keeps a log readable, and its disk alive, while the same failure
// repeats thousands of times a second: a few lines are written, and each says how many
// failures it stands for. It must never import anything but the standard library.
package loglimit

import (
	"cmp"
	"sync"
	"time"
)

// Limit decides which events of one kind get a line in the log. The zero value allows
// one line a second. It may be used by many goroutines at once.
type Limit struct {
	Lines int           // lines in each interval; 0: 1
	Every time.Duration // length of the interval; 0: 1s

	mu      sync.Mutex
	began   time.Time // of the current interval, which starts with its first line
	written int       // lines in it
	waiting uint64    // events since the last line
}

// Add counts events, and returns how many the caller's line must account for: all since
// the line before. It returns 0 where no line may be written yet; a later line then
// accounts for these events. Adding 0 events asks whether a line is owed for earlier ones.
func (l *Limit) Add(now time.Time, events uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting += events
	if l.waiting == 0 {
		return 0
	}
	if now.Sub(l.began) >= cmp.Or(l.Every, time.Second) {
		l.began, l.written = now, 0
	}
	if l.written >= max(l.Lines, 1) {
		return 0
	}
	l.written++
	total := l.waiting
	l.waiting = 0
	return total
}
