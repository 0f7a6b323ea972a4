package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/onereply/onereply/store"
)

// lockSuffix names the lock file, which lies beside the database and stays
// there: removing it would let two processes lock two files of one name. The
// lock is on the open file, not on its existence, and the operating system
// gives it back when the process ends, however it ends.
//
// It guards the name, to which the write-ahead log and its index belong. The database
// itself may have other names, so it has a second lock on it: see lockInode.
const lockSuffix = ".lock"

// errLocked is what lockFile returns where somebody else has the lock.
var errLocked = errors.New("locked")

// Two processes on one file would both answer a conversation: each remembers leases that
// the other does not know of. SQLite's own locks do not prevent that, since they are held
// for a transaction only. So a Store holds a lock of its own from Open to Close.

// lock takes the database for this Store alone, or names the process that has it.
func lock(path string) (*os.File, error) {
	file, err := lockFile(path + lockSuffix)
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%s: %w%s: stop that one first, or give this one a file of its own", path, store.ErrInUse, holder(path))
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("no permission to create %s: make its folder writable for this user: %w", path+lockSuffix, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	sign(file)
	return file, nil
}

// sign writes the process id into the lock file, for people to read. It is not
// what locks, so a failure, such as a full disk, is no reason to stop.
func sign(file *os.File) {
	if file.Truncate(0) == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
}

// holder names the process that has the lock, where that can be read.
func holder(path string) string {
	text, err := os.ReadFile(path + lockSuffix)
	id := strings.TrimSpace(string(text))
	if _, bad := strconv.Atoi(id); err != nil || bad != nil {
		return ""
	}
	return " (process " + id + ")"
}
