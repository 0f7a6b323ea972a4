package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Whoever reads sees what was acknowledged, though it was only logged.
func TestReadsSeeWhatIsLogged(t *testing.T) {
	type test struct {
		name string
		read func(t *testing.T, s *Store) (int, error)
		want int
	}
	due := start + 1500 + 1
	for _, test := range []test{
		{"Load", func(t *testing.T, s *Store) (int, error) {
			snapshot, err := s.Load(t.Context(), key("0"))
			return int(snapshot.Record.Seq), err
		}, 1},
		{"Entries", func(t *testing.T, s *Store) (int, error) {
			entries, err := s.Entries(t.Context(), key("0"), store.EntryQuery{})
			return len(entries), err
		}, 1},
		{"List", func(t *testing.T, s *Store) (int, error) {
			page, err := s.List(t.Context(), store.ListQuery{})
			return len(page.Items), err
		}, minLogged},
		{"Sweep", func(t *testing.T, s *Store) (int, error) {
			found, _, err := s.Sweep(t.Context(), "", 100)
			return len(found), err
		}, minLogged},
		{"Due", func(t *testing.T, s *Store) (int, error) {
			timers, err := s.Due(t.Context(), due, 100)
			return len(timers), err
		}, minLogged},
		{"Claim", func(t *testing.T, s *Store) (int, error) {
			timers, err := s.Claim(t.Context(), due, 100, time.Hour)
			return len(timers), err
		}, minLogged},
		{"Commit", func(t *testing.T, s *Store) (int, error) {
			result, err := s.Commit(t.Context(), message(key("0"), opOf(1), opOf(2), 2))
			return int(result.Status), err
		}, int(store.OK)},
		{"Delete", func(t *testing.T, s *Store) (int, error) {
			err := s.Delete(t.Context(), key("0"))
			snapshot, _ := s.Load(t.Context(), key("0"))
			return int(snapshot.Record.Seq), err
		}, 0},
		{"Expire", func(t *testing.T, s *Store) (int, error) {
			var settled []store.Write
			for i := range minLogged {
				w := message(key(fmt.Sprint(i)), opOf(1), opOf(2), 2)
				w.Append, w.Settle = nil, []turn.Settle{{Through: 1, Status: turn.InputAnswered}}
				settled = append(settled, w)
			}
			mustTogether(t, s, settled...)
			return s.Expire(t.Context(), start+1, start, 100)
		}, minLogged},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := openNew(t)
				mustLog(t, s)
				if got, err := test.read(t, s); err != nil || got != test.want {
					t.Errorf("got %d, %v; want %d", got, err, test.want)
				}
			})
		})
	}
}

// Each kind of change of a transcript is one for Entries.
func TestEntriesSeesEachChangeThatIsLogged(t *testing.T) {
	reply := store.Entry{Seq: 2, Kind: store.Reply, ID: "r", Status: turn.ReplyCommitted, At: start, Version: 1}
	edited := message(key("0"), store.Op{}, opOf(1), 1).Append[0]
	edited.Text = "edited"
	for name, change := range map[string]func(*store.Write){
		"appended": func(w *store.Write) { w.Append = []store.Entry{{Seq: 3, Kind: store.Message, ID: "m3"}} },
		"changed":  func(w *store.Write) { w.Change = []store.Entry{edited} },
		"settled":  func(w *store.Write) { w.Settle = []turn.Settle{{Through: 1, Status: turn.InputAnswered}} },
		"marked":   func(w *store.Write) { w.Mark = []turn.Mark{{Seq: 2, Status: turn.ReplySent}} },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := openNew(t)
				first := message(key("0"), store.Op{}, opOf(1), 1)
				first.Append = append(first.Append, reply)
				mustCommit(t, s, first)
				before := fmt.Sprint(mustEntries(t, s, key("0")))
				second := message(key("0"), opOf(1), opOf(2), 3)
				second.Append = nil
				change(&second)
				mustTogether(t, s, append(burst(minLogged, 1)[1:], second)...)
				recordOnly := message(key("0"), opOf(2), opOf(3), 4)
				recordOnly.Append = nil
				mustTogether(t, s, recordOnly)
				if after := fmt.Sprint(mustEntries(t, s, key("0"))); after == before {
					t.Errorf("nothing of it is seen: %s", after)
				}
			})
		})
	}
}

// A read commits only where what it reads is ahead of the tables.
func TestReadsOfOtherThingsDoNotCommit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := openNew(t)
		mustCommit(t, s, message(key("record"), store.Op{}, opOf(1), 1))
		recordOnly := message(key("record"), opOf(1), opOf(2), 2)
		recordOnly.Append = nil
		mustTogether(t, s, append(burst(minLogged, 1), recordOnly)...)
		if got := len(mustEntries(t, s, key("record"))); got != 1 {
			t.Errorf("%d entries, want 1", got)
		}
		if _, err := s.Load(t.Context(), key("another")); err != nil {
			t.Error(err)
		}
		if got := inTables(t, s); got != "1" {
			t.Fatalf("%s entries are committed: a read had the tables committed in vain", got)
		}
		if snapshot, err := s.Load(t.Context(), key("record")); err != nil || snapshot.Op != opOf(2) {
			t.Errorf("Load: got %v, %v; want what is logged", snapshot.Op, err)
		}
		if s.writer.ahead.any() {
			t.Error("something is still ahead of the tables")
		}
	})
}
