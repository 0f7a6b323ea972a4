package sqlite

import (
	"errors"
	"os"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// ourFiles is the name of the file system under which SQLite finds files.
const ourFiles = "onereply"

// files is the operating system's file system, but for the write-ahead log, its index
// and what is written into the database.
type files struct{ vfs.VFSFilename }

// registerFiles makes a file system known to SQLite. The same one may be
// registered again.
func registerFiles(name string, base vfs.VFS) {
	vfs.Register(name, files{base.(vfs.VFSFilename)})
}

// OpenFilename implements [vfs.VFSFilename].
func (f files) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := f.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	if database, ok := file.(databaseFile); ok && flags&vfs.OPEN_MAIN_DB != 0 {
		return mainFile{database}, flags, nil
	}
	if flags&vfs.OPEN_WAL == 0 {
		return file, flags, nil
	}
	if err := makeIndex(strings.TrimSuffix(name.String(), logSuffix)); err != nil {
		return nil, flags, errors.Join(err, file.Close())
	}
	return &walFile{File: file}, flags, nil
}

// The files that SQLite keeps beside a database, and the one of ours.
const (
	logSuffix   = "-wal"
	indexSuffix = "-shm"
)

// makeIndex makes the index of the write-ahead log with the permissions of the database.
// The driver would make it with those that the umask leaves, and whoever may open it can
// lock it, and so stop all writes. SQLite opens the log before the index, with a lock on
// the database under which nobody else removes either.
//
// An index that is there is not opened: on some systems closing a file gives back the
// locks that other connections of this process have on it.
func makeIndex(database string) error {
	info, err := os.Stat(database)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	file, err := os.OpenFile(database+indexSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		return errors.Join(file.Chmod(mode), file.Close())
	}
	there, statErr := os.Stat(database + indexSuffix)
	if statErr != nil {
		return err
	}
	if there.Mode().Perm() == mode {
		return nil
	}
	return os.Chmod(database+indexSuffix, mode)
}

// maxGathered bounds what a walFile holds back: 1 MiB.
const maxGathered = 1 << 20

// walFile is the write-ahead log. SQLite appends to it in two small writes for
// each page; walFile gathers them and writes them at once before the sync. That
// saves a sixth of the processor time of a commit.
//
// Others read the log through files of their own, and see what is gathered here
// only after Sync. That is enough: with synchronous = FULL, SQLite syncs every
// transaction before it tells anybody that its pages are there.
//
// Its second job is to tell a full disk from a broken one, which the driver
// does not: after a full disk it is certain that the transaction is not there,
// because its last page, which makes it valid, is the last that is written.
type walFile struct {
	vfs.File
	gathered []byte
	at       int64 // their offset in the file
}

// WriteAt implements [vfs.File].
func (l *walFile) WriteAt(p []byte, offset int64) (int, error) {
	if offset != l.at+int64(len(l.gathered)) || len(l.gathered)+len(p) > maxGathered {
		if err := l.flush(); err != nil {
			return 0, err
		}
		l.at = offset
	}
	l.gathered = append(l.gathered, p...)
	return len(p), nil
}

// flush writes what was gathered. After an error it is dropped: SQLite rolls
// the transaction back and writes to the same place again.
func (l *walFile) flush() error {
	if len(l.gathered) == 0 {
		return nil
	}
	_, err := l.File.WriteAt(l.gathered, l.at)
	l.at += int64(len(l.gathered))
	l.gathered = l.gathered[:0]
	if isFull(err) {
		return sqlite3.FULL
	}
	return err
}

// ReadAt implements [vfs.File].
func (l *walFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := l.flush(); err != nil {
		return 0, err
	}
	return l.File.ReadAt(p, offset)
}

// Sync implements [vfs.File]. A full disk that shows only here is none of the
// certain ones: everything is in the system's memory, the last page too.
func (l *walFile) Sync(flags vfs.SyncFlag) error {
	if err := l.flush(); err != nil {
		return err
	}
	return l.File.Sync(flags)
}

// Size implements [vfs.File].
func (l *walFile) Size() (int64, error) {
	if err := l.flush(); err != nil {
		return 0, err
	}
	return l.File.Size()
}

// Truncate implements [vfs.File].
func (l *walFile) Truncate(size int64) error {
	if err := l.flush(); err != nil {
		return err
	}
	return l.File.Truncate(size)
}

// Close implements [vfs.File].
func (l *walFile) Close() error {
	err := l.flush()
	if closed := l.File.Close(); err == nil {
		err = closed
	}
	return err
}
