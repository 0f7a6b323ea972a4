package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

// An unknown outcome is settled by loading the record: it carries the op of the
// write that made it.
func TestACommitWhoseOutcomeIsUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		fault   fault
		applied bool
	}{
		"the request is lost": {dropRequest, false},
		"the answer is lost":  {dropAnswer, true},
	} {
		t.Run(name, func(t *testing.T) {
			proxy, url := newProxy(t, testservers.Postgres(t))
			s := openAt(t, url)
			mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
			proxy.next(test.fault)
			_, err := s.Commit(t.Context(), message(key("c"), opOf(1), opOf(2), 2))
			if !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNotApplied) {
				t.Errorf("Commit: got error %v, want ErrUnknown", err)
			}
			if proxy.hits.Load() != 1 {
				t.Fatalf("the fault was hit %d times", proxy.hits.Load())
			}
			if got := mustLoad(t, s, key("c")).Op == opOf(2); got != test.applied {
				t.Errorf("applied: %v, want %v", got, test.applied)
			}
			if got := len(mustEntries(t, s, key("c"))); test.applied != (got == 2) {
				t.Errorf("there are %d entries", got)
			}
		})
	}
}

func TestACommitThatTakesTooLongIsUnknown(t *testing.T) {
	proxy, url := newProxy(t, testservers.Postgres(t))
	s := openAt(t, url)
	proxy.next(keepAnswer)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := s.Commit(ctx, message(key("c"), store.Op{}, opOf(1), 1))
	if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Commit: got error %v, want ErrUnknown and DeadlineExceeded", err)
	}
	poll(t, "the commit is there", func() bool { return mustLoad(t, s, key("c")).Op == opOf(1) })
}

func TestACommitWithoutAServerIsNotApplied(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy, url := newProxy(t, testservers.Postgres(t))
	s := openAt(t, url)
	proxy.server.Store(listener.Addr().String())
	if err := listener.Close(); err != nil { // now nobody listens there
		t.Fatal(err)
	}
	proxy.cut()
	s.pool.Reset()
	if _, err := s.Commit(t.Context(), message(key("c"), store.Op{}, opOf(1), 1)); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("Commit: got error %v, want ErrNotApplied", err)
	}
}

