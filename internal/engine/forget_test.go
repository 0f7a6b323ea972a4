package engine_test

import (
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// Each turn that is open when a conversation is deleted is told to have ended.
func TestTurnsEndWithTheirConversation(t *testing.T) {
	tests := map[string]struct {
		events func(h *harness)
		want   int
	}{
		"nothing":    {func(h *harness) {}, 0},
		"collecting": {func(h *harness) { h.say("m") }, 1},
		"generating": {func(h *harness) { h.say("m"); h.pass(time.Second) }, 1},
		"a reply under way, and one that waits": {func(h *harness) {
			h.say("m")
			h.pass(time.Second)
			h.respond(asked[engine.Start](h), engine.Response{Text: "hello"})
			h.human("I take over")
		}, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			test.events(h)
			h.settle()
			h.submit("delete", engine.Request{Op: engine.Forget})
			h.settle()
			if err := h.answers["delete"].Err; err != nil {
				t.Fatal(err)
			}
			ends := map[int64]int{}
			for _, e := range h.events {
				if e.Kind == turn.KindTurnEnded && e.Reason == string(turn.EndedDeleted) {
					ends[e.Turn]++
				}
			}
			for number := range int64(test.want) {
				if ends[number+1] != 1 {
					t.Errorf("turn %d ended %d times", number+1, ends[number+1])
				}
			}
			if len(ends) != test.want {
				t.Errorf("turns ended: %v, want %d", ends, test.want)
			}
		})
	}
}
