package storetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// draft is a write as it is drawn, before it is known what is there.
type draft struct {
	write  store.Write
	expect int     // which record it expects: see expected
	gaps   []int64 // from one new sequence to the next
	change []change
	after  int64 // how far from the last sequence settles begin; 0: with the first
	answer answer
}

// answer is what becomes of the answer to a write.
type answer int

const (
	arrives  answer = iota
	isLost          // after the write was made
	neverWas        // the write was lost itself
)

// change is a change of some entry that is there, or, where there is none or
// nowhere is set, of one that is not.
type change struct {
	place   int
	nowhere bool
	status  turn.Status
	version int64
}

// drawCommit draws a write that a correct engine could make, except that it may
// expect the wrong record and bring ids that were seen before.
func drawCommit(r *rand.Rand) call {
	d := drawDraft(r)
	return func(p *pair) {
		write := p.resolve(d)
		p.note("Commit %s", describe(write))
		if d.answer != arrives {
			p.unanswered(write, d.answer)
			return
		}
		want, wantErr := p.oracle.Commit(p.ctx, write) // first, in case the subject changes the write
		got, err := p.subject.Commit(p.ctx, write)
		p.both("Commit", err, wantErr)
		equal(p, "Commit", got, want)
		p.outcomes.add(want.Status.String())
		p.outcome.history[len(p.outcome.history)-1] += " → " + show(want)
		p.compare(write.Key)
		p.compareTimers()
	}
}

// unanswered makes a write of which the caller hears nothing. It knows by the
// Op of the record whether it was applied, and that it was must be true.
func (p *pair) unanswered(write store.Write, lost answer) {
	p.outcome.history[len(p.outcome.history)-1] += " → no answer"
	applied := false
	if lost == isLost {
		want, wantErr := p.oracle.Commit(p.ctx, write)
		_, err := p.subject.Commit(p.ctx, write)
		p.both("Commit", err, wantErr)
		applied = want.Status == store.OK
	}
	found, err := p.subject.Load(p.ctx, write.Key)
	p.both("Load", err, nil)
	equal(p, "the record has the Op of the write", found.Op == write.Op, applied)
	p.outcomes.add(unknown)
	p.compare(write.Key)
	p.compareTimers()
}

func drawDraft(r *rand.Rand) draft {
	d := draft{expect: between(r, 0, 14), after: int64(between(r, 0, 4))}
	if oneIn(r, 12) {
		d.answer = pick(r, []answer{isLost, isLost, neverWas})
	}
	d.write = store.Write{Key: pick(r, drawnKeys), At: moment(r), Record: drawRecord(r)}
	d.write.Timer, _ = d.write.Record.Wake()
	for range between(r, 0, 2) {
		d.write.Append = append(d.write.Append, drawEntry(r, d.write.At))
		d.gaps = append(d.gaps, int64(between(r, 1, 2)))
	}
	for range between(r, 0, 1) {
		d.change = append(d.change, drawChange(r))
	}
	for range between(r, 0, 1) {
		d.write.Settle = append(d.write.Settle, drawSettle(r))
	}
	for range between(r, 0, 1) {
		d.write.Mark = append(d.write.Mark, turn.Mark{
			Seq:    int64(between(r, 1, 9)),
			Status: pick(r, []turn.Status{turn.ReplySent, turn.ReplyUnknown, turn.ReplyWithdrawn}),
			Reason: pick(r, []string{"", "why"}),
		})
	}
	return d
}

func drawRecord(r *rand.Rand) turn.Record {
	record := turn.Record{Schema: turn.Schema, Phase: pick(r, drawnPhases), OnHold: oneIn(r, 5)}
	switch record.Phase {
	case turn.Collecting:
		record.Window.Due = moment(r)
	case turn.Generating, turn.Sending:
		record.Lease = turn.Lease{Holder: "n1", Nonce: "x", Expires: moment(r)}
	}
	return record
}

