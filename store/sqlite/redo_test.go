package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply/store"
)

// burst is the message seq of so many conversations, enough to be logged. The Op of
// each is its sequence.
func burst(count int, seq int64) []store.Write {
	var writes []store.Write
	for i := range count {
		expect := store.Op{}
		if seq > 1 {
			expect = opOf(uint64(seq - 1))
		}
		writes = append(writes, message(key(fmt.Sprint(i)), expect, opOf(uint64(seq)), seq))
	}
	return writes
}

func mustTogether(t testing.TB, s *Store, writes ...store.Write) {
	t.Helper()
	for i, a := range together(t, s, nil, writes...) {
		if !a.ok() {
			t.Fatalf("write %d of %d: got %v, %v; want ok", i+1, len(writes), a.result.Status, a.err)
		}
	}
}

// mustLog has a batch of first messages logged.
func mustLog(t testing.TB, s *Store) {
	t.Helper()
	mustTogether(t, s, burst(minLogged, 1)...)
	if !s.writer.ahead.any() {
		t.Fatal("nothing is logged")
	}
}

// inTables is how many entries the tables have by now.
func inTables(t *testing.T, s *Store) string {
	t.Helper()
	return rows(t, s, "SELECT count(*) FROM entries")[0]
}

// checkBurst checks that the conversations of a burst hold the messages up to seq.
func checkBurst(t *testing.T, s *Store, count int, seq int64) {
	t.Helper()
	for i := range count {
		entries := mustEntries(t, s, key(fmt.Sprint(i)))
		if int64(len(entries)) != seq {
			t.Fatalf("conversation %d has %d entries, want %d", i, len(entries), seq)
		}
	}
}

func TestABatchThatIsLoggedIsCommittedSoon(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Millisecond} { // between the batches, so many
		inBubble(t, func(t *testing.T) {
			s := openNew(t)
			mustLog(t, s)
			if got := inTables(t, s); got != "0" {
				t.Fatalf("%s entries are committed with the batch", got)
			}
			begun, seq := time.Now(), int64(1)
			for pause > 0 && time.Since(begun) < maxOpen {
				time.Sleep(pause)
				seq++
				mustTogether(t, s, burst(minLogged, seq)...)
			}
			if pause == 0 {
				time.Sleep(maxIdle)
			}
			synctest.Wait()
			if got, want := inTables(t, s), fmt.Sprint(minLogged*seq); got != want {
				t.Errorf("%v after the first batch %s entries are committed, want %s", time.Since(begun), got, want)
			}
		})
	}
}

func TestFewWritesAreNotLogged(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := openNew(t)
		mustTogether(t, s, burst(minLogged-1, 1)...)
		if got := inTables(t, s); got != fmt.Sprint(minLogged-1) {
			t.Errorf("%s entries are committed", got)
		}
	})
}

// A batch of which all is refused leaves nothing to commit, so nothing may stay open:
// another program could not write.
func TestABatchThatIsRefusedLeavesNoTransaction(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := openNew(t)
		for _, a := range together(t, s, nil, burst(minLogged, 2)...) {
			if a.err != nil || a.result.Status != store.Conflict {
				t.Fatalf("got %v, %v; want a conflict", a.result.Status, a.err)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s.writer.inside {
			t.Error("a transaction is open")
		}
	})
}

// A batch that is longer than the log goes into the tables, and the log is used for
// the next.
func TestABatchThatIsTooLongForTheLog(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := openNew(t)
		for seq := range int64(2) {
			long := burst(minLogged, seq+1)
			for i := range long {
				long[i].Append[0].Text = strings.Repeat("long ", maxRedo/minLogged/5)
			}
			mustTogether(t, s, long...)
			if got, want := inTables(t, s), fmt.Sprint(minLogged*(seq+1)); got != want {
				t.Fatalf("%s entries are committed, want %s", got, want)
			}
		}
		mustTogether(t, s, burst(minLogged, 3)...)
		if got, want := inTables(t, s), fmt.Sprint(minLogged*2); got != want {
			t.Errorf("%s entries are committed, want %s and the others logged", got, want)
		}
		checkBurst(t, s, minLogged, 3)
	})
}

func TestAFullLogIsCommitted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := newDisk(t)
		s := d.open(t)
		seq, committed := int64(0), "0"
		for committed == "0" && seq < 20 {
			seq++
			large := burst(minLogged, seq)
			large[0].Append[0].Text = strings.Repeat("x", maxRedo/4)
			mustTogether(t, s, large...)
			committed = inTables(t, s)
		}
		if committed != fmt.Sprint(minLogged*seq) {
			t.Errorf("after %d batches %s entries are committed", seq, committed)
		}
		mustTogether(t, s, burst(minLogged, seq+1)...)
		again := d.left().lay(t).open(t)
		checkBurst(t, again, minLogged, seq+1)
		mustClose(t, again)
		mustClose(t, s)
	})
}

func TestTheRedoFileIsGoneAfterClose(t *testing.T) {
	s := openNew(t)
	mustTogether(t, s, burst(minLogged, 1)...)
	path := redoPath(s.path)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there (%v)", err)
	}
	checkBurst(t, openAt(t, s.path), minLogged, 1)
}

// What can't be committed at the end is found by the next opening.
func TestTheRedoFileStaysWhereItCounts(t *testing.T) {
	for _, step := range []string{walWrite, walSync} {
		for _, fault := range faults[step] {
			inBubble(t, func(t *testing.T) {
				d := newDisk(t)
				s := d.open(t)
				mustLog(t, s)
				d.fail(step, fault)
				if err := s.Close(); !errors.Is(err, fault) {
					t.Errorf("Close: got error %v, want %v", err, fault)
				}
				d.mend()
				again := d.open(t)
				checkBurst(t, again, minLogged, 1)
				mustClose(t, again)
			})
		}
	}
}

func TestTheRedoFileIsForItsOwnerOnly(t *testing.T) {
	s := openNew(t)
	mustTogether(t, s, burst(minLogged, 1)...)
	info, err := os.Stat(redoPath(s.path))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 || info.Size() != maxRedo {
		t.Errorf("it has mode %v and %d bytes", info.Mode(), info.Size())
	}
}
