package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// lockWait is how long a write waits for a person who writes to the file with
// another program.
const lockWait = 5 * time.Second

// connection is one connection with its prepared statements. It is used by one
// goroutine at a time.
type connection struct {
	*sqlite3.Conn
	prepared map[string]*sqlite3.Stmt
	erases   bool // the transaction removes what nobody may find afterwards: see erase.go
}

// connect opens the file, which must be there, with the settings that all connections
// share. vfs names a file system that SQLite knows.
func connect(path, vfs string) (*connection, error) {
	db, err := sqlite3.OpenFlags(address(path, vfs), sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: db, prepared: make(map[string]*sqlite3.Stmt)}
	err = errors.Join(
		db.BusyTimeout(lockWait),
		// On macOS a plain fsync does not reach the disk.
		db.Exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA temp_store = MEMORY"),
	)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// address is the path as a URI. The log and its index get the permissions of
// the file itself, since they hold the same texts.
func address(path, vfs string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	escaped := strings.ReplaceAll(url.QueryEscape(path), "+", "%20") // SQLite knows no + for a space
	text := "file:" + (&url.URL{Path: slashed}).EscapedPath() + "?modeof=" + escaped
	return text + "&vfs=" + vfs
}

// statement returns the prepared form of a query, with its arguments bound:
// int, int64, string, []byte (as a blob) or nil.
func (c *connection) statement(query string, arguments ...any) (*sqlite3.Stmt, error) {
	s, known := c.prepared[query]
	if !known {
		var err error
		if s, _, err = c.PrepareFlags(query, sqlite3.PREPARE_PERSISTENT); err != nil {
			return nil, fmt.Errorf("prepare %q: %w", query, err)
		}
		c.prepared[query] = s
	}
	for i, argument := range arguments {
		if err := bind(s, i+1, argument); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// bind lets nothing of the argument escape, not even for an error, so that the
// callers' arguments need no allocations.
func bind(s *sqlite3.Stmt, place int, argument any) error {
	switch v := argument.(type) {
	case int64:
		return s.BindInt64(place, v)
	case int:
		return s.BindInt(place, v)
	case string:
		return s.BindText(place, v)
	case []byte:
		return s.BindBlob(place, v)
	case nil:
		return s.BindNull(place)
	}
	return fmt.Errorf("no column takes what is given for ?%d", place)
}

// run carries out a statement that returns no rows, and says how many it
// changed.
func (c *connection) run(query string, arguments ...any) (int64, error) {
	s, err := c.statement(query, arguments...)
	if err != nil {
		return 0, err
	}
	if err := s.Exec(); err != nil {
		return 0, err
	}
	return c.Changes(), nil
}

// each calls row for every row of a query until row fails. Values that row reads from
// the statement are valid until row returns.
func (c *connection) each(row func(*sqlite3.Stmt) error, query string, arguments ...any) error {
	s, err := c.statement(query, arguments...)
	if err != nil {
		return err
	}
	for s.Step() {
		if err := row(s); err != nil {
			return errors.Join(err, s.Reset())
		}
	}
	return errors.Join(s.Err(), s.Reset())
}

// one calls row for the row of a query that returns one row at most, and reports whether
// there was one.
func (c *connection) one(row func(*sqlite3.Stmt) error, query string, arguments ...any) (found bool, err error) {
	err = c.each(func(s *sqlite3.Stmt) error {
		found = true
		return row(s)
	}, query, arguments...)
	return found, err
}

// Close finalizes the statements and closes the connection. A statement that failed
// reports its failure once more, and the driver panics once more where it did before.
func (c *connection) Close() error {
	var failures []error
	for _, s := range c.prepared {
		failures = append(failures, guard(s.Close))
	}
	return errors.Join(append(failures, guard(c.Conn.Close))...)
}
