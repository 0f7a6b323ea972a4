// Package gomaxprocs gives a program that syncs its own disk one running goroutine
// more than the machine has processors (GOMAXPROCS).
//
// A goroutine that syncs a file keeps its place among those that run until the
// runtime finds out that it waits. That takes up to 10 ms, longer than most syncs. On
// a machine with two processors one of them stands idle meanwhile, at each
// transaction. With one place more there is always one for each processor.
//
// It imports the standard library only. Commands use it; the library leaves the
// setting to the program that it is linked into.
package gomaxprocs

import (
	"os"
	"runtime"
	"sync"
)

// callers counts who asked for one more. There is one runtime for all of them, so the
// first makes the place and the last takes it away.
var callers struct {
	mu    sync.Mutex
	count int
}

// OneMore raises GOMAXPROCS by one until undo is called. Where the environment sets
// GOMAXPROCS, that value stays.
func OneMore() (undo func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	callers.mu.Lock()
	defer callers.mu.Unlock()
	if callers.count++; callers.count == 1 {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	return sync.OnceFunc(undone)
}

func undone() {
	callers.mu.Lock()
	defer callers.mu.Unlock()
	if callers.count--; callers.count == 0 {
		runtime.SetDefaultGOMAXPROCS()
	}
}
