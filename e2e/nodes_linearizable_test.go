package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/store/sqlite"
	"github.com/onereply/onereply/store/storetest"
)

// storeModel is the contract of Load and Commit for one conversation.
var storeModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		return partition(all, func(o porcupine.Operation) string { return o.Input.(storetest.Operation).Key.String() })
	},
	Init: func() any { return storetest.State{} },
	Step: func(state, input, _ any) (bool, any) {
		return state.(storetest.State).Step(input.(storetest.Operation))
	},
	// The Op of the last write tells which ids were claimed before.
	Equal: func(a, b any) bool { return a.(storetest.State).Op == b.(storetest.State).Op },
}

// partition splits a history into those of its objects.
func partition(all []porcupine.Operation, of func(porcupine.Operation) string) [][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	for _, operation := range all {
		parts[of(operation)] = append(parts[of(operation)], operation)
	}
	var split [][]porcupine.Operation
	for _, part := range parts {
		split = append(split, part)
	}
	return split
}

// operations are a history for the checker. Stale loads may be old: they begin
// with the history, so that each must have been right at some time, and none
// may know the future.
func operations(history []storetest.Operation, stale bool) []porcupine.Operation {
	var all []porcupine.Operation
	for _, o := range history {
		began := o.Began
		if stale && o.Write == nil {
			began = 0
		}
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: o, Call: began, Return: o.Ended})
	}
	return all
}

// searchLimit bounds one search of the checker.
const searchLimit = time.Minute

// openers open one store of each kind on the same data, for so many nodes, and
// tell over which networks they reach it.
var openers = map[string]func(t *testing.T, nodes int) ([]store.Store, []*wire){
	"memory": func(t *testing.T, _ int) ([]store.Store, []*wire) { return []store.Store{memory.New()}, nil },
	"sqlite": func(t *testing.T, _ int) ([]store.Store, []*wire) {
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "onereply.db"), sqlite.Options{})
		return []store.Store{opened(t, s, err)}, nil
	},
	"postgres": overWires(newPostgres),
	"redis":    overWires(newRedis),
}

// overWires opens the store of a server for each node over a network of its own.
func overWires(begin func(testing.TB) engine) func(*testing.T, int) ([]store.Store, []*wire) {
	return func(t *testing.T, nodes int) (all []store.Store, wires []*wire) {
		e := begin(t)
		for range nodes {
			w := newWire(t, e.url.Host, e.commit)
			there := *e.url
			there.Host = w.address()
			s, err := e.open(t.Context(), there.String())
			all, wires = append(all, patient{opened(t, s, err)}), append(wires, w)
		}
		return all, wires
	}
}

// patient is a store whose Load tries again: a network that takes a commit with
// it also takes what was read over the same connection.
type patient struct{ store.Store }

func (p patient) Load(ctx context.Context, key store.Key) (found store.Snapshot, err error) {
	within(limit, func() bool {
		found, err = p.Store.Load(ctx, key)
		return err == nil || ctx.Err() != nil
	})
	return found, err
}

// losses is how often each network loses something; each costs connections.
const losses = 12

// losing lets networks lose a commit, then the answer to one, and so on, until
// ctx ends. It gives how often each was lost. They begin at once, and with different
// ones: on a fast machine all may be over in a moment.
func losing(ctx context.Context, wires []*wire) (lost map[loss]*atomic.Int64, ended func()) {
	lost = map[loss]*atomic.Int64{itself: {}, theAnswerTo: {}}
	var all sync.WaitGroup
	for i, w := range wires {
		all.Go(func() {
			for n := i; n < i+losses && ctx.Err() == nil; n++ {
				l := []loss{itself, theAnswerTo}[n%2]
				if w.next(l, 100*time.Millisecond) {
					lost[l].Add(1)
				}
				wait(ctx, 50*time.Millisecond)
			}
		})
	}
	return lost, all.Wait
}

func opened(t *testing.T, s store.Store, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestStoresAreLinearizable: whatever clients of several nodes see of the same
// conversations, with answers that get lost, there is one order of all writes
// that explains it. The network of PostgreSQL and of Redis loses commits and
// answers to them besides. Every outcome of a commit is met. It also holds for the loads of these stores, although the
// contract would let them be old.
func TestStoresAreLinearizable(t *testing.T) {
	t.Parallel()
	const nodes = 3
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			var stores []store.Store
			var lossy []*storetest.Lossy
			opened, wires := open(t, nodes)
			for i, s := range opened {
				lossy = append(lossy, storetest.NewLossy(s, uint64(i), 12))
				stores = append(stores, lossy[i])
			}
			ctx, stop := context.WithCancel(t.Context())
			lost, ended := losing(ctx, wires)
			history, err := storetest.Record(t.Context(), storetest.Contention{Clients: 9, Keys: 5, Calls: 200}, stores...)
			stop()
			ended()
			for _, s := range lossy {
				s.Settle()
			}
			if err != nil {
				t.Fatal(err)
			}
			for l, count := range lost {
				if len(wires) == 0 {
					continue // it is in this process
				}
				t.Logf("on the network: %d times %v", count.Load(), l)
				if count.Load() == 0 {
					t.Errorf("it never happened on the network: %v", l)
				}
			}
			began := time.Now()
			for what, stale := range map[string]bool{"old loads allowed": true, "loads as well": false} {
				if got := porcupine.CheckOperationsTimeout(storeModel, operations(history, stale), searchLimit); got != porcupine.Ok {
					t.Errorf("linearizable, %s: %s", what, got)
				}
			}
			counts := tally(history)
			t.Logf("%d calls (%v) checked in %v", len(history), counts, time.Since(began).Round(time.Millisecond))
			for _, outcome := range []string{"load", "lost", store.OK.String(), store.Conflict.String(), store.Duplicate.String()} {
				if counts[outcome] == 0 {
					t.Errorf("the history has no %s", outcome)
				}
			}
		})
	}
}

