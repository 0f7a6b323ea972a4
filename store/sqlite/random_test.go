package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

// seedVariable repeats one run of the test below.
const seedVariable = "ONEREPLY_TEST_SQLITE_SEED"

// Batches, faults, crashes and reopenings in any order, against a ledger.
func TestRandomFaultsAndCrashes(t *testing.T) {
	const runs, steps = 24, 120
	seeds := make([]uint64, runs)
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	if again := os.Getenv(seedVariable); again != "" {
		seed, err := strconv.ParseUint(again, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &random{Rand: rand.New(rand.NewPCG(seed, 0)), t: t, disk: newDisk(t), ledger: newLedger()}
			defer func() {
				if t.Failed() {
					t.Logf("%s=%d: %s", seedVariable, seed, strings.Join(r.done, ", "))
				}
			}()
			r.store = r.disk.open(t)
			for range steps {
				r.step()
			}
			r.reopen()
		})
	}
}

// random is a store to which anything happens.
type random struct {
	*rand.Rand
	t      *testing.T
	disk   *disk
	store  *Store
	ledger *ledger
	faulty bool
	crash  atomic.Pointer[crash] // of a moment that has come
	done   []string
}

func (r *random) note(format string, arguments ...any) {
	r.done = append(r.done, fmt.Sprintf(format, arguments...))
}

func (r *random) step() {
	switch n := r.IntN(100); {
	case n < 40:
		r.batch()
	case n < 48:
		r.remove()
	case n < 53:
		r.failBatch()
	case n < 70:
		r.note("read")
		r.read()
	case n < 84:
		r.breakSomething()
	case n < 91:
		r.note("mend")
		r.mend()
	case n < 94:
		r.crashLater()
	case n < 97:
		r.note("crash")
		r.crashAt(crash{left: r.left(r.disk), then: r.ledger.clone()})
	default:
		r.reopen()
	}
	if c := r.crash.Load(); c != nil {
		r.note("that crash, after: %s", c.name)
		r.crashAt(*c)
	}
}

// names are conversations of which it is known what they are.
func (r *random) names(count int) (names []string) {
	for _, i := range r.Perm(24)[:count] {
		names = append(names, fmt.Sprint(i))
	}
	return r.ledger.certain(names...)
}

func (r *random) batch() {
	names := r.names(1 + r.IntN(20))
	if r.IntN(3) == 0 {
		names = names[:min(len(names), 2)]
	}
	answers := r.ledger.batch(r.t, r.store, names...)
	for _, a := range answers {
		if a.err != nil && !r.faulty {
			r.t.Fatalf("a write failed: %v", a.err)
		}
		if errors.Is(a.err, store.ErrNotApplied) && errors.Is(a.err, store.ErrUnknown) {
			r.t.Fatalf("a write has two outcomes: %v", a.err)
		}
	}
	r.note("batch %v: %s", names, outcomes(answers))
}

func outcomes(answers []answer) string {
	switch {
	case len(answers) == 0 || answers[0].err == nil:
		return "ok"
	case errors.Is(answers[0].err, store.ErrNotApplied):
		return "not applied"
	}
	return "unknown"
}

func (r *random) remove() {
	for _, name := range r.names(1) {
		r.note("delete %s", name)
		r.ledger.remove(r.t, r.store, name)
	}
}

func (r *random) failBatch() {
	cause := []error{sqlite3.CONSTRAINT, sqlite3.CORRUPT}[r.IntN(2)]
	r.note("fail a batch: %v", cause)
	if err := failing(r.t, r.store, message(key("never"), store.Op{}, opOf(1), 1), cause); !errors.Is(err, store.ErrNotApplied) {
		r.t.Fatalf("got %v, want not applied", err)
	}
}

func (r *random) breakSomething() {
	steps := []string{walWrite, walSync}
	step := steps[r.IntN(len(steps))]
	fault := faults[step][r.IntN(len(faults[step]))]
	r.faulty = true
	if r.IntN(2) == 0 {
		r.note("once %s: %v", step, fault)
		r.disk.failOnce(step, fault)
		return
	}
	r.note("%s: %v", step, fault)
	r.disk.fail(step, fault)
}

func (r *random) read() {
	if r.faulty { // it may fail, and then says so
		for _, name := range r.names(5) {
			snapshot, err := r.store.Load(r.t.Context(), key(name))
			if found := (content{snapshot.Op, snapshot.Record.Seq}); err == nil && found != r.ledger.is[name] {
				r.t.Fatalf("%s is %v, want %v", name, found, r.ledger.is[name])
			}
		}
		return
	}
	r.ledger.check(r.t, r.store)
}

// mend ends the faults. After a write that goes well nothing is in doubt any more.
func (r *random) mend() {
	r.disk.mend()
	r.faulty = false
	for _, a := range r.ledger.batch(r.t, r.store, "mended") {
		if !a.ok() {
			r.t.Fatalf("the fault is gone, and a write fails: %v", a.err)
		}
	}
	r.ledger.settle(r.t, r.store)
}

// left is one of the states that a crash may leave.
func (r *random) left(d *disk) remains {
	if r.IntN(2) == 0 {
		return d.left()
	}
	all := d.leftByPower()
	return all[r.IntN(len(all))]
}

// crashLater takes what is left after one of the next steps of the disk.
func (r *random) crashLater() {
	count, disk, ledger := 1+r.IntN(8), r.disk, r.ledger
	r.note("crash %d steps later", count)
	disk.watch(func(step string) {
		if count--; count == 0 {
			r.crash.Store(&crash{step, r.left(disk), ledger.clone()})
		}
	})
}

// crashAt goes on with what a crash left.
func (r *random) crashAt(c crash) {
	r.disk.watch(nil)
	_ = r.store.Close() // it is dead
	r.crash.Store(nil)
	r.faulty = false
	r.disk, r.ledger = c.left.lay(r.t), c.then
	r.opened()
}

func (r *random) reopen() {
	r.note("reopen")
	r.disk.watch(nil)
	r.crash.Store(nil)
	r.mend()
	mustClose(r.t, r.store)
	if _, there := r.disk.content(suffixWAL); there {
		r.t.Fatal("the write-ahead log is still there")
	}
	r.opened()
}

func (r *random) opened() {
	r.store = r.disk.open(r.t)
	r.ledger.settle(r.t, r.store)
	r.ledger.check(r.t, r.store)
	r.ledger.checkWhole(r.t, r.store)
}
