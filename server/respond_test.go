package server

import (
	"testing"
	"time"
)

// While the store is out of reach each request fails: a few lines a second tell it.
func TestRequestsThatAreNotServedDoNotFloodTheLog(t *testing.T) {
	var l sparing
	now := time.Now()
	for i := range 1000 {
		if ok, before := l.line(now.Add(time.Duration(i) * time.Microsecond)); ok != (i < maxLines) || before != 0 {
			t.Fatalf("line %d: got %v, %d", i, ok, before)
		}
	}
	if ok, before := l.line(now.Add(time.Second)); !ok || before != 1000-maxLines {
		t.Errorf("a second later: got %v, %d; want a line that says that %d were left out", ok, before, 1000-maxLines)
	}
	if ok, before := l.line(now.Add(time.Second)); !ok || before != 0 {
		t.Errorf("the next one: got %v, %d", ok, before)
	}
}
