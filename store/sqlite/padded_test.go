package sqlite

import (
	"bytes"
	"strings"
	"testing"

	"github.com/onereply/onereply/store"
)

func TestAPaddedRecordIsALittleLonger(t *testing.T) {
	lengths := map[int]bool{}
	for length := 2; length <= 4096; length++ {
		record := []byte("{" + strings.Repeat("x", length-2) + "}")
		got := padded(bytes.Clone(record))
		if !bytes.Equal(bytes.TrimRight(got, " "), record) {
			t.Fatalf("%d bytes became %q", length, got)
		}
		if more := len(got) - length; more >= 16 && more > length/4 {
			t.Errorf("%d bytes became %d", length, len(got))
		}
		lengths[len(got)] = true
	}
	if len(lengths) > 64 {
		t.Errorf("4 KiB of lengths became %d, want few", len(lengths))
	}
}

// TestAStoredRecordKeepsItsLength has a record grow a little with each write: most
// writes must find a row that is as long as the new one, and the record that is read
// must be the one that was written.
func TestAStoredRecordKeepsItsLength(t *testing.T) {
	s := openNew(t)
	lengths := map[string]bool{}
	const writes = 40
	last := store.Op{}
	for i := int64(1); i <= writes; i++ {
		write := message(key("c"), last, opOf(uint64(i)), i)
		write.Record.LastError = strings.Repeat("no answer", int(i))
		mustCommit(t, s, write)
		last = write.Op
		snapshot, err := s.Load(t.Context(), key("c"))
		if err != nil || snapshot.Record.LastError != write.Record.LastError || snapshot.Record.Version != i {
			t.Fatalf("read: %+v, %v; written: %+v", snapshot.Record, err, write.Record)
		}
		lengths[rows(t, s, "SELECT length(record) FROM conversations")[0]] = true
	}
	if len(lengths) > writes/3 {
		t.Errorf("%d writes made %d lengths", writes, len(lengths))
	}
}