// The server says that it ended the statement, so nothing is left of it.
func TestACommitThatTheServerRefusesIsNotApplied(t *testing.T) {
	url := testservers.Postgres(t)
	s := openAt(t, url)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	impatient := openAt(t, url+"&lock_timeout=50")
	err := s.withConnection(t.Context(), func(db *pgx.Conn) error {
		return pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `SELECT FROM onereply.conversations FOR UPDATE`); err != nil {
				return err
			}
			_, err := impatient.Commit(t.Context(), message(key("c"), opOf(1), opOf(2), 2))
			if !errors.Is(err, store.ErrNotApplied) {
				t.Errorf("Commit: got error %v, want ErrNotApplied", err)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, impatient, message(key("c"), opOf(1), opOf(2), 2))
}

// A session that the administrator ends may have committed a moment before.
func TestACommitWhoseSessionIsEndedIsUnknown(t *testing.T) {
	url := testservers.Postgres(t)
	s, other := openAt(t, url), openAt(t, url+"&application_name=other")
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	err := s.withConnection(t.Context(), func(db *pgx.Conn) error {
		return pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `SELECT FROM onereply.conversations FOR UPDATE`); err != nil {
				return err
			}
			answer := make(chan error, 1)
			go func() {
				_, err := other.Commit(t.Context(), message(key("c"), opOf(1), opOf(2), 2))
				answer <- err
			}()
			poll(t, "the commit waits for the lock", func() bool {
				return read[int](t, s, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
					WHERE application_name = 'other' AND wait_event_type = 'Lock'`) > 0
			})
			if err := receive(t, answer, "the answer to the commit"); !errors.Is(err, store.ErrUnknown) {
				t.Errorf("Commit: got error %v, want ErrUnknown", err)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOutcomes(t *testing.T) {
	refusal := func(severity, code string) error {
		return &pgconn.PgError{SeverityUnlocalized: severity, Code: code}
	}
	for name, test := range map[string]struct {
		err  error
		want error
	}{
		"a constraint":                  {refusal("ERROR", "23505"), store.ErrNotApplied},
		"a deadlock":                    {refusal("ERROR", "40P01"), store.ErrNotApplied},
		"a full disk":                   {refusal("ERROR", "53100"), store.ErrNotApplied},
		"completion unknown":            {refusal("ERROR", "40003"), store.ErrUnknown},
		"the server shuts down":         {refusal("FATAL", "57P01"), store.ErrUnknown},
		"the server crashed":            {refusal("ERROR", "57P02"), store.ErrUnknown},
		"a proxy lost the server":       {&pgconn.PgError{Severity: "FATAL", Code: "08P01"}, store.ErrUnknown},
		"a proxy says so as an error":   {&pgconn.PgError{Severity: "ERROR", Code: "08006"}, store.ErrUnknown},
		"the server panicked":           {refusal("PANIC", "XX000"), store.ErrUnknown},
		"the connection broke":          {net.ErrClosed, store.ErrUnknown},
		"nothing was sent":              {fmt.Errorf("%w: %w", errNotSent, net.ErrClosed), store.ErrNotApplied},
		"no time was left":              {context.DeadlineExceeded, store.ErrUnknown},
		"no time was left for a lookup": {fmt.Errorf("%w: %w", errNotSent, context.DeadlineExceeded), store.ErrNotApplied},
	} {
		if got := outcome(test.err); !errors.Is(got, test.want) || !errors.Is(got, test.err) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestWritesThatNoCorrectCallerMakesAreRefused(t *testing.T) {
	s := openNew(t)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 5))
	twice := message(key("c"), opOf(1), opOf(2), 6)
	twice.Append = append(twice.Append, twice.Append[0])
	unnamed := message(key("c"), opOf(1), store.Op{}, 6)
	old := message(key("c"), opOf(1), opOf(2), 5)
	old.Append[0].ID = "another"
	badID := message(key("c"), opOf(1), opOf(2), 6)
	badID.Append[0].ID = "a\x00b"
	for name, write := range map[string]store.Write{
		"no op":                         unnamed,
		"a sequence twice":              twice,
		"a sequence that is not new":    old,
		"a sequence of zero":            message(key("new"), store.Op{}, opOf(2), 0),
		"an id with NUL":                badID,
		"a conversation with NUL":       message(key("a\x00b"), store.Op{}, opOf(2), 1),
		"a conversation that is no UTF": message(key("\xff"), store.Op{}, opOf(2), 1),
	} {
		if _, err := s.Commit(t.Context(), write); !errors.Is(err, store.ErrNotApplied) {
			t.Errorf("%s: got error %v, want ErrNotApplied", name, err)
		}
	}
	if got := mustLoad(t, s, key("c")).Op; got != opOf(1) {
		t.Errorf("the record has op %v", got)
	}
	if got := read[int](t, s, `SELECT count(*) FROM onereply.conversations`); got != 1 {
		t.Errorf("there are %d conversations, want 1", got)
	}
}

// When the network cuts all connections, one call learns it for all of them.
func TestOneCallFailsWhenAllConnectionsAreLost(t *testing.T) {
	proxy, url := newProxy(t, testservers.Postgres(t))
	s := openAt(t, url+"&hints=off")
	var held []*pgxpool.Conn
	for range 5 {
		connection, err := s.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, connection)
	}
	for _, connection := range held {
		connection.Release()
	}
	proxy.cut()
	failed := 0
	for range 5 {
		if _, err := s.Load(t.Context(), key("c")); err != nil {
			failed++
		}
	}
	if failed > 1 {
		t.Errorf("%d calls failed", failed)
	}
}

// The store goes on by itself, with all that was answered, after its server
// crashed and came back.
func TestTheServerCrashesAndComesBack(t *testing.T) {
	server := testservers.NewPostgres(t)
	s := openAt(t, server.URL(t))
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	server.Kill(t)
	_, err := s.Commit(t.Context(), message(key("c"), opOf(1), opOf(2), 2))
	if !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("Commit: got error %v, want one that says what is known", err)
	}
	server.Start(t)
	poll(t, "the store can be read", func() bool {
		snapshot, err := s.Load(t.Context(), key("c"))
		return err == nil && snapshot.Op == opOf(1)
	})
	mustCommit(t, s, message(key("c"), opOf(1), opOf(2), 2))
}
