package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// counted is a step that leaves a row each time it runs.
var counted = migration{
	statements: `CREATE TABLE IF NOT EXISTS onereply.runs (at timestamptz DEFAULT now());
		INSERT INTO onereply.runs DEFAULT VALUES`,
	oldest: 1,
}

// openSteps opens a database with a program that knows these steps.
func openSteps(t *testing.T, url string, steps ...migration) (*Store, error) {
	t.Helper()
	s, err := open(t.Context(), url, Options{}, steps)
	if err == nil {
		t.Cleanup(func() { mustClose(t, s) })
	}
	return s, err
}

func TestTenNodesMigrateAnEmptyDatabaseOnce(t *testing.T) {
	url := testservers.Postgres(t)
	steps := append(migrations(), counted)
	stores := make([]*Store, 10)
	var group sync.WaitGroup
	for i := range stores {
		group.Go(func() {
			var err error
			if stores[i], err = openSteps(t, url, steps...); err != nil {
				t.Errorf("Open: %v", err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	if runs := read[int](t, stores[0], `SELECT count(*) FROM onereply.runs`); runs != 1 {
		t.Errorf("the migration ran %d times", runs)
	}
	mustCommit(t, stores[0], message(key("c"), store.Op{}, opOf(1), 1))
	mustCommit(t, stores[9], message(key("c"), opOf(1), opOf(2), 2))
}

func TestAnUpToDateDatabaseIsNotMigrated(t *testing.T) {
	url := testservers.Postgres(t)
	for range 2 {
		s, err := openSteps(t, url, append(migrations(), counted)...)
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		if runs := read[int](t, s, `SELECT count(*) FROM onereply.runs`); runs != 1 {
			t.Errorf("the migration ran %d times", runs)
		}
	}
}

// An upgrade with one old and one new node on the same schema.
func TestARollingUpgrade(t *testing.T) {
	url := testservers.Postgres(t)
	expand := migration{statements: `ALTER TABLE onereply.entries ADD COLUMN language text NOT NULL DEFAULT ''`, oldest: 1}
	first := migrations()
	second := append(migrations(), expand)
	contract := migration{statements: `ALTER TABLE onereply.entries DROP COLUMN language`, oldest: len(second)}
	third := append(second, contract)

	old, err := openSteps(t, url, first...)
	if err != nil {
		t.Fatalf("the first release: %v", err)
	}
	mustCommit(t, old, message(key("c"), store.Op{}, opOf(1), 1))
	upgraded, err := openSteps(t, url, second...)
	if err != nil {
		t.Fatalf("the second release: %v", err)
	}
	mustCommit(t, old, message(key("c"), opOf(1), opOf(2), 2))
	mustCommit(t, upgraded, message(key("c"), opOf(2), opOf(3), 3))
	again, err := openSteps(t, url, first...)
	if err != nil {
		t.Fatalf("the first release starts again beside the second: %v", err)
	}
	mustCommit(t, again, message(key("c"), opOf(3), opOf(4), 4))

	if _, err := openSteps(t, url, third...); err != nil {
		t.Fatalf("the third release: %v", err)
	}
	if _, err := openSteps(t, url, first...); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("the first release beside the third: got error %v, want ErrNewerSchema", err)
	}
	if _, err := openSteps(t, url, second...); err != nil {
		t.Errorf("the second release beside the third: %v", err)
	}
	if version := read[int](t, old, `SELECT version FROM onereply.schema`); version != len(third) {
		t.Errorf("the schema has version %d, want %d: an old program changed it", version, len(third))
	}
}

// A node of the first release works on beside newer ones, and what it writes is in
// the list that it does not know of.
func TestAnOldNodeFeedsTheListOfWhatNeedsAttention(t *testing.T) {
	url := testservers.Postgres(t)
	old, err := openSteps(t, url, migrations()[:1]...)
	if err != nil {
		t.Fatalf("the first release: %v", err)
	}
	failing := func(conversation string, expect, op store.Op, held bool) store.Write {
		write := message(key(conversation), expect, op, 1)
		write.Append, write.Record.Phase, write.Record.OnHold = nil, turn.Failed, held
		return write
	}
	mustCommit(t, old, failing("before", store.Op{}, opOf(1), false))
	upgraded := openAt(t, url)
	mustCommit(t, old, failing("after", store.Op{}, opOf(2), true))
	mustCommit(t, upgraded, failing("new", store.Op{}, opOf(3), true))
	calm := message(key("before"), opOf(1), opOf(4), 2)
	mustCommit(t, old, calm)
	again, err := openSteps(t, url, migrations()[:1]...)
	if err != nil {
		t.Fatalf("the first release starts again beside the second: %v", err)
	}
	mustCommit(t, again, failing("last", store.Op{}, opOf(5), false))
	page, err := upgraded.List(t.Context(), store.ListQuery{Attention: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range page.Items {
		names = append(names, item.Key.Conversation)
	}
	slices.Sort(names)
	if want := []string{"after", "last", "new"}; !slices.Equal(names, want) {
		t.Errorf("%q need attention, want %q", names, want)
	}
}

// The list of what needs attention is short, and finds it without a look at the
// rest.
func TestIdleConversationsDoNotCostTheListOfWhatNeedsAttention(t *testing.T) {
	s := openAt(t, testservers.Postgres(t))
	plantIdle(t, s, 10_000)
	plan := read[string](t, s, "EXPLAIN (FORMAT JSON) "+listAttention, "", "", int64(start+1), "", "", 100)
	if !strings.Contains(plan, "conversations_for_people") {
		t.Errorf("it does not use its index:\n%s", plan)
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	url := testservers.Postgres(t)
	s := openAt(t, url)
	sql(t, s, `UPDATE onereply.schema SET version = 9, oldest = 9`)
	if _, err := Open(t.Context(), url, Options{}); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("Open: got error %v, want ErrNewerSchema", err)
	}
	if version := read[int](t, s, `SELECT version FROM onereply.schema`); version != 9 {
		t.Errorf("Open changed the schema to version %d", version)
	}
}

// Who only looks changes nothing, whatever is there.
func TestWhoOnlyLooksMigratesNothing(t *testing.T) {
	look := func(url string) (*Store, error) {
		return Open(t.Context(), url, Options{ReadOnly: true, NoHints: true})
	}
	t.Run("nothing there", func(t *testing.T) {
		url := testservers.Postgres(t)
		for range 2 {
			if _, err := look(url); err == nil || !strings.Contains(err.Error(), "there is nothing of onereply") {
				t.Errorf("Open: got error %v", err)
			}
		}
		if s := openAt(t, url); len(mustEntries(t, s, key("c"))) != 0 {
			t.Error("a node can't begin there")
		}
	})
	t.Run("an older schema", func(t *testing.T) {
		url := testservers.Postgres(t)
		old, err := openSteps(t, url, migrations()[:1]...)
		if err != nil {
			t.Fatal(err)
		}
		mustCommit(t, old, message(key("c"), store.Op{}, opOf(1), 1))
		s, err := look(url)
		if err != nil {
			t.Fatal(err)
		}
		defer mustClose(t, s)
		if found, _, err := s.Sweep(t.Context(), "", 10); err != nil || len(found) != 1 {
			t.Errorf("Sweep: got %v, %v", found, err)
		}
		if page, err := s.List(t.Context(), store.ListQuery{Attention: true}); err != nil || len(page.Items) != 0 {
			t.Errorf("List: got %v, %v", page, err)
		}
		if version := read[int](t, old, `SELECT version FROM onereply.schema`); version != 1 {
			t.Errorf("it was migrated to version %d", version)
		}
	})
	t.Run("one that is too old to be read", func(t *testing.T) {
		url := testservers.Postgres(t)
		old, err := openSteps(t, url, migrations()[:1]...)
		if err != nil {
			t.Fatal(err)
		}
		sql(t, old, `ALTER TABLE onereply.entries RENAME COLUMN reason TO why`)
		if _, err := look(url); err == nil || !strings.Contains(err.Error(), "run onereply migrate first") {
			t.Errorf("Open: got error %v", err)
		}
	})
	t.Run("a newer one", func(t *testing.T) {
		url := testservers.Postgres(t)
		sql(t, openAt(t, url), `UPDATE onereply.schema SET version = 9, oldest = 9`)
		if _, err := look(url); !errors.Is(err, store.ErrNewerSchema) {
			t.Errorf("Open: got error %v, want ErrNewerSchema", err)
		}
	})
}

func TestAMigrationThatFailsChangesNothing(t *testing.T) {
	url := testservers.Postgres(t)
	broken := migration{statements: `DELETE FROM onereply.conversations; SELECT * FROM nowhere`, oldest: 1}
	s := openAt(t, url)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	_, err := openSteps(t, url, append(migrations(), broken)...)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("migrate from schema ", len(migrations()))) {
		t.Fatalf("Open: got error %v, want one about the migration", err)
	}
	if got := mustLoad(t, s, key("c")).Op; got != opOf(1) {
		t.Errorf("the conversation has op %v: half of a migration was kept", got)
	}
}

// Servers on which the store would not keep its promise are refused, and the
// error says what to do.
func TestServersThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ settings, parameter, want string }{
		"an encoding that can't keep names":   {"ENCODING 'LATIN1' TEMPLATE template0", "", "ENCODING 'UTF8'"},
		"an isolation that hides new commits": {"", "&default_transaction_isolation=serializable", "'read committed'"},
	} {
		t.Run(name, func(t *testing.T) {
			url := testservers.PostgresDatabase(t, test.settings) + test.parameter
			if _, err := Open(t.Context(), url, Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Open: got error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestGuaranteesFollowTheSettings(t *testing.T) {
	for _, test := range []struct {
		parameter string
		durable   bool
		note      string
	}{
		{"", true, "a commit is on the server's disk before it is answered"},
		{"&synchronous_commit=local", true, "a failover to a standby can lose the last ones"},
		{"&synchronous_commit=off", false, "can lose the commits of its last moments, though they were acknowledged"},
	} {
		got := openAt(t, testservers.Postgres(t)+test.parameter).Guarantees()
		if got.Durable != test.durable || !strings.Contains(got.Note, test.note) {
			t.Errorf("%q: got %+v, want durable %v and %q", test.parameter, got, test.durable, test.note)
		}
	}
	unsafe := server{fsync: "off", synchronousCommit: "on", fullPageWrites: "off"}
	if unsafe.durable() || !strings.Contains(unsafe.note(), "damage the database") {
		t.Errorf("fsync=off: %v, %q", unsafe.durable(), unsafe.note())
	}
	confirmed := server{fsync: "on", synchronousCommit: "on", fullPageWrites: "on", standbys: "ANY 1 (a, b)"}
	if !confirmed.durable() || !strings.Contains(confirmed.note(), "confirmed by a standby (ANY 1 (a, b))") {
		t.Errorf("with standbys: %v, %q", confirmed.durable(), confirmed.note())
	}
}
