package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/onereply/onereply/store"
)

// database is the file as it was when it was opened. The Store keeps it open, with a
// lock on it, so its inode is not given to another file meanwhile.
//
// A file that was deleted or replaced can still be written to, and what is written is lost
// with the process. So each transaction checks, before it begins and before it is
// acknowledged, that the names still lead to the files that it was written to; and
// each read does, since what it finds may be the proof that a write was applied.
type database struct {
	path string
	file *os.File
	main os.FileInfo
	log  atomic.Pointer[os.FileInfo] // of the write-ahead log; nil: it is not there yet
}

// errReplaced says that the files are not those that were opened.
var errReplaced = errors.New("the file is not the one that was opened")

// openDatabase opens the file, makes it where there is none, readable for this user only
// from its first moment, and locks it.
func openDatabase(path string) (*database, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	d := &database{path: path, file: file}
	if err = lockInode(file); errors.Is(err, errLocked) {
		err = fmt.Errorf("%w under another name, a hard link or a mount: stop that one first, or give this one a file of its own", store.ErrInUse)
	}
	if err == nil {
		d.main, err = file.Stat()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return d, nil
}

// withLog takes a connection that writes as it was opened, or the error of that. It
// remembers which file the write-ahead log is, which the connection has just opened.
func (d *database) withLog(db *connection, err error) (*connection, error) {
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(d.path + logSuffix)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	d.log.Store(&info)
	return db, nil
}

// check returns an error if a name leads to another file, or to none.
func (d *database) check() error {
	if err := same(d.path, d.main); err != nil {
		return err
	}
	if log := d.log.Load(); log != nil {
		return same(d.path+logSuffix, *log)
	}
	return nil
}

// same is an error unless the file under a path is the one that was there.
func same(path string, was os.FileInfo) error {
	now, err := os.Stat(path)
	switch {
	case err == nil && os.SameFile(was, now):
		return nil
	case err == nil:
		return fmt.Errorf("%w: %s was replaced", errReplaced, path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was deleted or renamed", errReplaced, path)
	}
	return fmt.Errorf("%w: %w", errReplaced, err)
}

// Close gives the lock back.
func (d *database) Close() error { return d.file.Close() }
