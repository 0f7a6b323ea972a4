package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
)

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
	database, err := openDatabase(path)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	name := o.register()
	connectHere := func() (*connection, error) {
		if err := database.check(); err != nil { // SQLite would make the log anew
			return nil, err
		}
		return connect(path, name)
	}
	var db *connection
	err = guard(func() (err error) {
		db, err = database.withLog(prepare(connectHere, o.ReadOnly))
		return err
	})
	if err != nil {
		return nil, errors.Join(explain(path, err), database.Close(), lock.Close())
	}
	w := &writer{
		queue: newQueue(), db: db, database: database, ended: make(chan struct{}),
		open: func() (*connection, error) { return database.withLog(openWriter(connectHere)) },
	}
	s := &Store{
		path: path, lock: lock, database: database,
		writer:  w,
		readers: newReaders(o.Readers, connectHere),
	}
	go s.writer.run()
	return s, nil
}

// locate returns the path of the file with links resolved, so that two names of it give
// one lock, and checks for the most common mistakes.
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

// The file is made in steps, and a process may die after each of them: an empty file,
// an empty database with a write-ahead log, the tables. Each step is repeated where it is
// found undone, and the tables come in one transaction, so there is no half of them. The
// file is made by openDatabase and not by SQLite, so that it is readable for this user only
// from its first moment; the others get the same permissions.

// prepare creates the tables where they are missing, unless the file is only to be read,
// and returns the connection that writes.
func prepare(connect func() (*connection, error), readOnly bool) (*connection, error) {
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
	// The log may hold transactions of a process that died, and may never have reached
	// the disk. It is copied into the file and synced before anything is added.
	if _, _, err := db.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE); err != nil && !errors.Is(err, sqlite3.BUSY) {
		return err
	}
	return db.Exec(fmt.Sprintf(
		"PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = %d; PRAGMA journal_size_limit = %d; PRAGMA cache_size = -32000",
		logPages, 2*logPages*pageSize))
}
