package loglimit

import (
	"testing"
	"time"
)

func TestAFewLinesASecondAccountForAll(t *testing.T) {
	const lines = 10
	l := Limit{Lines: lines}
	now := time.Now()
	for i := range 1000 {
		want := uint64(0)
		if i < lines {
			want = 1
		}
		if got := l.Add(now.Add(time.Duration(i)*time.Microsecond), 1); got != want {
			t.Fatalf("event %d: the line accounts for %d events, want %d", i, got, want)
		}
	}
	if got := l.Add(now.Add(time.Second-1), 0); got != 0 {
		t.Errorf("within the second: a line for %d events, want none", got)
	}
	if got := l.Add(now.Add(time.Second), 1); got != 1000-lines+1 {
		t.Errorf("a second later the line accounts for %d events, want %d", got, 1000-lines+1)
	}
	if got := l.Add(now.Add(time.Second), 1); got != 1 {
		t.Errorf("the next line accounts for %d events, want 1", got)
	}
}

func TestALineIsOwedForEarlierEvents(t *testing.T) {
	l := Limit{Every: 10 * time.Second}
	now := time.Now()
	for _, step := range []struct {
		at   time.Duration
		add  uint64
		want uint64
	}{
		{0, 0, 0}, // nothing has happened: no line, and the interval is not used up
		{0, 3, 3},
		{9 * time.Second, 4, 0},
		{9 * time.Second, 2, 0},
		{10 * time.Second, 0, 6},
		{19 * time.Second, 0, 0},
		{20 * time.Second, 0, 0},
		{21 * time.Second, 1, 1},
	} {
		if got := l.Add(now.Add(step.at), step.add); got != step.want {
			t.Errorf("after %v, adding %d: the line accounts for %d events, want %d", step.at, step.add, got, step.want)
		}
	}
}
