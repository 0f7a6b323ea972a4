package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

func TestAFileOfANewerSchemaIsLeftAlone(t *testing.T) {
	path := newPath(t)
	mustClose(t, openAt(t, path))
	sqlOn(t, path, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion+1))
	before := read(t, path)
	for _, o := range []Options{{}, {ReadOnly: true}} {
		if _, err := Open(path, o); !errors.Is(err, store.ErrNewerSchema) {
			t.Errorf("Open: got error %v, want ErrNewerSchema", err)
		}
	}
	if read(t, path) != before {
		t.Error("Open changed the file")
	}
}

// A record of a newer program is refused, and stays as it is.
func TestARecordOfANewerSchemaIsLeftAlone(t *testing.T) {
	s := openNew(t)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	pragma(t, s, fmt.Sprintf("UPDATE conversations SET schema = %d, record = '{\"new\":true}'", turn.Schema+1))
	before := contents(t, s)
	if _, err := s.Load(t.Context(), key("c")); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("Load: got error %v, want ErrNewerSchema", err)
	}
	if claimed, err := s.Claim(t.Context(), start+10_000, 10, time.Hour); err != nil || len(claimed) != 0 {
		t.Errorf("Claim: got %v, %v; want nothing", claimed, err)
	}
	if removed, err := s.Expire(t.Context(), start+1, start+1, 100); err != nil || removed != 0 {
		t.Errorf("Expire: got %d, %v; want nothing removed", removed, err)
	}
	if after := contents(t, s); !slices.Equal(after, before) {
		t.Errorf("it was changed:\n got %q\nwant %q", after, before)
	}
}

func TestWhoOnlyLooksCreatesNothing(t *testing.T) {
	look := Options{ReadOnly: true}
	missing := newPath(t)
	if _, err := Open(missing, look); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got error %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(missing)); err != nil || len(left) != 0 {
		t.Errorf("no file: it left %v, %v", left, err)
	}
	empty := newPath(t)
	write(t, empty, "")
	if _, err := Open(empty, look); err == nil || !strings.Contains(err.Error(), "there is nothing of onereply") {
		t.Errorf("an empty file: got error %v", err)
	}
	if left := read(t, empty); left != "" {
		t.Errorf("an empty file has %d bytes now", len(left))
	}
	used := newPath(t)
	s := openAt(t, used)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	mustClose(t, s)
	if got := len(mustEntries(t, openWith(t, used, look), key("c"))); got != 1 {
		t.Errorf("a used file: %d entries, want 1", got)
	}
}

// A person who opens the file with sqlite3 must understand what is there.
func TestTheViewsShowWhatWasStored(t *testing.T) {
	s := openNew(t)
	mustCommit(t, s, message(key("Chat 17"), store.Op{}, opOf(1), 1))
	answer := message(key("Chat 17"), opOf(1), opOf(2), 2)
	answer.Append[0].Kind, answer.Append[0].ID, answer.Append[0].Status = store.Reply, "c/1", turn.ReplyFailed
	answer.Append[0].Reason = "410 Gone"
	answer.Append[0].Body = store.Body{Parts: []string{"One.", "Two."}}
	answer.Settle = []turn.Settle{{Through: 1, Status: turn.InputAnswered, ReplySeq: 2}}
	answer.Record.Lease = turn.Lease{Holder: "node-1", Nonce: "x"}
	mustCommit(t, s, answer)
	want := []string{
		"support|Chat 17|1|2025-06-15 15:06:40.000|message|m1|answered||Ann|Hello, where is my order 4711? It should have come on Monday.|2",
		"support|Chat 17|2|2025-06-15 15:06:40.000|reply|c/1|undelivered|410 Gone||[\"One.\",\"Two.\"]|",
	}
	if got := rows(t, s, "SELECT * FROM transcript"); !slices.Equal(got, want) {
		t.Errorf("transcript:\n got %q\nwant %q", got, want)
	}
	want = []string{"support|Chat 17|collecting|2025-06-15 15:06:41.502|2|2|0|node-1|"}
	if got := rows(t, s, "SELECT * FROM waiting"); !slices.Equal(got, want) {
		t.Errorf("waiting:\n got %q\nwant %q", got, want)
	}
}

// rows runs a query and returns its rows as sqlite3 prints them.
func rows(t *testing.T, s *Store, query string) []string {
	t.Helper()
	var lines []string
	err := s.read(t.Context(), func(db *connection) error {
		return db.each(func(row *sqlite3.Stmt) error {
			var columns []string
			for i := range row.ColumnCount() {
				columns = append(columns, row.ColumnText(i))
			}
			lines = append(lines, strings.Join(columns, "|"))
			return nil
		}, query)
	}, "query")
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Every statement finds its rows through an index; only List may walk one.
func TestNoStatementScansATable(t *testing.T) {
	s := openNew(t)
	for _, query := range []string{
		findConversation, updateConversation, loadRecord, listConversations, listAttention, sweepConversations,
		claimID, unclaimID, insertEntry, changeEntry, settleEntries, markReply, releaseID,
		entriesForward, entriesBackward, entryByID, armTimer, clearTimer, dueTimers,
		deleteConversation, deleteEntries, deleteIDs, expireEntries, expireIDs, findForgotten, stillForgotten,
	} {
		for _, step := range plan(t, s, query) {
			if strings.HasPrefix(step, "SCAN") && step != "SCAN CONSTANT ROW" {
				t.Errorf("%s\n  %s", query, step)
			}
		}
	}
}

func plan(t *testing.T, s *Store, query string) (steps []string) {
	t.Helper()
	err := s.read(t.Context(), func(db *connection) error {
		return db.each(func(row *sqlite3.Stmt) error {
			steps = append(steps, row.ColumnText(3))
			return nil
		}, "EXPLAIN QUERY PLAN "+query)
	}, "explain %s", query)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}
