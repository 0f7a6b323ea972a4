package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
)

// The rest of an album, and of a text that a client cut in two, is waited for.
func TestTheQuietTimeAfterAMessage(t *testing.T) {
	const debounce, group, split = time.Second, 2 * time.Second, 3 * time.Second
	tests := map[string]struct {
		splitAt int
		request engine.Request
		want    time.Duration
	}{
		"a short text":           {5, engine.Request{Body: store.Body{Text: "abcd"}}, debounce},
		"one that was cut":       {5, engine.Request{Body: store.Body{Text: "abcde"}}, split},
		"a longer one":           {5, engine.Request{Body: store.Body{Text: "abcdef"}}, split},
		"characters, not bytes":  {5, engine.Request{Body: store.Body{Text: "äöüß"}}, debounce},
		"clients that cut none":  {0, engine.Request{Body: store.Body{Text: strings.Repeat("a", 9000)}}, debounce},
		"each of them":           {1, engine.Request{Body: store.Body{Text: "a"}}, split},
		"no text":                {0, engine.Request{}, debounce},
		"of an album":            {5, engine.Request{Group: true}, group},
		"of an album, with text": {5, engine.Request{Group: true, Body: store.Body{Text: "abcde"}}, split},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(o *engine.Options) {
				b := o.Bots["bot"]
				b.GroupWait, b.SplitAt, b.SplitWait = group, test.splitAt, split
				o.Bots["bot"] = b
			})
			r := test.request
			r.Op, r.ID = engine.Receive, "m"
			h.submit("m", r)
			h.settle()
			if got := h.answers["m"].Due.Sub(h.now); got != test.want {
				t.Errorf("due in %v, want %v", got, test.want)
			}
		})
	}
}

// The debounce is the least quiet time.
func TestTheQuietTimeIsNoLessThanTheDebounce(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) {
		b := o.Bots["bot"]
		b.GroupWait, b.SplitAt, b.SplitWait = time.Millisecond, 1, time.Millisecond
		o.Bots["bot"] = b
	})
	h.submit("m", engine.Request{Op: engine.Receive, ID: "m", Group: true, Body: store.Body{Text: "m"}})
	h.settle()
	if got := h.answers["m"].Due.Sub(h.now); got != time.Second {
		t.Errorf("due in %v", got)
	}
}
