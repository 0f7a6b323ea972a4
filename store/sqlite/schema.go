package sqlite

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

var (
	//go:embed schema_v1.sql
	schemaV1 string
	//go:embed schema_v2.sql
	schemaV2 string
	//go:embed schema_v3.sql
	schemaV3 string
)

// applicationID marks a file as ours ("1rep"), so that a path to the file of
// another program is refused and not written to.
const applicationID = 0x31726570

// migrations are the steps from each schema version to the next; the first one
// makes an empty file version 1. A step that was released never changes.
func migrations() []string { return []string{schemaV1, schemaV2, schemaV3} }

// redoSchema is the first schema whose tables name a generation.
const redoSchema = 3

// migrate brings the file to the newest schema, each step in a transaction of
// its own: a crash leaves the file at one version or the next. A file that is
// newer than all steps, or of another program, is left as it is.
func migrate(c *connection, steps []string) error {
	version, err := checkFile(c, len(steps))
	if err != nil {
		return err
	}
	for ; version < len(steps); version++ {
		err := c.Exec(fmt.Sprintf("BEGIN IMMEDIATE;\n%s;\nPRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
			steps[version], applicationID, version+1))
		if err != nil {
			if !c.GetAutocommit() {
				err = errors.Join(err, c.Exec("ROLLBACK"))
			}
			return fmt.Errorf("migrate from schema %d: %w", version, err)
		}
	}
	return nil
}

// checkFile reads the schema version, and refuses a file that must not be
// written to.
func checkFile(c *connection, newest int) (version int, err error) {
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
	if stored > int64(newest) {
		return 0, fmt.Errorf("the file has schema %d, this program knows %d: %w", stored, newest, store.ErrNewerSchema)
	}
	return int(stored), nil
}

// number runs a query that gives one number.
func number(c *connection, query string) (value int64, err error) {
	_, err = c.one(func(s *sqlite3.Stmt) error {
		value = s.ColumnInt64(0)
		return nil
	}, query)
	return value, err
}

// reading are all statements of the calls that only read.
var reading = []string{
	loadRecord, listConversations, listAttention, sweepConversations, entriesForward, entriesBackward, entryByID, dueTimers,
}

// readable refuses a file that this program can't read as it is. An older schema is
// good enough where all that is read has been there already, which SQLite knows.
func readable(c *connection, version, newest int) error {
	switch version {
	case newest:
		return nil
	case 0:
		return errors.New("there is nothing of onereply in this file: check the path; to start with an empty one, run onereply migrate")
	}
	for _, statement := range reading {
		s, _, err := c.Prepare(statement)
		if err != nil {
			return fmt.Errorf("the file has schema %d, and this program knows %d and can't read it as it is: run onereply migrate first: %w", version, newest, err)
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}
