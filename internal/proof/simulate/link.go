package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onereply/onereply/internal/engine"
	shipped "github.com/onereply/onereply/internal/node"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

var (
	errAway    = errors.New("connection refused")
	errTimeout = errors.New("no answer in time")
)

// trip is what happens to one call of the store: how long it takes there and
// back, and what goes wrong.
type trip struct {
	out, back time.Duration
	fault     What
}

// travel draws a trip. It depends on who calls for what, and when.
func (n *node) travel(call, conversation string) trip {
	if n.now <= n.rush {
		return trip{}
	}
	d := roll(n.Seed, call+conversation, int64(n.index), int64(n.now))
	t := trip{out: d.span(time.Millisecond, ordinaryLink), back: d.span(time.Millisecond, ordinaryLink)}
	if n.strikes(storeSlow, n.index, d, 50) {
		t.out += d.span(0, 3*time.Second)
	}
	if n.strikes(storeLate, n.index, d, 50) {
		t.back += d.span(0, 3*time.Second)
	}
	faults := []What{readFails}
	if call == "commit" {
		faults = []What{storeRefuses, unknownKept, unknownLost, unknownLater}
	}
	for _, fault := range faults {
		if t.fault == "" && n.strikes(fault, n.index, d, 60) {
			t.fault = fault
		}
	}
	return t
}

// cutOff reports whether the node can't reach the store now.
func (n *node) cutOff() bool {
	for _, what := range []What{partition, storeAway} {
		if n.isActive(what, n.index) {
			n.count(what)
			return true
		}
	}
	return false
}

// read makes a call that changes nothing: visit happens at the store, and
// answer at the node.
func (n *node) read(call, conversation string, visit func(), answer func(now turn.Time, err error)) {
	t, life := n.travel(call, conversation), n.life
	fails := func(err error, after time.Duration) {
		n.after(after, func() { n.tell(life, func(now turn.Time) { answer(now, err) }) })
	}
	n.after(t.out, func() {
		if n.cutOff() {
			fails(errAway, time.Millisecond)
			return
		}
		visit()
		if t.fault != "" { // it was carried out, and its answer is lost
			fails(errTimeout, 100*time.Millisecond)
			return
		}
		n.after(t.back, func() {
			if n.cutOff() {
				fails(errTimeout, storeTimeout)
				return
			}
			n.tell(life, func(now turn.Time) { answer(now, nil) })
		})
	})
}

// load reads the record and the entries, as the runtime does.
func (n *node) load(o engine.Load) {
	var result engine.LoadResult
	n.play(func(s remote) { result = shipped.Load(context.Background(), s, o) }, func(now turn.Time) {
		n.engine.Loaded(now, result)
	})
}

// readPrompt reads the entries that wait and the last ones, as the runtime does.
func (n *node) readPrompt(o engine.ReadPrompt) {
	var waiting, tail []store.Entry
	var err error
	n.ledger.reads(o)
	n.play(func(s remote) { waiting, tail, err = shipped.ReadPrompt(context.Background(), s, o) }, func(now turn.Time) {
		if n.seeded.flaws.historyEmpty {
			tail = nil
		}
		if n.seeded.flaws.historyHidesClosed {
			tail = slices.DeleteFunc(tail, func(e store.Entry) bool { return e.Status == turn.InputClosed || e.Status == turn.InputContext })
		}
		for i := range tail {
			if n.seeded.flaws.historyTellsAll && tail[i].Kind == store.Reply {
				tail[i].Status = turn.ReplySent
			}
			if e := &tail[i]; n.seeded.flaws.historyTellsErased && e.Reason == string(turn.Erased) {
				e.Status, e.Text = turn.InputClosed, said(o.Key, e.ID)
			}
		}
		n.engine.PromptRead(now, o.Key, o.Nonce, waiting, tail, err)
	})
}

func (n *node) claim(o engine.Claim) {
	var claimed []store.Timer
	now := n.clock()
	n.read("claim", "", func() { claimed = n.claimAt(now, o) }, func(now turn.Time, err error) {
		n.engine.Claimed(now, claimed, err)
	})
}

// claimAt is the store's side of a claim.
func (n *node) claimAt(now turn.Time, o engine.Claim) []store.Timer {
	if n.seeded.flaws.noClaims {
		return nil
	}
	if n.seeded.flaws.claimsLate {
		now = now.Add(-2 * time.Minute)
	}
	claimed, err := n.store.Claim(context.Background(), now, o.Limit, o.Hold, o.Bots...)
	n.mustBeNil(err)
	if n.seeded.flaws.claimsAreLost {
		for _, t := range claimed {
			n.clearTimer(t.Key)
		}
	}
	return claimed
}

func (n *node) recover(o engine.Recover) {
	var found []store.Timer
	n.read("recover", "", func() {
		var err error
		found, err = n.store.Due(context.Background(), o.Until, o.Limit)
		n.mustBeNil(err)
	}, func(now turn.Time, err error) { n.engine.Recovered(now, found, err) })
}

// remove deletes a conversation. One that fails has left it as it was.
func (n *node) remove(o engine.Delete) {
	n.read("delete", o.Key.Conversation, func() {
		n.mustBeNil(n.store.Delete(context.Background(), o.Key))
		if n.seeded.flaws.deletesAnother {
			n.mustBeNil(n.store.Delete(context.Background(), n.key(0)))
		}
		n.ledger.forgot(o.Key)
	}, func(now turn.Time, err error) { n.engine.Deleted(now, o.Key, err) })
}

// hint tells the other nodes that a conversation changed. Half of all hints are
// lost, since nothing may rest on them.
func (n *node) hint(key store.Key) {
	d := roll(n.Seed, "hint"+key.Conversation, int64(n.index), int64(n.now))
	for _, other := range n.nodes {
		if other == n {
			continue
		}
		if !d.chance(50) || n.cutOff() {
			n.count(hintLost)
			continue
		}
		life := other.life
		n.after(d.span(time.Millisecond, ordinaryLink), func() {
			other.tell(life, func(now turn.Time) { other.engine.Hinted(now, key) })
		})
	}
}

func (w *world) snapshot(key store.Key) store.Snapshot {
	s, err := w.store.Load(context.Background(), key)
	w.mustBeNil(err)
	return s
}

func (w *world) entries(key store.Key, query store.EntryQuery) []store.Entry {
	found, _ := w.page(key, query)
	return found
}

func (w *world) page(key store.Key, query store.EntryQuery) ([]store.Entry, bool) {
	found, more, err := w.store.Entries(context.Background(), key, query)
	w.mustBeNil(err)
	return found, more
}

// mustBeNil is for calls of the memory store that can't fail.
func (w *world) mustBeNil(err error) {
	if err != nil {
		panic(fmt.Sprintf("the store of the simulation refuses a call: %v", err))
	}
}