func tally(history []storetest.Operation) map[string]int {
	counts := map[string]int{}
	for _, o := range history {
		switch {
		case o.Write == nil:
			counts["load"]++
		case o.Lost:
			counts["lost"]++
		default:
			counts[o.Result.Status.String()]++
		}
	}
	return counts
}

// broken is a memory store of which Commit or Load is replaced.
type broken struct {
	*memory.Store
	replaced
	mu     sync.Mutex
	before map[store.Key]store.Snapshot
}

type replaced struct {
	commit func(*broken, store.Write) (store.Result, error)
	load   func(*broken, store.Key) (store.Snapshot, error)
}

func (b *broken) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	if b.commit == nil {
		return b.Store.Commit(ctx, w)
	}
	return b.commit(b, w)
}

func (b *broken) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	if b.load == nil {
		return b.Store.Load(ctx, key)
	}
	return b.load(b, key)
}

// read is a load that can't fail.
func (b *broken) read(key store.Key) store.Snapshot {
	found, err := b.Store.Load(context.Background(), key)
	if err != nil {
		panic(err) // a memory store that is open
	}
	return found
}

// TestBrokenStoresAreNotLinearizable: each of these faults is one that the
// checker must see, and an old load is none.
func TestBrokenStoresAreNotLinearizable(t *testing.T) {
	ctx := context.Background()
	faults := map[string]struct {
		fault replaced
		want  porcupine.CheckResult
	}{
		"none": {replaced{}, porcupine.Ok},
		"reads first and writes afterwards": {replaced{commit: func(b *broken, w store.Write) (store.Result, error) {
			if b.read(w.Key).Op != w.Expect {
				return b.Store.Commit(ctx, w)
			}
			time.Sleep(time.Millisecond) // a round trip
			w.Expect = b.read(w.Key).Op
			return b.Store.Commit(ctx, w)
		}}, porcupine.Illegal},
		"writes whatever is there": {replaced{commit: func(b *broken, w store.Write) (store.Result, error) {
			time.Sleep(time.Millisecond) // others write meanwhile, also where one thread runs them all
			w.Expect = b.read(w.Key).Op
			return b.Store.Commit(ctx, w)
		}}, porcupine.Illegal},
		"says ok without writing": {replaced{commit: func(b *broken, w store.Write) (store.Result, error) {
			if w.Op[15]%16 == 0 {
				return store.Result{}, nil
			}
			return b.Store.Commit(ctx, w)
		}}, porcupine.Illegal},
		"says conflict and writes": {replaced{commit: func(b *broken, w store.Write) (store.Result, error) {
			result, err := b.Store.Commit(ctx, w)
			if w.Op[15]%16 == 0 {
				result = store.Result{Status: store.Conflict, Current: b.read(w.Key)}
			}
			return result, err
		}}, porcupine.Illegal},
		"a conflict holds the record that it met before": {replaced{commit: func(b *broken, w store.Write) (store.Result, error) {
			result, err := b.Store.Commit(ctx, w)
			b.mu.Lock()
			defer b.mu.Unlock()
			if result.Status == store.Conflict {
				b.before[w.Key], result.Current = result.Current, b.before[w.Key]
			}
			return result, err
		}}, porcupine.Illegal},
		"a conflict holds the Op of one record with another": {replaced{commit: func(b *broken, w store.Write) (store.Result, error) {
			result, err := b.Store.Commit(ctx, w)
			b.mu.Lock()
			defer b.mu.Unlock()
			if result.Status == store.Conflict {
				met := result.Current.Record
				result.Current.Record, b.before[w.Key] = b.before[w.Key].Record, store.Snapshot{Record: met}
			}
			return result, err
		}}, porcupine.Illegal},
		"claims no ids": {replaced{commit: func(b *broken, w store.Write) (store.Result, error) {
			for i := range w.Append {
				w.Append[i].ID = fmt.Sprintf("%s-%d", w.Op, i)
			}
			return b.Store.Commit(ctx, w)
		}}, porcupine.Illegal},
		"loads the Op of one record with another": {replaced{load: func(b *broken, key store.Key) (store.Snapshot, error) {
			found := b.read(key)
			b.mu.Lock()
			defer b.mu.Unlock()
			mixed := store.Snapshot{Record: b.before[key].Record, Op: found.Op}
			b.before[key] = found
			return mixed, nil
		}}, porcupine.Illegal},
		"loads what nobody wrote": {replaced{load: func(b *broken, key store.Key) (store.Snapshot, error) {
			found := b.read(key)
			found.Op[0]++
			return found, nil
		}}, porcupine.Illegal},
		"loads what was there before": {replaced{load: func(b *broken, key store.Key) (store.Snapshot, error) {
			found := b.read(key)
			b.mu.Lock()
			defer b.mu.Unlock()
			old := b.before[key]
			b.before[key] = found
			return old, nil
		}}, porcupine.Ok},
	}
	for name, test := range faults {
		t.Run(name, func(t *testing.T) {
			s := &broken{Store: memory.New(), replaced: test.fault, before: map[store.Key]store.Snapshot{}}
			history, err := storetest.Record(t.Context(), storetest.Contention{Keys: 1, Calls: 40}, s)
			if err != nil {
				t.Fatal(err)
			}
			if got := porcupine.CheckOperationsTimeout(storeModel, operations(history, true), searchLimit); got != test.want {
				t.Errorf("got %s, want %s, of %v", got, test.want, tally(history))
			}
		})
	}
}
