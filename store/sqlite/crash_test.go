package sqlite

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// crash is a moment at which everything could have ended.
type crash struct {
	name string
	left remains
	then *ledger
}

// crashes collects a crash after each step of a disk: one as the death of the process
// leaves it, and one for each state that a loss of power may leave.
type crashes struct {
	disk   *disk
	ledger *ledger
	all    []crash
	steps  []string
}

func (c *crashes) add(step string) {
	c.steps = append(c.steps, step)
	moment := len(c.all)
	for i, left := range append([]remains{c.disk.left()}, c.disk.leftByPower()...) {
		then := c.ledger.clone()
		known := slices.ContainsFunc(c.all, func(other crash) bool {
			return other.left.equal(left) && maps.Equal(other.then.is, then.is)
		})
		if known {
			continue
		}
		how := "the process died"
		if i > 0 {
			how = fmt.Sprintf("the power was lost (%d)", i)
		}
		c.all = append(c.all, crash{fmt.Sprintf("%d, after %s, %s", moment, step, how), left, then})
	}
}

func (c *crashes) check(t *testing.T) {
	t.Helper()
	for _, crash := range c.all {
		t.Run(crash.name, func(t *testing.T) { crash.then.checkAfter(t, crash.left) })
	}
}

// TestACrashAtEachStep has a database made, used, closed and used again, and takes
// what a crash leaves after each step of that: every file is made and deleted in it,
// and each must be found again, or not be missed.
func TestACrashAtEachStep(t *testing.T) {
	d := newDisk(t)
	c := &crashes{disk: d, ledger: newLedger()}
	c.add("nothing")
	for _, begun := range []remains{ // before SQLite does anything
		{lockSuffix: nil},
		{lockSuffix: []byte("4711\n")},
		{lockSuffix: []byte("4711\n"), suffixMain: nil},
	} {
		c.all = append(c.all, crash{"begun: " + begun.String(), begun, c.ledger.clone()})
	}
	d.watch(c.add)
	names := numbered(6)
	for range 2 {
		s := d.open(t)
		c.ledger.mustBatch(t, s, names...)
		c.ledger.mustBatch(t, s, names[:2]...)
		c.ledger.remove(t, s, "3")
		c.ledger.mustBatch(t, s, "3", "new")
		c.ledger.check(t, s)
		mustClose(t, s)
	}
	d.watch(nil)
	for _, step := range []string{"make -journal", "delete -journal", "make -wal", "write -wal", "sync -wal", "write ", "sync ", "truncate -wal", "delete -wal"} {
		if !slices.Contains(c.steps, step) {
			t.Errorf("no crash after %q was tested", step)
		}
	}
	t.Logf("%d states after %d steps", len(c.all), d.steps)
	c.check(t)
}

// TestAFaultAtEachStep is the same life with a disk of which one step fails, another
// one each time, once or until it is mended. Where opening fails it says so, and
// leaves what can be opened when the disk is well.
func TestAFaultAtEachStep(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		for number := 1; ; number++ {
			d, l, failed := newDisk(t), newLedger(), ""
			d.failIf(func(now int, step string) error {
				if now == number || lasting && now > number && step == failed {
					failed = step
					return faultOf(step)
				}
				return nil
			})
			lifeWithAFault(t, d, l)
			d.mend()
			if t.Failed() {
				t.Fatalf("step %d, %q, lasting: %v", number, failed, lasting)
			}
			s := d.open(t)
			l.settle(t, s)
			l.check(t, s)
			l.checkWhole(t, s)
			mustClose(t, s)
			if failed == "" {
				t.Logf("%d steps", number-1)
				break
			}
		}
	}
}

// lifeWithAFault opens a store, writes, and closes it, twice.
func lifeWithAFault(t *testing.T, d *disk, l *ledger) {
	t.Helper()
	for range 2 {
		s, err := d.tryOpen(t)
		if err != nil {
			if !strings.Contains(err.Error(), d.path) {
				t.Errorf("Open does not name the file: %v", err)
			}
			continue
		}
		for range 2 {
			l.batch(t, s, l.certain("0", "1", "2")...)
		}
		_ = s.Close()
	}
}

