package sqlite

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

// schema is the text that makes an empty file version [schemaVersion].
//
//go:embed schema.sql
var schema string

// schemaVersion is the schema that this program reads and writes; a file keeps
// it as its user_version. A file of a greater version is refused and left alone.
const schemaVersion = 1

// applicationID marks a file as ours ("1rep"), so that a path to the file of
// another program is refused and not written to.
const applicationID = 0x31726570

// checkFile reads the schema version of a file, 0 where it is empty. It refuses
// files of newer programs and of other programs: nothing may be written to them.
func checkFile(c *connection) (version int, err error) {
	owner, err := number(c, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	tables, err := number(c, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	if owner != applicationID && (owner != 0 || tables > 0) {
		return 0, errors.New("this SQLite file belongs to another program; give another path")
	}
	stored, err := number(c, "PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	if stored > schemaVersion {
		return 0, fmt.Errorf("the file has schema %d, this program knows %d: %w", stored, schemaVersion, store.ErrNewerSchema)
	}
	return int(stored), nil
}

// createSchema makes the tables of an empty file, in one transaction: after a
// crash the file has all of them or is still empty, and the next opening makes
// them.
func createSchema(c *connection) error {
	err := c.Exec(fmt.Sprintf("BEGIN IMMEDIATE;\n%s;\nPRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		schema, applicationID, schemaVersion))
	if err == nil {
		return nil
	}
	if !c.GetAutocommit() {
		err = errors.Join(err, c.Exec("ROLLBACK"))
	}
	return fmt.Errorf("create the tables: %w", err)
}

// number runs a query that gives one number.
func number(c *connection, query string) (value int64, err error) {
	_, err = c.one(func(s *sqlite3.Stmt) error {
		value = s.ColumnInt64(0)
		return nil
	}, query)
	return value, err
}
