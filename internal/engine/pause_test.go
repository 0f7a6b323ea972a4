package engine_test

import (
	"testing"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// A pause that is written together with the commit of a reply is answered when
// that write is; from then on nothing of the bot is sent.
func TestAPauseInTheSameWriteAsTheCommit(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	h.submit("before", engine.Request{Op: engine.Typing}) // reads first, so that the next two wait for each other
	h.node.Hinted(h.now, keyOf("c"))                      // its renewal is being written
	h.node.Responded(h.now, engine.Response{Key: started.Key, Nonce: started.Lease.Nonce, Text: "too late"})
	h.submit("pause", engine.Request{Op: engine.Pause})
	h.settle()
	if n := count[engine.Send](h); n != 0 {
		t.Errorf("%d sends began after the pause was answered", n)
	}
	if record := h.record(); !record.OnHold || record.Reply != nil || record.Pending != 1 {
		t.Errorf("the reply was not taken back: %+v", record)
	}
	if got := h.replied(turn.ReplyWithdrawn); got != "too late" {
		t.Errorf("withdrawn: %q", got)
	}
}
