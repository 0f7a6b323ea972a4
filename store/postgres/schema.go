package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onereply/onereply/store"
)

var (
	//go:embed schema_v1.sql
	schemaV1 string
	//go:embed schema_v2.sql
	schemaV2 string
	//go:embed schema_v3.sql
	schemaV3 string
	//go:embed schema_v4.sql
	schemaV4 string
)

// migration is the step from one schema version to the next.
//
// A rolling upgrade has old and new nodes on one schema, so a change takes two
// releases. The first expands: it adds columns with defaults, tables, or a
// function with a new number beside the old one, and leaves oldest as it was, so
// that nodes of the release before go on and may even start. The next contracts:
// it removes what nobody calls any more, and raises oldest to the version of the
// first, so that nodes from before that one are refused.
type migration struct {
	statements string
	oldest     int // the version that a program must know to work on this schema
}

// migrations are all steps; the first one makes version 1 of an empty database. A
// step that was released never changes.
func migrations() []migration {
	return []migration{{statements: schemaV1, oldest: 1}, {statements: schemaV2, oldest: 1}, {statements: schemaV3, oldest: 1},
		{statements: schemaV4, oldest: 1}}
}

// Out: whether the table of the version is there. It reads the catalog's tables
// as any others: the functions that look up a name may answer from a cache that
// has not heard yet what another node committed a moment ago.
const findSchema = `SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c
	JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
	WHERE n.nspname = 'onereply' AND c.relname = 'schema')`

// Out: the version of the schema, and the oldest that still works on it.
const readSchema = `SELECT version, oldest FROM onereply.schema`

// In: a number that stands for these migrations. It makes nodes that start
// together wait for the first one, and lets go by itself when the transaction
// ends, however it ends. Nothing else takes it.
const lockMigrations = `SELECT pg_advisory_xact_lock($1)`

// migrationsLock is that number ("1reply").
const migrationsLock = 0x3172_6570_6c79

// The table has one row. A second one would need a second key.
const createSchema = `CREATE SCHEMA IF NOT EXISTS onereply;
	CREATE TABLE onereply.schema (
		single  boolean PRIMARY KEY DEFAULT true CHECK (single),
		version int NOT NULL,
		oldest  int NOT NULL
	);
	INSERT INTO onereply.schema (version, oldest) VALUES (0, 0)`

// In: version, oldest. It is part of the transaction of the steps, so the
// version says what is there.
const writeSchema = `UPDATE onereply.schema SET version = $1, oldest = $2`

// migrate brings the database to the newest schema, all steps in one
// transaction: a crash leaves it as it was. A database that is up to date is
// only read. One whose schema this program does not know is left as it is.
func migrate(ctx context.Context, db *pgx.Conn, steps []migration) error {
	version, err := schemaVersion(ctx, db, len(steps))
	if err != nil || version >= len(steps) {
		return err
	}
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockMigrations, int64(migrationsLock)); err != nil {
			return fmt.Errorf("wait for the migrations of other nodes: %w", err)
		}
		version, err := schemaVersion(ctx, tx, len(steps)) // another node may have been here
		if err != nil {
			return err
		}
		return apply(ctx, tx, version, steps)
	})
}

// reading are all statements of the calls that only read.
var reading = []string{
	loadRecord, listConversations, listAttention, sweepConversations, entriesForward, entriesBackward, entryByID, dueTimers, readClock,
}

// readable refuses a database that this program can't read as it is. An older schema is
// good enough where all that is read has been there already, which the server knows.
func readable(ctx context.Context, db *pgx.Conn, known int) error {
	version, err := schemaVersion(ctx, db, known)
	switch {
	case err != nil || version >= known:
		return err
	case version == none:
		return errors.New("there is nothing of onereply in this database: check the address; to start with an empty one, run onereply migrate")
	}
	for _, statement := range reading {
		_, err := db.PgConn().Prepare(ctx, "", statement, nil)
		var refused *pgconn.PgError
		switch {
		case errors.As(err, &refused):
			return fmt.Errorf("the database has schema %d, and this program knows %d and can't read it as it is: run onereply migrate first: %w", version, known, err)
		case err != nil:
			return fmt.Errorf("look whether schema %d can be read: %w", version, err)
		}
	}
	return nil
}

// apply runs the steps after a version.
func apply(ctx context.Context, tx pgx.Tx, version int, steps []migration) error {
	if version >= len(steps) {
		return nil
	}
	if version == none {
		if err := script(ctx, tx, createSchema); err != nil {
			return fmt.Errorf("create the schema onereply: %w", err)
		}
		version = 0
	}
	for ; version < len(steps); version++ {
		if err := script(ctx, tx, steps[version].statements); err != nil {
			return fmt.Errorf("migrate from schema %d: %w", version, err)
		}
	}
	_, err := tx.Exec(ctx, writeSchema, version, steps[version-1].oldest)
	return err
}

// script runs statements without arguments, as psql would.
func script(ctx context.Context, tx pgx.Tx, statements string) error {
	_, err := tx.Conn().PgConn().Exec(ctx, statements).ReadAll()
	return err
}

// none is the version of a database that has no schema of ours.
const none = -1

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, query string, arguments ...any) pgx.Row
}

// schemaVersion reads the version, and refuses a schema that a program which
// knows known must not work on.
func schemaVersion(ctx context.Context, db querier, known int) (int, error) {
	var there bool
	if err := db.QueryRow(ctx, findSchema).Scan(&there); err != nil {
		return 0, fmt.Errorf("look for the schema: %w", err)
	}
	if !there {
		return none, nil
	}
	var version, oldest int
	if err := db.QueryRow(ctx, readSchema).Scan(&version, &oldest); err != nil {
		return 0, fmt.Errorf("read the version of the schema: %w", err)
	}
	if oldest > known {
		return 0, fmt.Errorf("the database has schema %d, which programs from schema %d on can use, and this one knows %d: %w",
			version, oldest, known, store.ErrNewerSchema)
	}
	return version, nil
}
