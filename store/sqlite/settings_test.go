package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

// TestSettingsOfConnections asks SQLite what each connection was told: without one of
// these a commit may not be on the disk when it is answered, and no other test on a
// disk that works would see that.
func TestSettingsOfConnections(t *testing.T) {
	s := openNew(t)
	always := map[string]int64{
		"synchronous": 2 /* FULL */, "fullfsync": 1, "checkpoint_fullfsync": 1, "temp_store": 2 /* memory */, "busy_timeout": 5000,
	}
	check := func(db *connection, who string, settings map[string]int64) error {
		for name, want := range settings {
			got, err := number(db, "PRAGMA "+name)
			if err != nil || got != want {
				t.Errorf("%s: %s is %d, %v; want %d", who, name, got, err, want)
			}
		}
		return nil
	}
	err := s.write(t.Context(), func(db *connection) error {
		return errors.Join(check(db, "writer", always), check(db, "writer", map[string]int64{
			"query_only": 0, "secure_delete": 1, "wal_autocheckpoint": 8000, "journal_size_limit": 64_000 * 1024, "cache_size": -32_000,
		}))
	}, "settings")
	if err != nil {
		t.Fatal(err)
	}
	err = s.read(t.Context(), func(db *connection) error {
		return errors.Join(check(db, "reader", always), check(db, "reader", map[string]int64{"query_only": 1}))
	}, "settings")
	if err != nil {
		t.Fatal(err)
	}
}

func TestOptions(t *testing.T) {
	for readers, good := range map[int]bool{-1: false, 0: true, 1: true, 64: true, 65: false} {
		if err := (Options{Readers: readers}).Validate(); (err == nil) != good {
			t.Errorf("%d readers: got error %v", readers, err)
		}
	}
}

// TestSoManyReadsRunAtOnce: as many as there are readers, and the next one waits for
// one of them, or until its context ends.
func TestSoManyReadsRunAtOnce(t *testing.T) {
	for given, count := range map[int]int{0: 4, 2: 2} {
		s := openWith(t, newPath(t), Options{Readers: given})
		if got := cap(s.readers.free); got != count {
			t.Errorf("%d readers given: there are %d", given, got)
		}
		goOn, running, ended := make(chan struct{}), make(chan struct{}), make(chan error)
		for range count {
			go func() {
				ended <- s.read(context.Background(), func(*connection) error {
					running <- struct{}{}
					<-goOn
					return nil
				}, "stand")
			}()
		}
		for range count {
			receive(t, running, "a read runs")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := s.Load(ctx, key("c")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d readers are busy, and another read: got error %v", count, err)
		}
		cancel()
		close(goOn)
		for range count {
			if err := receive(t, ended, "the end of a read"); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Load(t.Context(), key("c")); err != nil {
			t.Error(err)
		}
	}
}

// TestAReaderThatIsOfNoUseIsReplaced, and one that merely failed is not.
func TestAReaderThatIsOfNoUseIsReplaced(t *testing.T) {
	for _, test := range []struct {
		cause    error
		replaced bool
	}{{sqlite3.CORRUPT, true}, {sqlite3.IOERR, false}} {
		s := openWith(t, newPath(t), Options{Readers: 1})
		var first, second *connection
		if err := s.read(t.Context(), func(db *connection) error { first = db; return test.cause }, "fail"); !errors.Is(err, test.cause) {
			t.Errorf("got error %v, want %v", err, test.cause)
		}
		if err := s.read(t.Context(), func(db *connection) error { second = db; return nil }, "go on"); err != nil {
			t.Error(err)
		}
		if (first != second) != test.replaced {
			t.Errorf("%v: replaced: %v, want %v", test.cause, first != second, test.replaced)
		}
	}
}

// TestALongReadIsInterrupted: it ends with its context, and the connection is good
// for the next one.
func TestALongReadIsInterrupted(t *testing.T) {
	s := openWith(t, newPath(t), Options{Readers: 1})
	ctx, cancel := context.WithCancel(t.Context())
	err := s.read(ctx, func(db *connection) error {
		cancel()
		_, err := number(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 1000000000) SELECT max(i) FROM n")
		return err
	}, "count")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want that it was cancelled", err)
	}
	if _, err := s.Load(t.Context(), key("c")); err != nil {
		t.Errorf("the next read: %v", err)
	}
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s := openNew(t)
	mustClose(t, s)
	mustClose(t, s)
	_, load := s.Load(t.Context(), key("c"))
	_, now := s.Now(t.Context())
	_, expire := s.Expire(t.Context(), start, start, 0)
	for name, err := range map[string]error{"Load": load, "Now": now, "Expire": expire, "Delete": s.Delete(t.Context(), key("c"))} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: got error %v, want closed", name, err)
		}
	}
}

