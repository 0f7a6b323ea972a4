package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/store"
)

// schemaVersion is the version of the tables and functions in schema.sql.
//
// During a rolling upgrade old and new nodes share one schema. So a later program
// changes it in two releases. The first adds what it needs (columns with defaults,
// tables, functions with the next number) and raises only "version": programs that
// know version 1 keep working. The second removes what nobody calls any more and
// raises "oldest" too: older programs are then refused.
const schemaVersion = 1

//go:embed schema.sql
var schemaStatements string

// Out: whether the table with the version exists. It reads the catalog's tables
// like any others: the functions that look up a name may answer from a cache that
// has not yet seen what another node committed a moment ago.
const findSchema = `SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c
	JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
	WHERE n.nspname = 'onereply' AND c.relname = 'schema')`

// Out: the version of the schema, and the oldest version that a program must know
// to work on it.
const readSchema = `SELECT version, oldest FROM onereply.schema`

// In: a number that stands for the creation of the schema. Nodes that start
// together wait here for the first one. The lock ends with the transaction.
const lockSchema = `SELECT pg_advisory_xact_lock($1)`

// schemaLock is that number ("1reply"). Nothing else takes it.
const schemaLock = 0x3172_6570_6c79

// The table has one row. A second one would need a second key.
const createVersion = `CREATE SCHEMA IF NOT EXISTS onereply;
	CREATE TABLE onereply.schema (
		single  boolean PRIMARY KEY DEFAULT true CHECK (single),
		version int NOT NULL,
		oldest  int NOT NULL
	)`

// In: version, oldest. A new schema can be used by programs of its own version on.
const writeVersion = `INSERT INTO onereply.schema (version, oldest) VALUES ($1, $2)`

// errNoSchema: nothing of onereply is in the database.
var errNoSchema = errors.New("there is nothing of onereply in this database: check the address (a node creates the schema when it starts)")

// createSchema creates the schema in a database that has none, in one transaction:
// a crash leaves the database as it was. An existing schema is only read. One that
// this program does not know is refused.
//
// The first look takes no lock: nearly every start finds the schema, and a user without
// the right to create one passes here. The second look is under the lock: of nodes that
// start together, the first creates the schema, and the others, which waited, find it.
// The version is written last, in the same transaction.
func createSchema(ctx context.Context, db *pgx.Conn, statements string) error {
	if err := checkSchema(ctx, db); !errors.Is(err, errNoSchema) {
		return err
	}
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockSchema, int64(schemaLock)); err != nil {
			return fmt.Errorf("wait for the node that creates the schema: %w", err)
		}
		if err := checkSchema(ctx, tx); !errors.Is(err, errNoSchema) {
			return err // another node has created it
		}
		// Several statements without arguments, as psql would send them.
		if _, err := tx.Conn().PgConn().Exec(ctx, createVersion+";\n"+statements).ReadAll(); err != nil {
			return fmt.Errorf("create the schema onereply: %w", err)
		}
		_, err := tx.Exec(ctx, writeVersion, schemaVersion, schemaVersion)
		return err
	})
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, query string, arguments ...any) pgx.Row
}

// checkSchema reports whether this program can work on the schema: nil, or
// errNoSchema, or [store.ErrNewerSchema].
func checkSchema(ctx context.Context, db querier) error {
	var exists bool
	if err := db.QueryRow(ctx, findSchema).Scan(&exists); err != nil {
		return fmt.Errorf("look for the schema: %w", err)
	}
	if !exists {
		return errNoSchema
	}
	var version, oldest int
	if err := db.QueryRow(ctx, readSchema).Scan(&version, &oldest); err != nil {
		return fmt.Errorf("read the version of the schema: %w", err)
	}
	if oldest > schemaVersion {
		return fmt.Errorf("the database has schema %d, which programs from schema %d on can use, and this one knows %d: %w",
			version, oldest, schemaVersion, store.ErrNewerSchema)
	}
	return nil
}
