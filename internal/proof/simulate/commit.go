package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// commit makes a write. Its answer may be lost, and it may land after the
// node has given up on it.
func (n *node) commit(write store.Write) {
	n.seeded.changeWrite(n, &write)
	t, life := n.travel("commit", write.Key.Conversation), n.life
	n.aimAtWrite(write, n.now.Add(t.out))
	answer := func(after time.Duration, result store.Result, err error) {
		if n.seeded.flaws.unknownIsApplied && errors.Is(err, store.ErrUnknown) {
			result, err = store.Result{}, nil
		}
		n.after(after, func() {
			n.tell(life, func(now turn.Time) { n.engine.Committed(now, write.Key, result, err) })
		})
	}
	n.after(t.out, func() {
		switch {
		case n.alone && n.life != life: // the file is closed
		case t.fault == unknownLost:
			n.log(n.name, "a write is lost without a word")
			answer(50*time.Millisecond, store.Result{}, store.ErrUnknown)
		case t.fault == unknownLater:
			n.log(n.name, "a write is given up, and on its way")
			answer(20*time.Millisecond, store.Result{}, store.ErrUnknown)
			n.after(roll(n.Seed, "lands", int64(n.now)).span(time.Millisecond, 400*time.Millisecond), func() { n.apply(write) })
		case t.fault == storeRefuses || n.cutOff():
			answer(time.Millisecond, store.Result{}, fmt.Errorf("%w: %w", store.ErrNotApplied, errAway))
		default:
			n.land(write, t, answer)
		}
	})
}

// land applies a write and sends the answer back.
func (n *node) land(write store.Write, t trip, answer func(time.Duration, store.Result, error)) {
	result, err := n.apply(write)
	if result.Status == store.Conflict {
		n.count(conflict)
		result = n.conflicts(write, result)
	}
	switch {
	case t.fault == unknownKept:
		n.log(n.name, "the answer to a write is lost")
		if n.seeded.flaws.opIgnored && err == nil {
			answer(t.back, store.Result{Status: store.Conflict, Current: n.snapshot(write.Key)}, nil)
			return
		}
		answer(50*time.Millisecond, store.Result{}, store.ErrUnknown)
	case n.isActive(partition, n.index) || n.isActive(storeAway, n.index):
		answer(storeTimeout, store.Result{}, store.ErrUnknown)
	default:
		answer(t.back, result, err)
	}
}

// apply is the store's side of a write; the ledger looks on.
func (n *node) apply(write store.Write) (store.Result, error) {
	before := n.snapshot(write.Key)
	entries := n.ledger.waiting(write.Key)
	n.seeded.changeAtStore(n, &write, before)
	if ids := n.seeded.wronglyClaimed(n, write); len(ids) > 0 && write.Expect == before.Op {
		return store.Result{Status: store.Duplicate, Duplicates: ids}, nil
	}
	result, err := n.store.Commit(context.Background(), write)
	if result.Status == store.OK {
		n.past[write.Key] = append(n.past[write.Key], before)
	}
	if err != nil {
		n.fail("P4 store", "the store refuses a write: %v", err)
		return result, err
	}
	if result.Status == store.Duplicate && n.seeded.flaws.dedupeAfterBump {
		write.Append = slices.DeleteFunc(write.Append, func(e store.Entry) bool { return slices.Contains(result.Duplicates, e.ID) })
		result, err = n.store.Commit(context.Background(), write)
		n.mustBeNil(err)
	}
	if result.Status == store.OK {
		n.ledger.wrote(n, write, before.Record, entries)
		if n.seeded.flaws.timerStays && write.Timer == 0 {
			n.setTimer(write.Key, n.now)
		}
	} else if n.seeded.flaws.staleFireClears && write.Record.Token != before.Record.Token {
		n.clearTimer(write.Key)
	}
	return result, nil
}

// conflicts is what a conflict says of the record that it met. It may be an old
// answer: a record that was there once, and none of the ids that were claimed since.
func (n *node) conflicts(write store.Write, result store.Result) store.Result {
	past := n.past[write.Key]
	if d := roll(n.Seed, "stale conflict"+write.Key.Conversation, int64(n.index), int64(n.now)); len(past) > 0 && n.strikes(staleConflict, n.index, d, 70) {
		result.Current, result.Duplicates = past[d.below(len(past))], nil
	}
	n.seeded.changeConflict(&result, write)
	n.hinted[write.Key] = result.Current.Op
	return result
}

// clearTimer takes a timer away, and leaves all else.
func (n *node) clearTimer(key store.Key) { n.setTimer(key, 0) }

func (n *node) setTimer(key store.Key, at turn.Time) {
	s := n.snapshot(key)
	if s.Op.IsZero() {
		return
	}
	_, err := n.store.Commit(context.Background(), store.Write{Key: key, Expect: s.Op, Op: s.Op, Record: s.Record, At: n.now, Timer: at})
	n.mustBeNil(err)
}

// restore puts an entry back into the store, and leaves all else.
func (n *node) restore(key store.Key, e store.Entry) {
	s := n.snapshot(key)
	_, err := n.store.Commit(context.Background(), store.Write{Key: key, Expect: s.Op, Op: s.Op, Record: s.Record, At: n.now, Timer: wakeUp(s.Record), Change: []store.Entry{e}})
	n.mustBeNil(err)
}