// drawEntry draws a message or a reply. A reply may have a message's id.
func drawEntry(r *rand.Rand, at turn.Time) store.Entry {
	e := message(0, pick(r, drawnIDs))
	e.At, e.Version = at, int64(between(r, 1, 9))
	if oneIn(r, 3) {
		e.Kind = store.Reply
		e.Status = pick(r, []turn.Status{turn.ReplyCommitted, turn.ReplySent, turn.ReplyNone})
	}
	return e
}

func drawChange(r *rand.Rand) change {
	return change{
		place: r.IntN(100), nowhere: oneIn(r, 6), version: int64(between(r, 1, 9)),
		status: pick(r, []turn.Status{turn.InputPending, turn.InputPending, turn.InputDeleted}),
	}
}

func drawSettle(r *rand.Rand) turn.Settle {
	settle := turn.Settle{From: int64(between(r, 0, 4)), Through: int64(between(r, 4, 9))}
	switch r.IntN(5) {
	case 0, 1:
		settle.Status, settle.Reopen = turn.InputPending, true
	case 2, 3:
		settle.Status = turn.InputFailed
	default:
		settle.Status, settle.ReplySeq = turn.InputAnswered, int64(between(r, 1, 9))
	}
	return settle
}

// resolve turns a draft into a write on what the oracle holds.
func (p *pair) resolve(d draft) store.Write {
	there, err := p.oracle.Load(p.ctx, d.write.Key)
	p.both("Load", nil, err)
	p.ops++
	write := d.write
	write.Op, write.Expect = opOf(p.ops), p.expected(d.expect, there.Op)
	write.Record.Seq, write.Record.Version = there.Record.Seq, there.Record.Version+1
	write.Append = nil
	for i, e := range d.write.Append {
		write.Record.Seq += d.gaps[i]
		e.Seq = write.Record.Seq
		write.Append = append(write.Append, e)
	}
	write.Change = p.changes(write.Key, d.change)
	write.Settle = nil
	for _, settle := range d.write.Settle {
		if d.after > 0 {
			settle.AfterSeq = max(0, write.Record.Seq-d.after)
		}
		write.Settle = append(write.Settle, settle)
	}
	return write
}

// expected is what a write expects: mostly what is there, sometimes nothing, or
// the record of an earlier write.
func (p *pair) expected(drawn int, there store.Op) store.Op {
	switch drawn {
	case 0:
		return none
	case 1, 2:
		return opOf(max(1, p.ops-uint64(drawn)))
	}
	return there
}

func (p *pair) changes(key store.Key, drawn []change) []store.Entry {
	pending, _, err := p.oracle.Entries(p.ctx, key, store.EntryQuery{Status: turn.InputPending})
	p.both("Entries", nil, err)
	var changes []store.Entry
	for _, c := range drawn {
		e := message(1_000_000, "nowhere")
		if len(pending) > 0 && !c.nowhere {
			e = pending[c.place%len(pending)]
		}
		e.Status, e.Version, e.Text = c.status, c.version, fmt.Sprintf("edit %d", p.ops)
		changes = append(changes, e)
	}
	return changes
}

// describe writes a write in one line.
func describe(w store.Write) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v expecting %s as op %s: %s, at %d, timer %d",
		w.Key, number(w.Expect), number(w.Op), w.Record.Shown(), since(w.At), since(w.Timer))
	for _, e := range w.Append {
		fmt.Fprintf(&b, "; append %s", brief(e))
	}
	for _, e := range w.Change {
		fmt.Fprintf(&b, "; change %s", brief(e))
	}
	for _, s := range w.Settle {
		fmt.Fprintf(&b, "; settle %+v", s)
	}
	for _, m := range w.Mark {
		fmt.Fprintf(&b, "; mark %+v", m)
	}
	return b.String()
}

// number is an Op as the suite counts them.
func number(op store.Op) string {
	if op.IsZero() {
		return "none"
	}
	return fmt.Sprint(binary.BigEndian.Uint64(op[8:]))
}

func brief(e store.Entry) string {
	return fmt.Sprintf("#%d %s %q %s version %d", e.Seq, e.Kind, e.ID, e.Status, e.Version)
}
