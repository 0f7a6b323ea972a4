package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// suspect leaves a message in a conversation that has cost two workers their lives, so that its
// next attempt must run alone.
func (h *harness) suspect(conversation string) {
	h.t.Helper()
	now := h.now
	h.other(conversation, turn.Message{})
	for i := range 3 {
		at, _ := h.recordOf(conversation).Wake()
		h.now = at
		h.other(conversation, turn.Wake{Holder: "lost", Nonce: fmt.Sprint(conversation, i)})
	}
	if _, alone := h.recordOf(conversation).MustRunAlone(); !alone || h.recordOf(conversation).Phase != turn.Collecting {
		h.t.Fatalf("it need not run alone: %+v", h.recordOf(conversation))
	}
	h.now = now
}

// due is when the suspects' next attempts are due: two leases have run out by then.
func (h *harness) due() turn.Time { return h.now.Add(time.Second + 2*lease + time.Second) }

// hears lets a message come to each conversation.
func (h *harness) hears(conversations ...string) {
	for _, c := range conversations {
		h.submit("to "+c, engine.Request{Key: keyOf(c), Op: engine.Receive, ID: c, Body: store.Body{Text: c}})
	}
	h.settle()
}

// starts takes all attempts that begin, by conversation.
func (h *harness) starts() map[string]engine.Start {
	all := map[string]engine.Start{}
	for count[engine.Start](h) > 0 {
		s := asked[engine.Start](h)
		all[s.Key.Conversation] = s
	}
	return all
}

func (h *harness) wantStarts(want ...string) map[string]engine.Start {
	h.t.Helper()
	all := h.starts()
	var got []string
	for c := range all {
		got = append(got, c)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		h.t.Fatalf("attempts of %v begin, want %v", got, want)
	}
	return all
}

var silent = engine.Response{None: true}

// A suspect waits until those that run have ended, and holds back those that come. None
// begins beside it. Then the others go first.
func TestASuspectRunsAlone(t *testing.T) {
	h := newHarness(t)
	h.suspect("suspect")
	h.suspect("suspect too")
	h.pass(h.due().Sub(h.now) - 2*time.Second)
	h.hears("before")
	h.pass(time.Second)
	before := h.wantStarts("before")["before"]
	h.pass(10 * time.Second)
	h.hears("meanwhile")
	h.pass(5 * time.Second)
	h.wantStarts()
	h.respond(before, silent)
	var first engine.Start
	for _, first = range h.starts() {
	}
	if !first.Lease.Lone || !h.recordOf(first.Key.Conversation).Lease.Lone {
		t.Fatalf("after the end of the other attempt: %+v", first)
	}
	h.pass(10 * time.Second)
	h.wantStarts()
	h.hears("later")
	h.pass(10 * time.Second)
	h.wantStarts()
	h.respond(first, silent)
	others := h.wantStarts("later", "meanwhile")
	for _, s := range others {
		if s.Lease.Lone {
			t.Errorf("%s runs alone", s.Key.Conversation)
		}
	}
	h.pass(10 * time.Second) // it held the others back for longer
	h.hears("last")
	h.pass(time.Second)
	h.respond(h.wantStarts("last")["last"], silent)
	h.pass(time.Minute)
	h.hears("too late")
	h.pass(5 * time.Second)
	h.wantStarts()
	for _, s := range others {
		h.respond(s, silent)
	}
	if all := h.starts(); len(all) != 1 {
		t.Fatalf("attempts of %v begin", all)
	}
}

// Nobody else waits: one suspect follows the other.
func TestSuspectsRunOneAfterTheOther(t *testing.T) {
	h := newHarness(t)
	for i := range 5 {
		h.suspect(fmt.Sprint(i))
	}
	h.pass(h.due().Sub(h.now) - time.Second)
	for range 5 {
		h.pass(2 * time.Second) // they are claimed, as those of a node that is gone
		all := h.starts()
		if len(all) != 1 || h.node.Generating() != 1 {
			t.Fatalf("%d attempts begin, %d run", len(all), h.node.Generating())
		}
		for _, s := range all {
			h.pass(time.Second)
			h.respond(s, silent)
		}
	}
	h.wantStarts()
	if h.node.Generating() != 0 {
		t.Errorf("%d slots stay taken", h.node.Generating())
	}
}