// A crash after each step of a store that has a fault, and is rid of it.
func TestACrashAtEachStepOfAFault(t *testing.T) {
	for step, all := range faults {
		for _, fault := range all {
			t.Run(fmt.Sprint(step, ": ", fault), func(t *testing.T) {
				d := newDisk(t)
				c := &crashes{disk: d, ledger: newLedger()}
				s := d.open(t)
				names := numbered(4)
				c.ledger.mustBatch(t, s, names...)
				d.watch(c.add)
				d.fail(step, fault)
				c.ledger.batch(t, s, names...)
				c.ledger.remove(t, s, "gone")
				c.ledger.batch(t, s, "10", "11")
				d.mend()
				c.ledger.mustBatch(t, s, "20")
				c.ledger.settle(t, s)
				c.ledger.mustBatch(t, s, names...)
				d.watch(nil)
				mustClose(t, s)
				if len(c.all) < 8 {
					t.Errorf("%d states: nothing was tested", len(c.all))
				}
				c.check(t)
			})
		}
	}
}

// varied is a batch of all that a write can do, some of them refused.
func varied() (writes []store.Write) {
	more := func(name string, expect, op uint64, change func(*store.Write)) {
		w := message(key(name), opOf(expect), opOf(op), int64(op))
		change(&w)
		writes = append(writes, w)
	}
	more("0", 0, 1, func(*store.Write) {})
	more("1", 0, 1, func(*store.Write) {})
	more("0", 1, 2, func(w *store.Write) {
		w.Append[0].Kind, w.Append[0].ID, w.Append[0].Status, w.Append[0].Reason = store.Reply, "r", turn.ReplyCommitted, "why"
		w.Settle = []turn.Settle{{Through: 1, Status: turn.InputFailed, ReplySeq: 2}}
		w.Timer = 0
	})
	more("0", 1, 3, func(*store.Write) {})                          // a conflict
	more("0", 2, 4, func(w *store.Write) { w.Append[0].ID = "m1" }) // a duplicate
	more("0", 2, 5, func(w *store.Write) { w.Append[0].Seq = 1 })   // against the rules
	more("0", 2, 6, func(w *store.Write) {
		w.Append = nil
		w.Change = []store.Entry{writes[0].Append[0]}
		w.Change[0].Text, w.Change[0].Status = "edited", turn.InputFailed
		w.Settle = []turn.Settle{{Through: 6, Reopen: true}}
		w.Mark = []turn.Mark{{Seq: 2, Status: turn.ReplyFailed, Reason: "gone"}}
		w.At = start + 9
	})
	more("1", 1, 7, func(w *store.Write) {
		w.Append = append(w.Append, w.Append[0])
		w.Append[1].Seq, w.Append[1].ID = 8, "m8"
		w.Record.Phase, w.Timer = turn.Failed, 0
	})
	return writes
}

// contents are all rows of all tables.
func contents(t *testing.T, s *Store) (all []string) {
	t.Helper()
	for _, table := range []string{"conversations", "timers", "entries", "message_ids"} {
		all = append(all, rows(t, s, "SELECT * FROM "+table)...)
	}
	return all
}

// What is there after a crash is what was acknowledged, to the byte.
func TestACrashLeavesAllThatAWriteCanDo(t *testing.T) {
	d := newDisk(t)
	s := d.open(t)
	together(t, s, nil, varied()...)
	want := contents(t, s)
	if len(want) != 2+1+5+4 { // conversations, timers, entries, ids
		t.Errorf("%d rows: %q", len(want), want)
	}
	for _, left := range append(d.leftByPower(), d.left()) {
		again := left.lay(t).open(t)
		if got := contents(t, again); !slices.Equal(got, want) {
			t.Errorf("of %v:\n got %q\nwant %q", left, got, want)
		}
		mustClose(t, again)
	}
	mustClose(t, s)
}
