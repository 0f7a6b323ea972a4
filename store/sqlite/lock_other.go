//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package sqlite

import (
	"fmt"
	"os"
	"runtime"
)

// lockFile refuses: without a lock two processes could answer one conversation.
func lockFile(path string) (*os.File, error) {
	return nil, fmt.Errorf("%s: the embedded store has no file lock on %s: use another store there", path, runtime.GOOS)
}
