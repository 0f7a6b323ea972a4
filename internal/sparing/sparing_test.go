package sparing

import (
	"testing"
	"time"
)

func TestAFewLinesASecondTellOfAll(t *testing.T) {
	const maxLines = 10
	var l Lines
	now := time.Now()
	for i := range 1000 {
		if ok, before := l.Next(now.Add(time.Duration(i)*time.Microsecond), maxLines); ok != (i < maxLines) || before != 0 {
			t.Fatalf("line %d: got %v, %d", i, ok, before)
		}
	}
	if ok, before := l.Next(now.Add(time.Second), maxLines); !ok || before != 1000-maxLines {
		t.Errorf("a second later: got %v, %d; want a line that says that %d were left out", ok, before, 1000-maxLines)
	}
	if ok, before := l.Next(now.Add(time.Second), maxLines); !ok || before != 0 {
		t.Errorf("the next one: got %v, %d", ok, before)
	}
}
