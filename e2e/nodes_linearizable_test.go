package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/onereply/onereply/internal/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/store/postgres"
	"github.com/onereply/onereply/store/redis"
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

// openers open one store of each kind on the same data, for so many nodes.
var openers = map[string]func(t *testing.T, nodes int) []store.Store{
	"memory": func(t *testing.T, _ int) []store.Store { return []store.Store{memory.New()} },
	"sqlite": func(t *testing.T, _ int) []store.Store {
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "onereply.db"), sqlite.Options{})
		return []store.Store{opened(t, s, err)}
	},
	"postgres": func(t *testing.T, nodes int) []store.Store {
		url := testservers.NewPostgres(t).URL(t)
		var all []store.Store
		for range nodes {
			s, err := postgres.Open(t.Context(), url, postgres.Options{})
			all = append(all, opened(t, s, err))
		}
		return all
	},
	"redis": func(t *testing.T, nodes int) []store.Store {
		url := testservers.NewRedis(t).URL()
		var all []store.Store
		for range nodes {
			s, err := redis.Open(t.Context(), url, redis.Options{})
			all = append(all, opened(t, s, err))
		}
		return all
	},
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
// that explains it. It also holds for the loads of these stores, although the
// contract would let them be old.
func TestStoresAreLinearizable(t *testing.T) {
	const nodes = 3
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			var stores []store.Store
			var lossy []*storetest.Lossy
			for i, s := range open(t, nodes) {
				lossy = append(lossy, storetest.NewLossy(s, uint64(i), 12))
				stores = append(stores, lossy[i])
			}
			history, err := storetest.Record(t.Context(), storetest.Contention{Clients: 9, Calls: 100}, stores...)
			for _, s := range lossy {
				s.Settle()
			}
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			for what, stale := range map[string]bool{"old loads allowed": true, "loads as well": false} {
				if got := porcupine.CheckOperationsTimeout(storeModel, operations(history, stale), searchLimit); got != porcupine.Ok {
					t.Errorf("linearizable, %s: %s", what, got)
				}
			}
			t.Logf("%d calls (%v) checked in %v", len(history), tally(history), time.Since(began).Round(time.Millisecond))
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
				return store.Result{Status: store.Conflict}, nil
			}
			time.Sleep(time.Millisecond) // a round trip
			w.Expect = b.read(w.Key).Op
			return b.Store.Commit(ctx, w)
		}}, porcupine.Illegal},
		"writes whatever is there": {replaced{commit: func(b *broken, w store.Write) (store.Result, error) {
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
				result = store.Result{Status: store.Conflict}
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
