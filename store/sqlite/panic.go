package sqlite

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// errPanicked says that the driver panicked. It does so where SQLite is out of memory,
// of which a connection may have 256 MiB, and where it meets a fault of its own.
var errPanicked = errors.New("SQLite gave up")

// guard makes an error of a panic of the driver: a single write, or a single read,
// must not end the process, which would meet the same one again after its restart.
// The connection is of no use afterwards.
func guard(f func() error) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case runtime.Error: // a fault of a program: say where
			err = errors.Join(err, fmt.Errorf("%w: %w\n%s", errPanicked, cause, debug.Stack()))
		case error:
			err = errors.Join(err, fmt.Errorf("%w: %w", errPanicked, cause))
		default:
			err = errors.Join(err, fmt.Errorf("%w: %v", errPanicked, cause))
		}
	}()
	return f()
}
