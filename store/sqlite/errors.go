package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

// explain adds advice to a failure of SQLite.
func explain(path string, err error) error {
	advice := ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errReplaced):
		advice = fmt.Sprintf("nothing is written while it is so; put the same file back, and the store goes on; otherwise stop this process and restore the file; until it stops, Linux shows what it has open under /proc/%d/fd", os.Getpid())
	case errors.Is(err, errPanicked):
		advice = "it needs more memory for this than a connection may have, or met a fault of its own; nothing was written, and the store goes on; if this comes back, restore a backup into another file or report it"
	case errors.Is(err, sqlite3.FULL), isFull(err):
		advice = "the disk is full; free some space, and the store goes on by itself"
	case errors.Is(err, sqlite3.READONLY), errors.Is(err, sqlite3.PERM), errors.Is(err, fs.ErrPermission):
		advice = "no permission to write; make the file and its folder writable for this user"
	case errors.Is(err, sqlite3.NOTADB):
		advice = "this is not an SQLite file; give another path"
	case errors.Is(err, sqlite3.CORRUPT):
		advice = "the file is damaged, or the -wal beside it is of another copy; restore a backup without what lies beside it, or save what can be read with: sqlite3 FILE .recover"
	case errors.Is(err, sqlite3.BUSY):
		advice = "another program holds a lock on the file; end its transaction"
	case errors.Is(err, sqlite3.CANTOPEN):
		advice = "the file can't be opened; check the path and its permissions"
	case errors.Is(err, sqlite3.IOERR):
		// A file that can't be created or enlarged is one of these too.
		advice = "the disk reported an error, or is full; check the disk, its free space and the system log"
	default:
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: %s: %w", path, advice, err)
}

// notApplied says that a write has left nothing behind.
func notApplied(err error) error {
	if errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrNotApplied, err)
}

// unknown says that a write may be there or not.
func unknown(err error) error { return fmt.Errorf("%w: %w", store.ErrUnknown, err) }

// outcome says what a failed COMMIT has left behind.
//
// A transaction counts once its last page is in the log. Where the disk was full
// or the file not writable that page was never written. After any other error it
// may have been: this process does not use it and overwrites it with the next
// transaction, but if the process died first, the next one would find it there
// and take it for good.
func outcome(err error) error {
	certain := errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.READONLY) || errors.Is(err, sqlite3.BUSY)
	if certain {
		return notApplied(err)
	}
	return unknown(err)
}

// broken reports whether a connection is of no use any more after err. A failed
// read or write is no reason: SQLite rolls back and tries again with the next
// transaction, which overwrites what the failed one left in the log. A new
// connection would find that there and believe it.
func broken(err error) bool {
	if errors.Is(err, errPanicked) {
		return true
	}
	for _, code := range []sqlite3.ErrorCode{
		sqlite3.CANTOPEN, sqlite3.CORRUPT, sqlite3.NOTADB, sqlite3.PROTOCOL, sqlite3.INTERNAL, sqlite3.MISUSE,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
