package maintenance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// run copies with small pages.
func run(t *testing.T, from, to store.Store, resume bool) (Progress, error) {
	t.Helper()
	c := Copy{From: from, To: to, Batch: 3, Resume: resume, Progress: func(Progress) {}}
	return c.Run(t.Context())
}

// expectSame compares all that two stores hold, through the contract.
func expectSame(t *testing.T, from, to store.Store) {
	t.Helper()
	source, target, err := Verify(t.Context(), from, to, func(f Finding) { t.Errorf("%+v", f) })
	if err != nil || source != target {
		t.Errorf("got %+v, %v; want %+v", target, err, source)
	}
	a, b := everything(t, from), everything(t, to)
	for i := range min(len(a), len(b)) {
		if !reflect.DeepEqual(a[i], b[i]) {
			t.Errorf("the copy is not the same:\n%+v\n%+v", b[i], a[i])
		}
	}
	if len(a) != len(b) {
		t.Errorf("the copy has %d parts, not %d", len(b), len(a))
	}
}

// everything is the list of a store, with entries and timers.
func everything(t *testing.T, s store.Store) []any {
	t.Helper()
	page, err := s.List(t.Context(), store.ListQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	timers, err := s.Due(t.Context(), 1<<52, 1000)
	if err != nil {
		t.Fatal(err)
	}
	all := []any{timers}
	for _, item := range page.Items {
		entries, _, err := s.Entries(t.Context(), item.Key, store.EntryQuery{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item, append([]store.Entry{}, entries...))
	}
	return all
}

func TestCopy(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			from, to, back := stores["sqlite"](t), open(t), memory.New()
			seed(t, from)
			done, err := run(t, from, to, false)
			if want := (Progress{Copied: 6, Entries: 26}); err != nil || done != want {
				t.Fatalf("got %+v, %v; want %+v", done, err, want)
			}
			expectSame(t, from, to)
			if _, findings := checkup(t, to, false); len(findings) > 0 {
				t.Errorf("got %+v, want no findings", findings)
			}
			if _, err := run(t, to, back, false); err != nil {
				t.Fatal(err)
			}
			expectSame(t, from, back)
			expectClaimed(t, to)
		})
	}
}

// expectClaimed: a message that was copied is known when it comes again.
func expectClaimed(t *testing.T, to store.Store) {
	t.Helper()
	before, err := to.Load(t.Context(), keyOf("short"))
	if err != nil {
		t.Fatal(err)
	}
	w := store.Write{Key: keyOf("short"), Expect: before.Op, Op: newOp(), Record: before.Record, Append: []store.Entry{message(9, 9, 0)}}
	w.Append[0].ID = "m1"
	if result, err := to.Commit(t.Context(), w); err != nil || result.Status != store.Duplicate {
		t.Errorf("got %v, %v; want a duplicate", result, err)
	}
}

func TestCopyRefusesATargetThatIsNotEmpty(t *testing.T) {
	from, to := memory.New(), memory.New()
	seed(t, from)
	put(t, to, idle("other", 1))
	if _, err := run(t, from, to, false); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("got %v, want ErrNotEmpty", err)
	}
}

// A conversation that is in the target with other writes is left, and named.
func TestCopyLeavesWhatDiffers(t *testing.T) {
	from, to := memory.New(), memory.New()
	seed(t, from)
	other := idle("long", 1)
	put(t, to, other)
	done, err := run(t, from, to, true)
	if want := (Progress{Copied: 5, Left: 1, Entries: 18}); err != nil || done != want {
		t.Fatalf("got %+v, %v; want %+v", done, err, want)
	}
	if there, err := to.Load(t.Context(), other.Key); err != nil || there.Op != other.Op {
		t.Errorf("got %v, %v; want it as it was", there, err)
	}
	var named []string
	source, target, err := Verify(t.Context(), from, to, func(f Finding) { named = append(named, f.Conversation) })
	if err != nil || source == target || !reflect.DeepEqual(named, []string{"long"}) {
		t.Errorf("got %+v, %+v, %q, %v; want a difference in long", source, target, named, err)
	}
	if done, err := run(t, from, to, true); err != nil || done != (Progress{Skipped: 5, Left: 1}) {
		t.Errorf("the second time: got %+v, %v; want 5 to be skipped", done, err)
	}
}

