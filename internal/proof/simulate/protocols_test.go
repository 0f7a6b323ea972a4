package simulate

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"
)

// Under the same traffic the designs that failed fail, and the lease does not.
func TestCompare(t *testing.T) {
	table, err := Compare(t.Context(), 1, 50, Protocols(), Mixed)
	if err != nil {
		t.Fatal(err)
	}
	lock, debounce, lease, early := table[0], table[1], table[2], table[3]
	if lock.Duplicates == 0 || lock.Stale == 0 {
		t.Errorf("a short lock looks right: %+v", lock)
	}
	if debounce.Duplicates == 0 || debounce.Stale == 0 || debounce.Lost == 0 {
		t.Errorf("a debounce without a final check looks right: %+v", debounce)
	}
	if lease.Duplicates != 0 || lease.Lost != 0 || lease.Replies == 0 {
		t.Errorf("the lease does not keep the promise: %+v", lease)
	}
	if lease.ModelCalls >= debounce.ModelCalls || lease.ModelCalls >= lock.ModelCalls {
		t.Errorf("the lease calls the model more often than the others: %+v", table)
	}
	if early.Duplicates != 0 || early.Lost != 0 || early.Messages != lease.Messages {
		t.Errorf("with an early start the lease does not keep the promise: %+v", early)
	}
}

// The last message is answered after the model's time instead of the debounce and the
// model's time, and that costs model calls.
func TestEarlyStartOfTheDay(t *testing.T) {
	table, err := Compare(t.Context(), 1, 30, []Protocol{Lease, Early}, Day)
	if err != nil {
		t.Fatal(err)
	}
	lease, early := table[0], table[1]
	if lease.LastP50 < 3500 || lease.LastP50 > 3600 || early.LastP50 < 2000 || early.LastP50 > 2100 {
		t.Errorf("half of the last messages are answered within %d ms, and %d ms with an early start", lease.LastP50, early.LastP50)
	}
	if early.ModelCalls <= lease.ModelCalls || early.ModelCalls > lease.ModelCalls*4 {
		t.Errorf("%d model calls, and %d with an early start", lease.ModelCalls, early.ModelCalls)
	}
}

func TestCompareRejectsUnknownProtocols(t *testing.T) {
	if _, err := Compare(t.Context(), 1, 1, []Protocol{"hope"}, Mixed); err == nil {
		t.Error("the protocol hope was accepted")
	}
	if _, err := Compare(t.Context(), 1, 1, Protocols(), "rush"); err == nil {
		t.Error("the traffic rush was accepted")
	}
}

// The picture is well-formed and the same each time.
func TestPicture(t *testing.T) {
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := Picture(out); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != second.String() {
		t.Error("two pictures differ")
	}
	decoder := xml.NewDecoder(&first)
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
