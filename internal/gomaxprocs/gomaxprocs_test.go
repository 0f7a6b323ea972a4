package gomaxprocs

import (
	"runtime"
	"testing"
)

func TestRoomIsMadeOnceAndUndoneByTheLast(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	usual := runtime.GOMAXPROCS(0)
	is := func(want int, when string) {
		t.Helper()
		if got := runtime.GOMAXPROCS(0); got != want {
			t.Errorf("%s: GOMAXPROCS is %d, want %d", when, got, want)
		}
	}
	first := OneMore()
	second := OneMore()
	is(usual+1, "two want it")
	first()
	first()
	is(usual+1, "one wants it")
	second()
	is(usual, "nobody wants it")
}

func TestTheEnvironmentDecides(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	usual := runtime.GOMAXPROCS(0)
	defer OneMore()()
	if got := runtime.GOMAXPROCS(0); got != usual {
		t.Errorf("GOMAXPROCS is %d, want %d", got, usual)
	}
}
