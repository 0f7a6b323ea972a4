package sqlite

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// ourFiles is the name of the file system under which SQLite finds files.
const ourFiles = "onereply"

// files is the operating system's file system, but for the write-ahead log.
type files struct{ vfs.VFSFilename }

// registerFiles makes a file system known to SQLite. The same one may be
// registered again.
func registerFiles(name string, base vfs.VFS) {
	vfs.Register(name, files{base.(vfs.VFSFilename)})
}

// OpenFilename implements [vfs.VFSFilename].
func (f files) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := f.VFSFilename.OpenFilename(name, flags)
	if err != nil || flags&vfs.OPEN_WAL == 0 {
		return file, flags, err
	}
	return &walFile{File: file}, flags, nil
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
