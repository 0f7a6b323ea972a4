package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Options are the settings of a Store. The zero value is good for most.
type Options struct {
	// Readers is how many reads run at once; others wait. 0 means 4, more than
	// 64 is refused. Each takes about 3 MB once it is used.
	Readers int

	// ReadOnly is for programs that only look: nothing is created. What a process
	// that died left in the write-ahead log is copied into the file all the same.
	ReadOnly bool

	// base is the file system; nil is the operating system's. Tests inject faults.
	base vfs.VFS
}

const (
	defaultReaders = 4
	maxReaders     = 64
)

// Validate reports what is wrong with the options.
func (o Options) Validate() error {
	if o.Readers < 0 || o.Readers > maxReaders {
		return fmt.Errorf("sqlite: Readers is %d: it must be between 0 (which means %d) and %d", o.Readers, defaultReaders, maxReaders)
	}
	return nil
}

// register makes the file system known to SQLite and returns its name there.
func (o Options) register() string {
	if o.base == nil {
		registerFiles(logFiles, vfs.Find("os"))
		return logFiles
	}
	name := fmt.Sprintf("%s-%p", logFiles, o.base)
	registerFiles(name, o.base)
	return name
}

// Store is a [store.Store] in one SQLite file. Make one with [Open]. All
// methods may be called from many goroutines at once.
type Store struct {
	path    string
	lock    *os.File
	writer  *writer
	readers *readers

	closing  sync.Once
	closeErr error
}

var _ store.Store = (*Store)(nil)

// Open opens the file at path, which is created where there is none (its folder
// is not), readable for this user only. Beside it lie path-wal and path-shm,
// which belong to it while it is in use, and path.lock.
//
// Where another process, or another Store of this one, has it open, the error
// is [store.ErrInUse]; where a newer program wrote it, [store.ErrNewerSchema],
// and the file is left as it is. With [Options.ReadOnly] a file without
// our tables is refused too.
func Open(path string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := open(path, o)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	return s, nil
}

func open(path string, o Options) (*Store, error) {
	path, err := locate(path)
	if err != nil {
		return nil, err
	}
	if o.ReadOnly {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	lock, err := lock(path)
	if err != nil {
		return nil, err
	}
	name := o.register()
	connectHere := func() (*connection, error) { return connect(path, name) }
	db, err := prepare(path, connectHere, o.ReadOnly)
	if err != nil {
		return nil, errors.Join(explain(path, err), lock.Close())
	}
	w := &writer{
		queue: newQueue(), db: db, ended: make(chan struct{}),
		open: func() (*connection, error) { return openWriter(connectHere) },
	}
	s := &Store{
		path: path, lock: lock,
		writer:  w,
		readers: newReaders(o.Readers, connectHere),
	}
	go s.writer.run()
	return s, nil
}

// locate returns the one true path of the file, so that two names of it give
// one lock, and checks what people get wrong most.
func locate(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path is empty: give the name of a file")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the folder %s does not exist: create it, or give another path", filepath.Dir(absolute))
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("no permission to look into %s: give this user the right, or another path: %w", filepath.Dir(absolute), err)
	case err != nil:
		return "", err
	}
	if absolute, err = resolve(filepath.Join(folder, filepath.Base(absolute))); err != nil {
		return "", err
	}
	if info, err := os.Stat(absolute); err == nil && info.IsDir() {
		return "", fmt.Errorf("%s is a folder: give the name of a file in it", absolute)
	}
	return absolute, nil
}

// resolve follows a symbolic link; a file that is not there yet is itself.
func resolve(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return target, err
}

// prepare creates the file and its tables where they are missing, unless it is
// only to be read, and returns the connection that writes.
func prepare(path string, connect func() (*connection, error), readOnly bool) (*connection, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	db, err := connect()
	if err != nil {
		return nil, err
	}
	version, err := checkFile(db)
	if err == nil && version == 0 && readOnly {
		err = errors.New("there is nothing of onereply in this file: check the path")
	}
	if err == nil {
		err = setUpWriter(db)
	}
	if err == nil && version == 0 {
		err = createSchema(db)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// openWriter opens a connection that writes.
func openWriter(connect func() (*connection, error)) (*connection, error) {
	db, err := connect()
	if err != nil {
		return nil, err
	}
	if err := setUpWriter(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// logPages is the length of the write-ahead log, in pages of 4 KiB, at which it
// is copied back into the file. Fewer copies are faster, since pages that changed
// several times are copied once; and 32 MiB are soon copied.
const logPages = 8000

// setUpWriter makes the file use a write-ahead log, which is what lets readers
// go on while the writer writes.
func setUpWriter(db *connection) error {
	mode := ""
	_, err := db.one(func(s *sqlite3.Stmt) error {
		mode = s.ColumnText(0)
		return nil
	}, "PRAGMA journal_mode = WAL")
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file can't have a write-ahead log here (its journal mode is %q): use a local disk", mode)
	}
	// What the log holds of a process that died is copied into the file and synced
	// before anything is added: it may never have reached the disk.
	if _, _, err := db.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE); err != nil && !errors.Is(err, sqlite3.BUSY) {
		return err
	}
	return db.Exec(fmt.Sprintf(
		"PRAGMA wal_autocheckpoint = %d; PRAGMA journal_size_limit = %d; PRAGMA cache_size = -32000",
		logPages, 2*logPages*4096))
}

// Guarantees implements [store.Store].
func (s *Store) Guarantees() store.Guarantees {
	return store.Guarantees{
		Name: "sqlite", Durable: true, Exclusive: true, Clock: true, Resolution: time.Millisecond,
		Note: "one file, " + s.path + ", opened by one process at a time; a commit is on the disk (fsync) before it is answered",
	}
}

// Now implements [store.Store]. It is the clock of this process, the only one
// that has the file open.
func (s *Store) Now(ctx context.Context) (turn.Time, error) {
	if err := s.usable(ctx); err != nil {
		return 0, fmt.Errorf("sqlite: read the clock: %w", err)
	}
	return turn.At(time.Now()), nil
}

// usable tells whether a call has any chance.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.readers.isClosed() {
		return store.ErrClosed
	}
	return nil
}

// Stats count what a Store has done since it was opened.
type Stats struct {
	Writes       int64 // changes that were applied or refused, one for each call
	Transactions int64 // batches in which they were answered, most with one fsync
}

// Stats returns the counts.
func (s *Store) Stats() Stats {
	return Stats{Writes: s.writer.writes.Load(), Transactions: s.writer.transactions.Load()}
}

// Close implements [store.Store]. Writes that were begun are finished, reads
// too; then the log is copied back into the file, so that the one file is all
// there is.
func (s *Store) Close() error {
	s.closing.Do(func() {
		err := errors.Join(s.readers.close(), s.writer.close(), s.lock.Close())
		if err != nil {
			s.closeErr = fmt.Errorf("sqlite: close: %w", explain(s.path, err))
		}
	})
	return s.closeErr
}