func TestNowEndsWithItsContext(t *testing.T) {
	s := openNew(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Now(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Now: got error %v", err)
	}
	if _, err := s.Expire(ctx, start, start, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Expire: got error %v", err)
	}
}

func TestAnArgumentThatNoColumnTakes(t *testing.T) {
	s := openNew(t)
	err := s.read(t.Context(), func(db *connection) error {
		_, err := db.one(func(*sqlite3.Stmt) error { return nil }, "SELECT ?1", 1.5)
		return err
	}, "bind")
	if err == nil {
		t.Error("it was taken")
	}
	for value, want := range map[any]string{int64(7): "7", 8: "8", "text": "text", nil: ""} {
		got := ""
		err := s.read(t.Context(), func(db *connection) error {
			_, err := db.one(func(row *sqlite3.Stmt) error { got = row.ColumnText(0); return nil }, "SELECT ?1", value)
			return err
		}, "bind")
		if err != nil || got != want {
			t.Errorf("%v: got %q, %v", value, got, err)
		}
	}
}

// TestExpireGoesOnUntilNothingIsLeft, beyond one transaction, and stops at its limit.
func TestExpireGoesOnUntilNothingIsLeft(t *testing.T) {
	const conversations = 2*expireStep + 30
	fill := func(t *testing.T) *Store {
		s := openNew(t)
		var writes []store.Write
		for i := range conversations {
			w := message(key(fmt.Sprint(i)), store.Op{}, opOf(uint64(i+1)), 1)
			w.Append[0].Status = "answered"
			w.Record.Phase, w.Timer = "idle", 0
			writes = append(writes, w)
		}
		for len(writes) > 0 {
			n := min(len(writes), maxBatch)
			mustTogether(t, s, writes[:n]...)
			writes = writes[n:]
		}
		return s
	}
	s := fill(t)
	if got, err := s.Expire(t.Context(), start+1, start, 10_000); err != nil || got != conversations {
		t.Errorf("entries: removed %d, %v; want %d", got, err, conversations)
	}
	if got, err := s.Expire(t.Context(), start+1, start+1, 10_000); err != nil || got != 2*conversations {
		t.Errorf("ids and conversations: removed %d, %v; want %d", got, err, 2*conversations)
	}
	if left := contents(t, s); len(left) != 0 {
		t.Errorf("%d rows are left", len(left))
	}
	s = fill(t)
	for _, limit := range []int{0, 1, expireStep, expireStep + 1} {
		if got, err := s.Expire(t.Context(), start+1, start, limit); err != nil || got != limit {
			t.Errorf("limit %d: removed %d, %v", limit, got, err)
		}
	}
	left := conversations - (2*expireStep + 2)
	if got := rows(t, s, "SELECT count(*) FROM entries")[0]; got != fmt.Sprint(left) {
		t.Errorf("%s entries are left, want %d", got, left)
	}
	// The rest of a limit is for ids, and what remains of it for conversations.
	if got, err := s.Expire(t.Context(), start+1, start+1, left+conversations+1); err != nil || got != left+conversations+1 {
		t.Errorf("removed %d, %v; want %d", got, err, left+conversations+1)
	}
	if got := rows(t, s, "SELECT count(*) FROM conversations")[0]; got != fmt.Sprint(conversations-1) {
		t.Errorf("%s conversations are left, want %d", got, conversations-1)
	}
}

// TestAnExpiryThatIsCutOff says so, and counts nothing, in each of its steps.
func TestAnExpiryThatIsCutOff(t *testing.T) {
	s := openNew(t)
	w := message(key("a"), store.Op{}, opOf(1), 1)
	w.Append[0].Status = "answered"
	w.Record.Phase, w.Timer = "idle", 0
	mustCommit(t, s, w)
	for i, step := range []func(context.Context) (int, error){
		func(ctx context.Context) (int, error) { return s.expireEntries(ctx, start+1, 10) },
		func(ctx context.Context) (int, error) { return s.expireIDs(ctx, start+1, 10) },
		func(ctx context.Context) (int, error) { return s.expireConversations(ctx, start+1, 10) },
	} {
		release := hold(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		cutOff := make(chan error, 1)
		go func() {
			count, err := step(ctx)
			if count != 0 {
				err = fmt.Errorf("it counts %d", count)
			}
			cutOff <- err
		}()
		awaitWaiting(t, s, 1)
		cancel()
		if err := receive(t, cutOff, "the end of the step"); !errors.Is(err, store.ErrNotApplied) {
			t.Errorf("step %d: %v", i, err)
		}
		release()
		if count, err := step(t.Context()); count != 1 || err != nil {
			t.Errorf("step %d: %d, %v", i, count, err)
		}
	}
}

// TestWhatTheStoreIsCalled, in a word and in a sentence.
func TestWhatTheStoreIsCalled(t *testing.T) {
	s := openNew(t)
	if g := s.Guarantees(); g.Name != "sqlite" || !strings.Contains(g.Note, s.path) {
		t.Errorf("it is called %q: %q", g.Name, g.Note)
	}
}

// TestAConnectionToNoFile is an error that says so.
func TestAConnectionToNoFile(t *testing.T) {
	if _, err := connect(newPath(t), (Options{}).register()); !errors.Is(err, sqlite3.CANTOPEN) {
		t.Errorf("got error %v", err)
	}
}
