//go:build darwin || linux

package sqlite

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// lockInode locks a file itself, whatever name it was opened under: a hard link and a
// bind mount are the same file. The lock belongs to the opening and not to the process,
// so another opening in this process does not get it, and it goes with the process.
//
// It is on one byte, far behind those that SQLite locks.
func lockInode(file *os.File) error {
	set := 37 // F_OFD_SETLK
	if runtime.GOOS == "darwin" {
		set = 90
	}
	byteBehindAll := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 1 << 62, Len: 1}
	err := syscall.FcntlFlock(file.Fd(), set, &byteBehindAll)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return errLocked
	}
	return err
}
