package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

// listening starts to listen, and returns what is heard once it is certain that
// something is.
func listening(t *testing.T, s, from *Store) <-chan store.Key {
	t.Helper()
	heard := make(chan store.Key, 100_000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Hints(ctx, func(k store.Key) { heard <- k }) }()
	t.Cleanup(func() {
		cancel()
		if err := receive(t, done, "the end of Hints"); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Errorf("Hints: %v", err)
		}
	})
	awaitHint(t, from, heard)
	return heard
}

// awaitHint sends hints until the newest is heard, so that none is under way any
// more. Any of them may be lost while the connection is.
func awaitHint(t *testing.T, from *Store, heard <-chan store.Key) {
	t.Helper()
	number := 0
	poll(t, "a hint is heard", func() bool {
		number++
		newest := key(fmt.Sprintf("try-%d", number))
		mustHint(t, from, newest)
		late := time.After(time.Second)
		for {
			select {
			case k := <-heard:
				if k == newest {
					return true
				}
			case <-late:
				return false
			}
		}
	})
}

func mustHint(t *testing.T, s *Store, keys ...store.Key) {
	t.Helper()
	if err := s.Hint(t.Context(), keys); err != nil {
		t.Fatalf("Hint: %v", err)
	}
}

// TestHintsArriveSoon: within 200 ms on a calm machine. On a busy one each answer of the
// server is late; a hint may take as long as twenty of these.
func TestHintsArriveSoon(t *testing.T) {
	url := testservers.Postgres(t)
	a, b := openAt(t, url), openAt(t, url)
	heard := listening(t, b, a)
	var took, answers []time.Duration
	for i := range 15 {
		asked := time.Now()
		mustLoad(t, a, key("c"))
		sent := time.Now()
		mustHint(t, a, key(fmt.Sprint(i)))
		if got := receive(t, heard, "a hint is heard"); got != key(fmt.Sprint(i)) {
			t.Fatalf("heard %v, want %d", got, i)
		}
		took, answers = append(took, time.Since(sent)), append(answers, sent.Sub(asked))
	}
	slices.Sort(took)
	slices.Sort(answers)
	hint, answer := took[len(took)/2], answers[len(answers)/2]
	t.Logf("medians: a hint %v, an answer %v", hint, answer)
	if hint > 200*time.Millisecond+20*answer {
		t.Errorf("a hint takes %v, and an answer of the server %v", hint, answer)
	}
}

// A burst is a few notifications, and nobody hears himself.
func TestHintsOfABurstGoTogether(t *testing.T) {
	url := testservers.Postgres(t)
	a, b := openAt(t, url), openAt(t, url)
	heard, own := listening(t, b, a), listening(t, a, b)
	const count = 2000
	want := make(map[store.Key]bool)
	before := notifications(t, a)
	for i := range count {
		k := store.Key{Bot: "support", Conversation: fmt.Sprintf("c\"%d\x01", i)}
		want[k] = true
		mustHint(t, a, k)
	}
	for len(want) > 0 {
		delete(want, receive(t, heard, "all hints of the burst are heard"))
	}
	if sent := notifications(t, a) - before; sent > count/10 {
		t.Errorf("%d hints took %d transactions", count, sent)
	}
	for len(own) > 0 {
		if k := <-own; strings.HasPrefix(k.Conversation, "c") {
			t.Errorf("a node heard its own hint of %v", k)
		}
	}
}

// notifications counts the transactions of the database.
func notifications(t *testing.T, s *Store) int {
	t.Helper()
	sql(t, s, `SELECT pg_stat_clear_snapshot()`)
	return read[int](t, s, `SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()`)
}

func TestHintsComeAgainAfterTheConnectionWasLost(t *testing.T) {
	url := testservers.Postgres(t)
	a, b := openAt(t, url), openAt(t, url)
	heard := listening(t, b, a)
	sql(t, a, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = $1`, listen)
	awaitHint(t, a, heard)
}

func TestHintsTurnedOff(t *testing.T) {
	url := testservers.Postgres(t)
	s := openAt(t, url+"&hints=off")
	mustHint(t, s, key("c"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Hints(ctx, func(store.Key) {}); err != nil {
		t.Errorf("Hints: %v", err)
	}
	if got := read[int](t, s, `SELECT count(*) FROM pg_stat_activity WHERE query = $1 AND datname = current_database()`, listen); got != 0 {
		t.Errorf("%d sessions listen", got)
	}
}

func TestHintsEndWithTheStore(t *testing.T) {
	s := openNew(t)
	done := make(chan error, 1)
	go func() { done <- s.Hints(t.Context(), func(store.Key) {}) }()
	mustClose(t, s)
	if err := receive(t, done, "the end of Hints"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Hints: got error %v, want ErrClosed", err)
	}
	if err := s.Hint(t.Context(), []store.Key{key("c")}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Hint: got error %v, want ErrClosed", err)
	}
}

// PostgreSQL takes payloads of less than 8000 bytes, whatever the names are.
func TestPayloadsAreBounded(t *testing.T) {
	s := &Store{}
	h := newHints(s, false)
	defer h.close()
	var keys []store.Key
	for i := range 200 {
		name := fmt.Sprintf("%d", i) + strings.Repeat("\x01", 500)
		keys = append(keys, store.Key{Bot: name, Conversation: name})
	}
	h.add(keys)
	seen := 0
	for notices := h.take(); len(notices) > 0; notices = h.take() {
		if len(notices) > maxPayloads {
			t.Errorf("%d payloads at once", len(notices))
		}
		for _, n := range notices {
			if len(n.payload) >= 8000 {
				t.Errorf("a payload of %d bytes", len(n.payload))
			}
			seen += len(parsePayload(n.payload, "another"))
		}
	}
	if seen != len(keys) {
		t.Errorf("%d of %d keys arrived", seen, len(keys))
	}
}

func FuzzPayload(f *testing.F) {
	f.Add("")
	f.Add("null")
	f.Add(`{"from":"x","keys":[["a","b"],["","b"],["a"]]}`)
	f.Add(payload{From: "x", Keys: [][2]string{{"bot", "c\x00\""}}}.String())
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range parsePayload(text, "own") {
			if k.Bot == "" || k.Conversation == "" {
				t.Errorf("%q: a key without a name", text)
			}
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("!")
	f.Add("bm90IGpzb24")
	f.Add(paging.Place{Active: start, Key: key("c\"é")}.Cursor())
	f.Fuzz(func(t *testing.T, cursor string) {
		p, err := parsePlace(cursor)
		if err != nil {
			if !errors.Is(err, store.ErrCursor) {
				t.Errorf("%q: got error %v, want ErrCursor", cursor, err)
			}
			return
		}
		if cursor == "" {
			return // the start, where no page ends
		}
		again, err := parsePlace(p.Cursor())
		if err != nil || again != p {
			t.Errorf("%q: got %+v, then %+v, %v", cursor, p, again, err)
		}
	})
}
