package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// TestAWholeTurnOfLargeMessagesIsSettled: they are 250 MiB, which no connection may have
// in its memory. The smallest input that was found to end the process is 800 messages of
// 65,500 times U+0001, which is six bytes in JSON.
func TestAWholeTurnOfLargeMessagesIsSettled(t *testing.T) {
	for name, turnOf := range map[string]struct {
		messages int
		text     string
	}{
		"4000 of 64 KiB":     {4000, strings.Repeat("x", 64<<10)},
		"800 of 65500 × \\1": {800, strings.Repeat("\x01", 65500)},
	} {
		t.Run(name, func(t *testing.T) {
			s := openNew(t)
			op := waitingMessages(t, s, key("c"), turnOf.messages, turnOf.text)
			seq := int64(turnOf.messages) + 1
			settle := message(key("c"), op, opOf(1<<40), seq)
			settle.Append = nil
			settle.Settle = []turn.Settle{{Through: seq, Status: turn.InputAnswered, ReplySeq: seq}}
			mustCommit(t, s, settle)
			left := entriesBy(t, s, key("c"), store.EntryQuery{Status: turn.InputPending, Limit: 1})
			if len(left) != 0 {
				t.Errorf("message %d still waits", left[0].Seq)
			}
			last := entriesBy(t, s, key("c"), store.EntryQuery{Backward: true, Limit: 1})
			if len(last) != 1 || last[0].Status != turn.InputAnswered || last[0].ReplySeq != seq || last[0].Text != turnOf.text {
				t.Errorf("the last message is not what was sent, or not answered")
			}
			if err := s.Delete(t.Context(), key("c")); err != nil {
				t.Errorf("Delete: %v", err)
			}
		})
	}
}

func entriesBy(t *testing.T, s *Store, key store.Key, query store.EntryQuery) []store.Entry {
	t.Helper()
	entries, _, err := s.Entries(t.Context(), key, query)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// waitingMessages writes a conversation in which so many messages wait, and returns the
// Op of its record.
func waitingMessages(t *testing.T, s *Store, key store.Key, count int, text string) (op store.Op) {
	t.Helper()
	for seq := int64(1); seq <= int64(count); {
		next := opOf(uint64(seq))
		w := message(key, op, next, seq)
		entry := w.Append[0]
		w.Append = nil
		for range min(50, count-int(seq)+1) {
			entry.Seq, entry.Version, entry.ID, entry.Text = seq, seq, fmt.Sprint("m", seq), text
			w.Append = append(w.Append, entry)
			seq++
		}
		mustCommit(t, s, w)
		op = next
	}
	return op
}

// greedy is a statement for which a connection does not have the memory.
const greedy = "WITH RECURSIVE n(i, t) AS (SELECT 1, zeroblob(1000000) UNION ALL SELECT i+1, zeroblob(1000000+i) FROM n LIMIT 1000) SELECT count(*) FROM (SELECT t FROM n ORDER BY t)"

// TestWhereTheDriverPanics: the write fails and says what to do, those that share its
// transaction do not, and the store goes on. The same for a read.
func TestWhereTheDriverPanics(t *testing.T) {
	s := openWith(t, newPath(t), Options{Readers: 1})
	release := hold(t, s)
	outcomes := make(chan error, 3)
	for i, apply := range []func(*connection) error{nil, starve, nil} {
		if apply == nil {
			w := message(key(fmt.Sprint(i)), store.Op{}, opOf(uint64(i+1)), 1)
			go func() { _, err := s.Commit(t.Context(), w); outcomes <- err }()
		} else {
			go func() {
				err := s.write(t.Context(), apply, "starve")
				if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "memory") {
					err = fmt.Errorf("the write that needs too much memory: got error %w", err)
				} else {
					err = nil
				}
				outcomes <- err
			}()
		}
		awaitWaiting(t, s, i+1)
	}
	release()
	for range 3 {
		if err := receive(t, outcomes, "the outcome of a write"); err != nil {
			t.Error(err)
		}
	}
	if err := s.read(t.Context(), starve, "starve"); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("a read that needs too much memory: got error %v", err)
	}
	for _, name := range []string{"0", "2"} {
		if got := mustEntries(t, s, key(name)); len(got) != 1 {
			t.Errorf("conversation %s has %d messages", name, len(got))
		}
	}
	mustCommit(t, s, message(key("next"), store.Op{}, opOf(9), 1))
}

// TestTwoWritesOneOfWhichPanics: the other one does not fail with it.
func TestTwoWritesOneOfWhichPanics(t *testing.T) {
	s := openNew(t)
	release := hold(t, s)
	starved, committed := make(chan error, 1), make(chan error, 1)
	go func() { starved <- s.write(t.Context(), starve, "starve") }()
	awaitWaiting(t, s, 1)
	w := message(key("a"), store.Op{}, opOf(1), 1)
	go func() { _, err := s.Commit(t.Context(), w); committed <- err }()
	awaitWaiting(t, s, 2)
	release()
	if err := receive(t, starved, "the outcome of the write that panics"); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("the one that panics: %v", err)
	}
	if err := receive(t, committed, "the outcome of the other write"); err != nil {
		t.Errorf("the other one: %v", err)
	}
}

func starve(db *connection) error {
	_, err := db.one(func(*sqlite3.Stmt) error { return nil }, greedy)
	return err
}
