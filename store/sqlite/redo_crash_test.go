package sqlite

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// crash is a moment at which everything could have ended.
type crash struct {
	name string
	left remains
	then *ledger
}

// crashes collects one after each step of a disk, by what remains: as the death of
// the process leaves it, and as the loss of power may.
type crashes struct {
	disk   *disk
	ledger *ledger
	all    []crash
}

func (c *crashes) add(step string) {
	for _, lost := range [][]string{nil, {"-redo"}, {"-wal"}, {"-redo", "-wal"}} {
		left, then := c.disk.left(lost...), c.ledger.clone()
		same := slices.IndexFunc(c.all, func(other crash) bool {
			return maps.EqualFunc(other.left, left, bytes.Equal) && maps.Equal(other.then.is, then.is)
		})
		if same < 0 {
			c.all = append(c.all, crash{fmt.Sprintf("moment %d, after: %s, lost: %v", len(c.all), step, lost), left, then})
		}
	}
}

func (c *crashes) check(t *testing.T) {
	t.Helper()
	for _, crash := range c.all {
		t.Run(crash.name, func(t *testing.T) { crash.then.checkAfter(t, crash.left) })
	}
}

// collect has a store do something, and collects what a crash would leave.
func collect(t *testing.T, work func(t *testing.T, d *disk, s *Store, l *ledger)) *crashes {
	t.Helper()
	var c *crashes
	inBubble(t, func(t *testing.T) {
		d := newDisk(t)
		c = &crashes{disk: d, ledger: newLedger()}
		s := d.open(t)
		d.watch(c.add)
		work(t, d, s, c.ledger)
		d.watch(nil)
		d.mend()
		mustClose(t, s)
	})
	return c
}

func TestACrashAtEachStep(t *testing.T) {
	names := numbered(minLogged)
	c := collect(t, func(t *testing.T, d *disk, s *Store, l *ledger) {
		l.batch(t, s, names...)
		l.batch(t, s, names[:2]...)
		time.Sleep(maxIdle) // it is committed, and the log begins anew
		l.batch(t, s, names...)
		l.remove(t, s, "3")
		l.batch(t, s, "few")
		l.batch(t, s, names...)
		l.batch(t, s, "4")
		l.check(t, s)
		l.batch(t, s, names...)
		time.Sleep(maxIdle)
	})
	if len(c.all) < 25 {
		t.Errorf("%d moments: nothing was tested", len(c.all))
	}
	c.check(t)
}

// A crash after each step of a store that has a fault, and is rid of it.
func TestACrashAtEachStepOfAFault(t *testing.T) {
	names := numbered(minLogged)
	for step, all := range faults {
		for _, fault := range all {
			t.Run(fmt.Sprint(step, ": ", fault), func(t *testing.T) {
				c := collect(t, func(t *testing.T, d *disk, s *Store, l *ledger) {
					if step != redoOpen {
						l.batch(t, s, names...)
					}
					d.fail(step, fault)
					l.batch(t, s, names...)                        // logged, where that goes
					l.remove(t, s, "gone")                         // has the tables committed
					l.batch(t, s, "10", "11", "12", "13")          // after a commit that failed
					l.batch(t, s, numbered(2 * minLogged)[10:]...) // enough to be logged
					d.mend()
					time.Sleep(retryAfter)
					l.batch(t, s, "20")
					l.settle(t, s)
					l.batch(t, s, names...)
				})
				c.check(t)
			})
		}
	}
}

// A crash while what a crash left is carried out.
func TestACrashWhileTheLogIsCarriedOut(t *testing.T) {
	for _, usedBefore := range []bool{false, true} {
		left := died(t, 3, usedBefore)
		l := newLedger()
		for _, name := range numbered(minLogged) {
			seq := int64(3)
			if usedBefore {
				seq = 5
			}
			l.is[name] = life{opOf(uint64(seq)), seq}
		}
		l.ops = 1000
		c := &crashes{disk: left.lay(t), ledger: l}
		c.disk.watch(c.add)
		s := c.disk.open(t)
		c.disk.watch(nil)
		mustClose(t, s)
		if len(c.all) < 2 {
			t.Errorf("%d moments: nothing was tested", len(c.all))
		}
		c.check(t)
	}
}

// varied is a batch of all that a write can do, some of them refused.
func varied() []store.Write {
	writes := burst(minLogged, 1)
	more := func(name string, expect, op uint64, change func(*store.Write)) {
		w := message(key(name), opOf(expect), opOf(op), int64(op))
		change(&w)
		writes = append(writes, w)
	}
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

// contents are all tables but the generation.
func contents(t *testing.T, s *Store) (all []string) {
	t.Helper()
	for _, table := range []string{"conversations", "timers", "entries", "message_ids"} {
		all = append(all, rows(t, s, "SELECT * FROM "+table)...)
	}
	return all
}

// What is carried out again, after a crash or a failure, is what was acknowledged.
func TestWhatIsCarriedOutAgainIsTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := newDisk(t)
		s := d.open(t)
		together(t, s, nil, varied()...)
		after := d.left()
		time.Sleep(maxIdle)
		synctest.Wait()
		want := contents(t, s)
		if len(want) != 36 { // 8 conversations, 7 timers, 11 entries, 10 ids
			t.Errorf("%d rows: %q", len(want), want)
		}
		again := after.lay(t).open(t)
		if got := contents(t, again); !slices.Equal(got, want) {
			t.Errorf("after a crash:\n got %q\nwant %q", got, want)
		}
		failed := newDisk(t).open(t)
		together(t, failed, nil, varied()...)
		if err := failing(t, failed, message(key("x"), store.Op{}, opOf(1), 1), sqlite3.CONSTRAINT); err == nil {
			t.Error("nothing failed")
		}
		time.Sleep(retryAfter)
		synctest.Wait()
		if got := contents(t, failed); !slices.Equal(got, want) {
			t.Errorf("after a failure:\n got %q\nwant %q", got, want)
		}
	})
}
