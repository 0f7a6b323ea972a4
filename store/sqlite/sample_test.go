package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// writeSample in the environment has TestTheSampleOfTheSchema write its sample.
const writeSample = "ONEREPLY_WRITE_SAMPLE"

// samplePath is a file of a schema as SQL: each later program must open it. A
// program with a new schema gets a sample of its own beside it; a sample of a schema
// that was released is never written again.
func samplePath(version int) string {
	return filepath.Join("testdata", fmt.Sprintf("schema-%d.sql", version))
}

// sampled are the writes of which a sample is made: a conversation that waits, one that was
// answered, one that failed.
func sampled() []store.Write {
	answered := message(key("answered"), opOf(2), opOf(3), 2)
	answered.Record.Phase, answered.Timer = turn.Idle, 0
	answered.Append[0] = store.Entry{
		Seq: 2, Kind: store.Reply, ID: "answered/1", Status: turn.ReplySent, At: start + 2000, Version: 1,
		Body: store.Body{Parts: []string{"It comes on Monday.", "Sorry!"}, Covers: []string{"m1"}},
	}
	answered.Settle = []turn.Settle{{Through: 1, Status: turn.InputAnswered, ReplySeq: 2}}
	failed := message(key("failed"), store.Op{}, opOf(4), 1)
	failed.Record.Phase, failed.Timer = turn.Failed, 0
	return []store.Write{
		message(key("waiting"), store.Op{}, opOf(1), 1),
		message(key("answered"), store.Op{}, opOf(2), 1),
		answered,
		failed,
	}
}

// TestTheSampleOfTheSchema: the tables that this program makes are those of the
// sample, on which later programs are tried. Where this fails, the schema has changed:
// give it the next version, and a sample of its own.
func TestTheSampleOfTheSchema(t *testing.T) {
	s := openNew(t)
	for _, w := range sampled() {
		mustCommit(t, s, w)
	}
	got := dump(t, s)
	path := samplePath(schemaVersion)
	if os.Getenv(writeSample) != "" {
		write(t, path, got)
	}
	got, _, _ = strings.Cut(got, "INSERT")
	if want, _, _ := strings.Cut(read(t, path), "INSERT"); got != want {
		t.Errorf("%s differs from the tables that are made now:\n%s", path, got)
	}
}

// TestEachSampleOpens has this program open a file of each schema, read all of it and
// go on with it.
func TestEachSampleOpens(t *testing.T) {
	for version := 1; version <= schemaVersion; version++ {
		path := newPath(t)
		sqlOn(t, path, read(t, samplePath(version)))
		s := openAt(t, path)
		var shown []string
		page, err := s.List(t.Context(), store.ListQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			shown = append(shown, fmt.Sprint(item.Key.Conversation, " ", item.Snapshot.Record.Phase, " ", len(mustEntries(t, s, item.Key)), " ", item.Err))
		}
		slices.Sort(shown)
		if want := []string{"answered idle 2 <nil>", "failed failed 1 <nil>", "waiting collecting 1 <nil>"}; !slices.Equal(shown, want) {
			t.Errorf("schema %d: got %q, want %q", version, shown, want)
		}
		if reply := mustEntries(t, s, key("answered"))[1]; reply.Status != turn.ReplySent || len(reply.Parts) != 2 || reply.Covers[0] != "m1" {
			t.Errorf("schema %d: the reply is %+v", version, reply)
		}
		if due, err := s.Due(t.Context(), start+10_000, 10); err != nil || len(due) != 1 || due[0].Key != key("waiting") {
			t.Errorf("schema %d: %v, %v are due", version, due, err)
		}
		mustCommit(t, s, message(key("waiting"), opOf(1), opOf(9), 2))
	}
}

// dump is a database as SQL that makes it again.
func dump(t *testing.T, s *Store) string {
	t.Helper()
	var text strings.Builder
	for _, pragma := range []string{"application_id", "user_version"} {
		fmt.Fprintf(&text, "PRAGMA %s = %s;\n", pragma, rows(t, s, "PRAGMA "+pragma)[0])
	}
	for _, statement := range rows(t, s, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rootpage = 0, rootpage, name") {
		fmt.Fprintf(&text, "%s;\n", statement)
	}
	for _, table := range rows(t, s, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
		err := s.read(t.Context(), func(db *connection) error {
			return db.each(func(row *sqlite3.Stmt) error {
				fmt.Fprintf(&text, "INSERT INTO %s VALUES (%s);\n", table, row.ColumnText(0))
				return nil
			}, fmt.Sprintf("SELECT %s FROM %s", quoted(t, s, table), table))
		}, "dump")
		if err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

// quoted is an expression that gives a row of a table as SQL.
func quoted(t *testing.T, s *Store, table string) string {
	t.Helper()
	var columns []string
	for _, column := range rows(t, s, "SELECT name FROM pragma_table_info('"+table+"')") {
		columns = append(columns, "quote("+column+")")
	}
	return strings.Join(columns, " || ', ' || ")
}