// faulty fails one call of a store, and all after it: the program died.
type faulty struct {
	store.Store
	mu      sync.Mutex
	left    int  // calls until then
	applied bool // the call that fails is carried out all the same
}

var errDied = errors.New("the program died")

// dies reports whether a call fails, and whether it is carried out.
func (s *faulty) dies() (fails, applied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left--
	return s.left < 0, s.left == -1 && s.applied
}

func (s *faulty) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	if fails, _ := s.dies(); fails {
		return store.Snapshot{}, errDied
	}
	return s.Store.Load(ctx, key)
}

func (s *faulty) Delete(ctx context.Context, key store.Key) error {
	fails, applied := s.dies()
	if fails && !applied {
		return errDied
	}
	return errors.Join(s.Store.Delete(ctx, key), map[bool]error{true: errDied}[fails])
}

func (s *faulty) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	fails, applied := s.dies()
	if fails && !applied {
		return store.Result{}, fmt.Errorf("%w: %w", store.ErrUnknown, errDied)
	}
	result, err := s.Store.Commit(ctx, w)
	if fails {
		return store.Result{}, fmt.Errorf("%w: %w", store.ErrUnknown, errDied)
	}
	return result, err
}

// expectWhole: every conversation of the target is complete, or shows that it
// is not and does nothing.
func expectWhole(t *testing.T, from, to store.Store) {
	t.Helper()
	page, err := to.List(t.Context(), store.ListQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range page.Items {
		source, err := from.Load(t.Context(), item.Key)
		if err != nil {
			t.Fatal(err)
		}
		if isCopying(item.Snapshot.Record) {
			continue
		}
		a, b := mustEntries(t, from, item.Key), mustEntries(t, to, item.Key)
		if item.Snapshot.Op != source.Op || !reflect.DeepEqual(a, b) {
			t.Errorf("%v is half a conversation: %d of %d entries", item.Key, len(b), len(a))
		}
	}
}

func mustEntries(t *testing.T, s store.Store, key store.Key) []store.Entry {
	t.Helper()
	entries, _, err := s.Entries(t.Context(), key, store.EntryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// A copy is interrupted at every call in turn, with the call carried out and
// not, and once more while it goes on; the one after that completes it.
func TestCopyInterruptedAtEveryStep(t *testing.T) {
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprintf("applied %v", applied), func(t *testing.T) {
			from := memory.New()
			seed(t, from)
			for calls := 0; ; calls++ {
				to := memory.New()
				_, err := run(t, from, &faulty{Store: to, left: calls, applied: applied}, false)
				if err == nil {
					expectSame(t, from, to)
					if calls < 12 {
						t.Errorf("%d calls were enough: the faults were not hit", calls)
					}
					return
				}
				if !errors.Is(err, errDied) {
					t.Fatal(err)
				}
				expectWhole(t, from, to)
				_, _ = run(t, from, &faulty{Store: to, left: 3 + calls%5, applied: applied}, true)
				expectWhole(t, from, to)
				if _, err := run(t, from, to, true); err != nil {
					t.Fatalf("after %d calls: %v", calls, err)
				}
				expectSame(t, from, to)
			}
		})
	}
}

// forgetful applies writes and says that nobody knows.
type forgetful struct{ store.Store }

func (s forgetful) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	if _, err := s.Store.Commit(ctx, w); err != nil {
		return store.Result{}, err
	}
	return store.Result{}, store.ErrUnknown
}

func TestUnknownOutcomesAreSettled(t *testing.T) {
	from, to := memory.New(), memory.New()
	seed(t, from)
	if _, err := run(t, from, forgetful{to}, false); err != nil {
		t.Fatal(err)
	}
	expectSame(t, from, to)
}

// No conversation that people can make is taken for one that is being copied.
func TestOnlyCopiesLookLikeCopies(t *testing.T) {
	for _, w := range seed(t, memory.New()) {
		if isCopying(w.Record) {
			t.Errorf("%v looks like a copy under way", w.Key)
		}
	}
	paused := copying(0)
	if isCopying(paused) {
		t.Error("a paused conversation in which nobody wrote looks like a copy under way")
	}
	under := copying(3)
	if !isCopying(under) {
		t.Error("a copy under way is not recognised")
	}
	if _, wakes := under.Wake(); wakes || under.Shown() != turn.Paused || turn.Check(under) != nil {
		t.Errorf("a copy under way is not at rest: %s, %v", under.Shown(), turn.Check(under))
	}
}
