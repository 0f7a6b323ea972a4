package sqlite

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// ledger is what a store must hold after what it answered. A conversation is the
// messages m1, m2, …, from its first write to its deletion.
type ledger struct {
	mu       sync.Mutex
	ops      uint64
	is       map[string]content
	possible map[string][]content // what it may be instead: writes under way, and those of unknown outcome
}

// content is a conversation; the zero one is not there.
type content struct {
	op  store.Op
	seq int64
}

func newLedger() *ledger { return &ledger{is: map[string]content{}, possible: map[string][]content{}} }

func (l *ledger) clone() *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &ledger{ops: l.ops + 1_000_000, is: maps.Clone(l.is), possible: map[string][]content{}}
	for name, contents := range l.possible {
		c.possible[name] = slices.Clone(contents)
	}
	return c
}

// names are those of all conversations that may be there.
func (l *ledger) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := slices.AppendSeq(slices.Collect(maps.Keys(l.is)), maps.Keys(l.possible))
	slices.Sort(names)
	return slices.Compact(names)
}

func (l *ledger) doubts(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.possible[name]) > 0
}

// certain are those of the names of which it is known what they are.
func (l *ledger) certain(names ...string) []string {
	return slices.DeleteFunc(names, l.doubts)
}

// next is the next write of a conversation; it is under way from here on.
func (l *ledger) next(name string) store.Write {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops++
	before := l.is[name]
	w := message(key(name), before.op, opOf(l.ops), before.seq+1)
	l.possible[name] = append(l.possible[name], content{w.Op, before.seq + 1})
	return w
}

// answered takes the outcome of a change to what is given: nothing is gone.
func (l *ledger) answered(name string, to content, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.is[name] = to
	case !errors.Is(err, store.ErrNotApplied):
		return
	}
	contents := l.possible[name]
	if i := slices.Index(contents, to); i >= 0 {
		contents = slices.Delete(contents, i, i+1)
	}
	if l.possible[name] = contents; len(contents) == 0 {
		delete(l.possible, name)
	}
}

// batch has the next writes of some conversations share a batch.
func (l *ledger) batch(t testing.TB, s *Store, names ...string) []answer {
	t.Helper()
	var writes []store.Write
	for _, name := range names {
		writes = append(writes, l.next(name))
	}
	return together(t, s, func(i int, a answer) {
		if a.err == nil && !a.ok() {
			t.Errorf("%s: got %v, want ok", names[i], a.result.Status)
		}
		l.answered(names[i], content{writes[i].Op, writes[i].Append[0].Seq}, a.err)
	}, writes...)
}

// mustBatch is batch that fails the test where a write is not applied.
func (l *ledger) mustBatch(t testing.TB, s *Store, names ...string) {
	t.Helper()
	for i, a := range l.batch(t, s, names...) {
		if !a.ok() {
			t.Fatalf("%s: got %v, %v; want ok", names[i], a.result.Status, a.err)
		}
	}
}

// remove deletes a conversation.
func (l *ledger) remove(t testing.TB, s *Store, name string) {
	l.mu.Lock()
	l.possible[name] = append(l.possible[name], content{})
	l.mu.Unlock()
	l.answered(name, content{}, s.Delete(t.Context(), key(name)))
}

// settle takes what a store holds for what is, once it can't change any more: the
// store has been opened, or has written, since.
func (l *ledger) settle(t testing.TB, s *Store) {
	t.Helper()
	for _, name := range l.names() {
		snapshot, err := s.Load(t.Context(), key(name))
		if err != nil {
			t.Fatalf("Load: %v", err)
		}
		l.found(t, name, content{snapshot.Op, snapshot.Record.Seq})
	}
}

func (l *ledger) found(t testing.TB, name string, found content) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if found != l.is[name] && !slices.Contains(l.possible[name], found) {
		t.Fatalf("%s is %v, want %v or one of %v", name, found, l.is[name], l.possible[name])
	}
	l.is[name] = found
	delete(l.possible, name)
}

// check checks all that can be read of what is certain.
func (l *ledger) check(t testing.TB, s *Store) {
	t.Helper()
	for _, name := range l.names() {
		if l.doubts(name) {
			continue
		}
		snapshot, err := s.Load(t.Context(), key(name))
		if err != nil {
			t.Fatalf("Load: %v", err)
		}
		if found := (content{snapshot.Op, snapshot.Record.Seq}); found != l.is[name] {
			t.Fatalf("%s is %v, want %v", name, found, l.is[name])
		}
		entries := mustEntries(t, s, key(name))
		for i, e := range entries {
			if e.ID != fmt.Sprintf("m%d", i+1) {
				t.Fatalf("%s: entry %d is %s", name, i+1, e.ID)
			}
		}
		if int64(len(entries)) != l.is[name].seq {
			t.Fatalf("%s has %d entries, want %d", name, len(entries), l.is[name].seq)
		}
	}
}

// checkWhole checks that there is nothing else, and nothing of it twice.
func (l *ledger) checkWhole(t *testing.T, s *Store) {
	t.Helper()
	var want []string
	for _, name := range l.names() {
		if there := l.is[name]; there.seq > 0 {
			want = append(want, fmt.Sprintf("%s|%d|%d|%d", name, there.seq, there.seq, start+1500+turn.Time(there.seq)))
		}
	}
	got := rows(t, s, `SELECT conversation,
		(SELECT count(*) FROM entries WHERE conversation_id = c.id),
		(SELECT count(*) FROM message_ids WHERE conversation_id = c.id),
		(SELECT due_ms FROM timers WHERE conversation_id = c.id)
		FROM conversations AS c ORDER BY conversation`)
	if !slices.Equal(got, want) {
		t.Fatalf("conversations, their entries, ids and timers are\n     %q\nwant %q", got, want)
	}
	if got := rows(t, s, "PRAGMA integrity_check"); strings.Join(got, "") != "ok" {
		t.Fatalf("integrity_check: %q", got)
	}
}

// checkAfter opens what was left and checks that it holds what it must, and goes on.
func (l *ledger) checkAfter(t *testing.T, left remains) {
	t.Helper()
	d := left.lay(t)
	s := d.open(t)
	l.settle(t, s)
	l.check(t, s)
	l.checkWhole(t, s)
	l.mustBatch(t, s, numbered(4)...)
	mustClose(t, s)
	s = d.open(t)
	l.check(t, s)
	l.checkWhole(t, s)
	mustClose(t, s)
}
