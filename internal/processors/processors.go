// Package processors gives the runtime one processor more than the machine has, for
// a program that waits for its own disk.
//
// A goroutine that syncs a file holds its place among those that run until the
// runtime finds out that it waits, which takes it up to 10 ms: longer than most
// syncs take. On a machine with two processors one of them stands idle meanwhile,
// at each transaction. With one place more there is always one for each processor.
package processors

import (
	"os"
	"runtime"
	"sync"
)

// room counts those who asked, so that the first makes it and the last undoes it:
// there is one runtime, and it is everybody's.
var room struct {
	mu    sync.Mutex
	users int
}

// OneMore makes room until undo is called. Where the environment says GOMAXPROCS,
// that is left as it is.
func OneMore() (undo func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	room.mu.Lock()
	defer room.mu.Unlock()
	if room.users++; room.users == 1 {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	return sync.OnceFunc(leave)
}

func leave() {
	room.mu.Lock()
	defer room.mu.Unlock()
	if room.users--; room.users == 0 {
		runtime.SetDefaultGOMAXPROCS()
	}
}
