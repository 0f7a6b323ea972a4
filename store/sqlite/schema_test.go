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

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

func TestAFileOfANewerSchemaIsLeftAlone(t *testing.T) {
	path := newPath(t)
	mustClose(t, openAt(t, path))
	sqlOn(t, path, fmt.Sprintf("PRAGMA user_version = %d", len(migrations())+1))
	before := read(t, path)
	_, err := Open(path, Options{})
	if !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("Open: got error %v, want ErrNewerSchema", err)
	}
	if read(t, path) != before {
		t.Error("Open changed the file")
	}
}

// Files of every version that was ever released must open with what they hold.
func TestMigrationFromEachVersion(t *testing.T) {
	steps := append(migrations(), "ALTER TABLE entries ADD COLUMN language TEXT")
	for version := 1; version <= len(steps); version++ {
		path := newPath(t)
		old, err := open(path, Options{}, steps[:version])
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		mustClose(t, old)
		sqlOn(t, path, writtenByVersion1)
		migrated, err := open(path, Options{}, steps)
		if err != nil {
			t.Fatalf("from version %d: %v", version, err)
		}
		if got := len(mustEntries(t, migrated, key("c"))); got != 1 {
			t.Errorf("from version %d: %d entries, want 1", version, got)
		}
		if got := needingAttention(t, migrated); version == 1 && got != "failed held" {
			t.Errorf("from version %d: %q need attention, want those that failed", version, got)
		}
		mustCommit(t, migrated, message(key("c"), opOf(1), opOf(2), 2))
		mustClose(t, migrated)
		if _, err := open(path, Options{}, steps[:len(steps)-1]); !errors.Is(err, store.ErrNewerSchema) {
			t.Errorf("an older program: got error %v, want ErrNewerSchema", err)
		}
	}
}

// Who only looks changes nothing, whatever is there.
func TestWhoOnlyLooksMigratesNothing(t *testing.T) {
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
	steps := append(migrations(), "ALTER TABLE entries ADD COLUMN language TEXT")
	for version := 1; version < len(steps); version++ {
		path := newPath(t)
		old, err := open(path, Options{}, steps[:version])
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, old)
		sqlOn(t, path, writtenByVersion1)
		s, err := open(path, look, steps)
		switch {
		case version == 1: // it does not know what needs attention
			if err == nil || !strings.Contains(err.Error(), "run onereply migrate first") {
				t.Errorf("schema 1: got error %v", err)
			}
		case err != nil:
			t.Errorf("schema %d: %v", version, err)
		default:
			if got := len(mustEntries(t, s, key("c"))); got != 1 {
				t.Errorf("schema %d: %d entries, want 1", version, got)
			}
			mustClose(t, s)
		}
		if again, err := open(path, Options{}, steps[:version]); err != nil {
			t.Errorf("schema %d: it was migrated: %v", version, err)
		} else {
			mustClose(t, again)
		}
	}
}

// writtenByVersion1 is what the first release wrote: a conversation with a message,
// one that failed, and one that failed and was paused. Whatever later versions
// added has a default.
const writtenByVersion1 = `
	INSERT INTO conversations (bot, conversation, phase, active_ms, last_seq, schema, op, record) VALUES
		('support', 'c', 'collecting', 1, 1, 1, x'00000000000000000000000000000001', '{"schema":1,"phase":"collecting","version":1,"answered":0,"seq":1}'),
		('support', 'held', 'paused', 2, 0, 1, x'00000000000000000000000000000002', '{"schema":1,"phase":"failed","on_hold":true,"version":1,"answered":0}'),
		('support', 'failed', 'failed', 3, 0, 1, x'00000000000000000000000000000003', '{"schema":1,"phase":"failed","version":1,"answered":0}');
	INSERT INTO entries (conversation_id, seq, kind, id, status, at_ms, version, reply_seq, body) VALUES
		((SELECT id FROM conversations WHERE conversation = 'c'), 1, 'message', 'm1', 'pending', 1, 1, 0, '{"text":"hello"}');
	INSERT INTO message_ids (conversation_id, message_id, seq, claimed_ms) VALUES
		((SELECT id FROM conversations WHERE conversation = 'c'), 'm1', 1, 1)`

// needingAttention is the names of the conversations in that list.
func needingAttention(t *testing.T, s *Store) string {
	t.Helper()
	page, err := s.List(t.Context(), store.ListQuery{Attention: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range page.Items {
		names = append(names, item.Key.Conversation)
	}
	return strings.Join(names, " ")
}

func TestAMigrationThatFailsChangesNothing(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	mustClose(t, s)
	steps := append(migrations(), "DELETE FROM entries; SELECT * FROM nowhere")
	if _, err := open(path, Options{}, steps); err == nil || !strings.Contains(err.Error(), "migrate from schema") {
		t.Fatalf("Open: got error %v, want one about the migration", err)
	}
	s = openAt(t, path)
	if got := len(mustEntries(t, s, key("c"))); got != 1 {
		t.Errorf("%d entries, want 1: half of a migration was kept", got)
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

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("!")
	f.Add("bm90IGpzb24")
	f.Add(place{Active: start, Key: key("c\x00\"é")}.String())
	f.Fuzz(func(t *testing.T, cursor string) {
		p, err := parsePlace(cursor)
		if err != nil {
			return
		}
		again, err := parsePlace(p.String())
		if err != nil || again.Active != p.Active {
			t.Errorf("%q: got %+v, then %+v, %v", cursor, p, again, err)
		}
	})
}
