package postgres

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

// openSchema opens a database with a program that creates this schema.
func openSchema(t *testing.T, url, schema string) (*Store, error) {
	t.Helper()
	s, err := open(t.Context(), url, Options{}, schema)
	if err == nil {
		t.Cleanup(func() { mustClose(t, s) })
	}
	return s, err
}

// counted leaves a row each time it runs.
const counted = `;
	CREATE TABLE IF NOT EXISTS onereply.runs (at timestamptz DEFAULT now());
	INSERT INTO onereply.runs DEFAULT VALUES`

func TestTenNodesCreateTheSchemaOnce(t *testing.T) {
	url := testservers.Postgres(t)
	stores := make([]*Store, 10)
	var group sync.WaitGroup
	for i := range stores {
		group.Go(func() {
			var err error
			if stores[i], err = openSchema(t, url, schemaStatements+counted); err != nil {
				t.Errorf("Open: %v", err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	if runs := read[int](t, stores[0], `SELECT count(*) FROM onereply.runs`); runs != 1 {
		t.Errorf("the schema was created %d times", runs)
	}
	mustCommit(t, stores[0], message(key("c"), store.Op{}, opOf(1), 1))
	mustCommit(t, stores[9], message(key("c"), opOf(1), opOf(2), 2))
}

// A later program may add to the schema while this one works on it, and this one may
// start again beside it.
func TestASchemaThatANewerProgramExtended(t *testing.T) {
	url := testservers.Postgres(t)
	s := openAt(t, url)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	sql(t, s, `ALTER TABLE onereply.entries ADD COLUMN language text NOT NULL DEFAULT ''`)
	sql(t, s, `UPDATE onereply.schema SET version = 2`)
	mustCommit(t, s, message(key("c"), opOf(1), opOf(2), 2))
	mustCommit(t, openAt(t, url), message(key("c"), opOf(2), opOf(3), 3))
	if version := read[int](t, s, `SELECT version FROM onereply.schema`); version != 2 {
		t.Errorf("the schema has version %d, want 2: this program changed it", version)
	}
}

// The list of what needs attention is short, and finds it without a look at the
// rest.
func TestIdleConversationsDoNotCostTheListOfWhatNeedsAttention(t *testing.T) {
	s := openAt(t, testservers.Postgres(t))
	plantIdle(t, s, 10_000)
	plan := read[string](t, s, "EXPLAIN (FORMAT JSON) "+listAttention, "", "", int64(start+1), "", "", 100)
	if !strings.Contains(plan, "conversations_by_attention") {
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

// A store that is opened to be read creates nothing.
func TestAReaderCreatesNothing(t *testing.T) {
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
	t.Run("a newer one", func(t *testing.T) {
		url := testservers.Postgres(t)
		sql(t, openAt(t, url), `UPDATE onereply.schema SET version = 9, oldest = 9`)
		if _, err := look(url); !errors.Is(err, store.ErrNewerSchema) {
			t.Errorf("Open: got error %v, want ErrNewerSchema", err)
		}
	})
}

func TestASchemaThatFailsLeavesNothingBehind(t *testing.T) {
	url := testservers.Postgres(t)
	_, err := openSchema(t, url, schemaStatements+"; SELECT * FROM nowhere")
	if err == nil || !strings.Contains(err.Error(), "create the schema onereply") {
		t.Fatalf("Open: got error %v, want one about the schema", err)
	}
	if _, err := Open(t.Context(), url, Options{ReadOnly: true}); !errors.Is(err, errNoSchema) {
		t.Errorf("Open to read: got error %v: half of the schema was kept", err)
	}
	mustCommit(t, openAt(t, url), message(key("c"), store.Op{}, opOf(1), 1))
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
