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
	table, err := Compare(t.Context(), 1, 50, Protocols())
	if err != nil {
		t.Fatal(err)
	}
	lock, debounce, lease := table[0], table[1], table[2]
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
}

func TestCompareRejectsUnknownProtocols(t *testing.T) {
	if _, err := Compare(t.Context(), 1, 1, []Protocol{"hope"}); err == nil {
		t.Error("the protocol hope was accepted")
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
