package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// logFiles is the name under which SQLite finds files, its file system.
const logFiles = "onereply"

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
	return &logFile{File: file}, flags, nil
}

// maxGathered bounds what a logFile holds back: 1 MiB.
const maxGathered = 1 << 20

// logFile is the write-ahead log. SQLite appends to it in two small writes for
// each page; logFile gathers them and writes them at once before the sync. That
// saves a sixth of the processor time of a commit.
//
// Others read the log through files of their own, and see what is gathered here
// only after Sync. That is enough: with synchronous = FULL, SQLite syncs every
// transaction before it tells anybody that its pages are there.
//
// Its second job is to tell a full disk from a broken one, which the driver
// does not: after a full disk it is certain that the transaction is not there,
// because its last page, which makes it valid, is the last that is written.
//
// Its third job is to let the writer sync later, while the next transaction is
// applied: see [writer.harden].
type logFile struct {
	vfs.File
	gathered []byte
	at       int64 // where they belong

	later    bool    // Sync leaves the syncing to whoever takes what is unsynced
	unsynced []piece // what was written while later was set
	spare    [][]byte
}

// piece is what was written at one place of the log.
type piece struct {
	at    int64
	bytes []byte
}

// logOf finds the log of a connection that has written, or read, already.
func logOf(db *connection) (*logFile, error) {
	file, err := db.FileControl("main", sqlite3.FCNTL_JOURNAL_POINTER)
	if err != nil {
		return nil, fmt.Errorf("find the write-ahead log: %w", err)
	}
	log, ok := file.(*logFile)
	if !ok {
		return nil, fmt.Errorf("find the write-ahead log: it is a %T", file)
	}
	return log, nil
}

// WriteAt implements [vfs.File].
func (l *logFile) WriteAt(p []byte, offset int64) (int, error) {
	if offset != l.end() || len(l.gathered)+len(p) > maxGathered {
		if err := l.flush(); err != nil {
			return 0, err
		}
		l.at = offset
	}
	l.gathered = append(l.gathered, p...)
	return len(p), nil
}

// end is where the next page goes.
func (l *logFile) end() int64 { return l.at + int64(len(l.gathered)) }

// flush writes what was gathered. After an error it is dropped: SQLite rolls
// the transaction back and writes to the same place again.
func (l *logFile) flush() error {
	if len(l.gathered) == 0 {
		return nil
	}
	_, err := l.File.WriteAt(l.gathered, l.at)
	if l.later && err == nil {
		l.unsynced = append(l.unsynced, piece{l.at, l.gathered})
		l.at += int64(len(l.gathered))
		l.gathered = l.empty()
		return nil
	}
	l.at += int64(len(l.gathered))
	l.gathered = l.gathered[:0]
	if isFull(err) {
		return sqlite3.FULL
	}
	return err
}

// ReadAt implements [vfs.File].
func (l *logFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := l.flush(); err != nil {
		return 0, err
	}
	return l.File.ReadAt(p, offset)
}

// Sync implements [vfs.File]. A full disk that shows only here is none of the
// certain ones: everything is in the system's memory, the last page too.
//
// The header of a log that starts anew is synced in any case. Pages that reached
// the disk before it would belong to the log that was there before.
func (l *logFile) Sync(flags vfs.SyncFlag) error {
	if err := l.flush(); err != nil {
		return err
	}
	if l.later && !l.header() {
		return nil
	}
	if err := l.File.Sync(flags); err != nil {
		return err
	}
	l.unsynced = nil
	return nil
}

// empty is a buffer to gather in: one that was given back, where there is one.
func (l *logFile) empty() []byte {
	if last := len(l.spare) - 1; last >= 0 {
		buffer := l.spare[last]
		l.spare = l.spare[:last]
		return buffer
	}
	return nil
}

// giveBack takes buffers of pieces that are synced.
func (l *logFile) giveBack(pieces []piece) {
	for _, p := range pieces {
		if len(l.spare) < 2 {
			l.spare = append(l.spare, p.bytes[:0])
		}
	}
}

// header reports whether the header of the log is not synced yet.
func (l *logFile) header() bool {
	for _, p := range l.unsynced {
		if p.at == 0 {
			return true
		}
	}
	return false
}

// take gives away what is unsynced: whoever has it must sync it.
func (l *logFile) take() []piece {
	unsynced := l.unsynced
	l.unsynced = nil
	return unsynced
}

// sync brings all that was written to the disk.
func (l *logFile) sync() error { return syncFailed(l.File.Sync(vfs.SYNC_NORMAL)) }

// repeat writes pieces again and syncs them. After a sync that failed, the
// system takes for clean what it could not write; only what is written again
// makes the next sync tell the truth.
func (l *logFile) repeat(pieces []piece) error {
	for _, p := range pieces {
		if _, err := l.File.WriteAt(p.bytes, p.at); err != nil {
			return errors.Join(sqlite3.IOERR_WRITE, err)
		}
	}
	return l.sync()
}

// syncFailed gives a failed sync the code that SQLite gives it.
func syncFailed(err error) error {
	if err == nil || errors.Is(err, sqlite3.IOERR) {
		return err
	}
	return errors.Join(sqlite3.IOERR_FSYNC, err)
}

// Size implements [vfs.File].
func (l *logFile) Size() (int64, error) {
	if err := l.flush(); err != nil {
		return 0, err
	}
	return l.File.Size()
}

// Truncate implements [vfs.File].
func (l *logFile) Truncate(size int64) error {
	if err := l.flush(); err != nil {
		return err
	}
	return l.File.Truncate(size)
}

// Close implements [vfs.File].
func (l *logFile) Close() error {
	err := l.flush()
	if closed := l.File.Close(); err == nil {
		err = closed
	}
	return err
}
