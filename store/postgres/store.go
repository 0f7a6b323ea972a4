package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onereply/onereply/store"
)

// Store is a [store.Store] in a PostgreSQL database, in its schema "onereply".
// Make one with [Open]. All methods may be called from many goroutines at once.
type Store struct {
	pool   *pgxpool.Pool
	server server
	hints  *hints
	groups groups

	closed  atomic.Bool
	closing sync.Once
}

var (
	_ store.Store       = (*Store)(nil)
	_ store.Hinter      = (*Store)(nil)
	_ store.Broadcaster = (*Store)(nil)
	_ store.Echoer      = (*Store)(nil)
)

// Open opens the database at a URL such as
//
//	postgres://user:password@host:5432/database?sslmode=verify-full
//
// and creates the schema "onereply" in it, unless it exists. Nodes that start together
// wait for the one that creates it. With [Options.ReadOnly] nothing is created. The URL
// takes the parameters of libpq, and pool_max_conns, default_query_exec_mode and hints
// (see [Options]) besides.
//
// If the user lacks a right that a node needs, or that reading needs with
// [Options.ReadOnly], the error holds the statements that grant it.
//
// If a newer program has changed the schema so that this one can't work with it, the
// error is [store.ErrNewerSchema], and nothing is changed.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := open(ctx, url, o, schemaStatements)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", explain(err))
	}
	return s, nil
}

// open is Open with the statements that create the schema, which tests replace.
func open(ctx context.Context, url string, o Options, schema string) (*Store, error) {
	config, o, err := configure(url, o)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &Store{pool: pool}
	s.groups.commit = s.commitGroup
	if err := s.prepare(ctx, schema, o.ReadOnly); err != nil {
		pool.Close()
		return nil, err
	}
	s.hints = newHints(s, !o.NoHints)
	return s, nil
}

// prepare checks the server and the user's rights, and creates the schema where it may.
// It changes nothing before all checks have passed. The rights are checked on a schema
// that is there; the user that creates one owns it, and needs no grant.
func (s *Store) prepare(ctx context.Context, schema string, readOnly bool) error {
	return s.withConnection(ctx, func(db *pgx.Conn) error {
		found, err := inspect(ctx, db)
		if err != nil {
			return err
		}
		s.server = found
		if err := checkRights(ctx, db, readOnly); err != nil {
			return err
		}
		if readOnly {
			return checkSchema(ctx, db)
		}
		return createSchema(ctx, db, schema)
	})
}

// usable tells whether a call has any chance.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

// Guarantees implements [store.Store]. It says what the server's settings were
// when the store was opened.
func (s *Store) Guarantees() store.Guarantees {
	return store.Guarantees{
		Name: "postgres", Durable: s.server.durable(),
		Note: s.server.note(),
	}
}

// Close implements [store.Store]. It waits for calls that were begun, which end
// with their contexts at the latest. Hints end first, since they are lossy. Writes that
// were accepted are finished before closed is set, which refuses connections to all
// calls, theirs too.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.hints.close()
		s.groups.close()
		s.closed.Store(true)
		s.pool.Close()
	})
	return nil
}

// server is what a PostgreSQL server says of itself.
type server struct {
	version           string
	number            int // 150018 is 15.18
	encoding          string
	isolation         string
	standby           bool
	fsync             string
	fullPageWrites    string
	synchronousCommit string
	standbys          string
}

// Out: the settings of this session that decide what a commit is worth.
const readServer = `SELECT current_setting('server_version'), current_setting('server_version_num')::int,
	current_setting('server_encoding'), current_setting('default_transaction_isolation'), pg_is_in_recovery(),
	current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
	current_setting('synchronous_standby_names')`

// oldestServer is PostgreSQL 13.
const oldestServer = 130000

// inspect reads the settings and refuses a server on which the store would not
// do what it promises. A standby takes no writes. Another encoding can't keep every
// text. Under a stricter isolation a transaction sees the database as it was at its
// beginning: a commit that waited for another one would fail, where the contract wants a
// conflict.
func inspect(ctx context.Context, db *pgx.Conn) (s server, err error) {
	err = db.QueryRow(ctx, readServer).Scan(&s.version, &s.number, &s.encoding, &s.isolation, &s.standby,
		&s.fsync, &s.fullPageWrites, &s.synchronousCommit, &s.standbys)
	switch {
	case err != nil:
		return s, fmt.Errorf("read the server's settings: %w", err)
	case s.number < oldestServer:
		return s, fmt.Errorf("the server is PostgreSQL %s: 13 or later is needed", s.version)
	case s.standby:
		return s, errors.New("the server is a read-only standby: use the address of the primary")
	case s.encoding != "UTF8":
		return s, fmt.Errorf("the database has the encoding %s: create one with ENCODING 'UTF8'", s.encoding)
	case s.isolation != "read committed":
		return s, fmt.Errorf("default_transaction_isolation is %q: set it to 'read committed' for this user or database", s.isolation)
	}
	return s, nil
}

// durable reports whether a commit that was answered is on the server's disk.
func (s server) durable() bool { return s.fsync == "on" && s.synchronousCommit != "off" }

// note says what the settings mean for people. They are those of this user's sessions when
// the store was opened; a later change shows only after the next start.
func (s server) note() string {
	text := fmt.Sprintf("PostgreSQL %s, fsync=%s, synchronous_commit=%s: ", s.version, s.fsync, s.synchronousCommit)
	switch {
	case s.fsync != "on":
		text += "a crash of the server's machine can lose commits and damage the database"
	case s.synchronousCommit == "off":
		text += "a crash of the server can lose the commits of its last moments, though they were acknowledged"
	case s.standbys == "" || s.synchronousCommit == "local":
		text += "a commit is on the server's disk before it is answered; a failover to a standby can lose the last ones"
	default:
		text += "a commit is on the server's disk, and confirmed by a standby (" + s.standbys + "), before it is answered"
	}
	if s.fullPageWrites != "on" {
		text += "; full_page_writes is off: a loss of power can damage the database unless the file system prevents torn pages"
	}
	return text
}