// Others that come all the time do not keep a suspect waiting, nor the suspects the others:
// each get half of the time.
func TestSuspectsAndOthersShareTheTime(t *testing.T) {
	h := newHarness(t)
	for i := range 40 {
		h.suspect(fmt.Sprint("suspect ", i))
	}
	h.pass(h.due().Sub(h.now) - time.Second)
	ends := map[string]turn.Time{}
	running := map[string]engine.Start{}
	lone, others := 0, 0
	for i := range 200 {
		h.hears(fmt.Sprint("other ", i))
		h.pass(500 * time.Millisecond)
		for c, s := range h.starts() {
			running[c], ends[c] = s, h.now.Add(time.Second)
		}
		for c, s := range running {
			if s.Lease.Lone && len(running) > 1 {
				t.Fatalf("%s does not run alone: %d run", c, len(running))
			}
		}
		for c, s := range running {
			if h.now < ends[c] {
				continue
			}
			if delete(running, c); s.Lease.Lone {
				lone++
			} else {
				others++
			}
			h.respond(s, silent)
		}
	}
	if lone < 10 || others < 150 { // in 100 s, of which a suspect costs two or three and an other, in one of 4 slots, one
		t.Errorf("%d suspects and %d others ended", lone, others)
	}
}

// A node on which a worker was lost just now waits for as long as the pause is: another one
// may take the suspect meanwhile.
func TestASuspectNeedsACalmNode(t *testing.T) {
	before := newHarness(t)
	before.suspect("suspect")
	h := newHarnessOn(t, before.store, before.due().Add(10*time.Second)) // it starts now
	h.pass(900 * time.Millisecond)
	h.wantStarts()
	h.pass(100 * time.Millisecond)
	h.wantStarts("suspect")
}

// A node that lost its own lease is not calm either.
func TestALostLeaseEndsTheCalm(t *testing.T) {
	h := newHarness(t)
	h.suspect("suspect")
	h.pass(h.due().Sub(h.now) - 10*time.Second)
	h.hears("other")
	h.pass(time.Second)
	s := h.wantStarts("other")["other"]
	h.tick(h.now.Add(lease)) // it stood still
	h.respond(s, silent)
	h.pass(900 * time.Millisecond)
	h.wantStarts()
	h.pass(100 * time.Millisecond)
	h.wantStarts("suspect")
}

// The attempt that runs alone may end in a write that fails, or have nothing to do: others
// go on all the same.
func TestOthersGoOnAfterASuspect(t *testing.T) {
	t.Run("its record can't be written", func(t *testing.T) {
		h := newHarness(t)
		h.suspect("suspect")
		h.pass(h.due().Sub(h.now) + time.Second)
		s := h.wantStarts("suspect")["suspect"]
		h.hears("other")
		h.fault = func(w store.Write) (store.Result, error) {
			if w.Key.Conversation == "suspect" {
				return store.Result{}, store.ErrNotApplied
			}
			return h.store.Commit(t.Context(), w)
		}
		h.respond(s, silent)
		h.pass(time.Second)
		h.wantStarts("other")
	})
	t.Run("another node has seen to it", func(t *testing.T) {
		h := newHarness(t)
		h.suspect("suspect")
		h.pass(h.due().Sub(h.now) - 2*time.Second)
		h.hears("before")
		h.pass(10 * time.Second)
		s := h.wantStarts("before")["before"]
		h.other("suspect", turn.HumanReply{Parts: 1, Sent: true})
		h.hears("other")
		h.respond(s, silent)
		h.pass(time.Second)
		h.wantStarts("other")
	})
}
