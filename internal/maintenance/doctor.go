package maintenance

import (
	"cmp"
	"context"
	"fmt"

	"github.com/onereply/onereply/internal/parallel"
	"github.com/onereply/onereply/store"
)

// Bounds of the doctor's work.
const (
	doctorPage = 100 // conversations of one sweep
	maxLooks   = 5   // at one conversation, before it counts as too busy to be judged
)

// Doctor examines every conversation of a store. Nodes may run meanwhile.
//
// It sweeps over the conversations, a page at a time, reads each transcript, and applies
// the rules of rules.go. Record, timer and transcript come from separate reads, between
// which a node may write. So a conversation with a problem is only a suspect. It is read
// again, up to five times, and counts as a finding once it had a problem in a look
// during which nobody wrote to it: its Op is the one of the look before. With Repair, a
// finding is then mended, by a write that expects this Op.
//
// The doctor changes nothing without Repair. It never sends, settles or deletes.
type Doctor struct {
	Store  store.Store
	Repair bool          // mend what can be mended without guessing
	Found  func(Finding) // is called for each finding, never twice at once; required

	Bots     []string       // of the configuration of the nodes; nil: it is not known
	Unserved func(Unserved) // is called at the end for each bot that no node serves; may be nil
}

// Checkup is what a doctor saw. Pending and Timers are sums over conversations. The sums
// are of the first look at each, and Findings is Repaired plus Remaining.
type Checkup struct {
	Conversations int `json:"conversations"`
	Entries       int `json:"entries"`
	Timers        int `json:"timers"`
	Pending       int `json:"pending"`
	Findings      int `json:"findings"`
	Repaired      int `json:"repaired"`
	Remaining     int `json:"remaining"` // findings that were not repaired
	Busy          int `json:"busy"`      // conversations that changed whenever they were looked at
}

// Run sweeps once over all conversations. Conversations that begin during the sweep may
// be missed. An error ends it, and the Checkup then tells what was examined before.
func (d *Doctor) Run(ctx context.Context) (Checkup, error) {
	var total Checkup
	waiting := unserved{}
	for cursor := ""; ; {
		found, next, err := d.Store.Sweep(ctx, cursor, doctorPage)
		if err != nil {
			return total, fmt.Errorf("sweep over the conversations: %w", err)
		}
		if err := d.page(ctx, cursor, found, &total, waiting); err != nil {
			return total, err
		}
		if cursor = next; next == "" {
			waiting.report(d.Unserved)
			return total, nil
		}
	}
}

// patient is a conversation that is examined: the sweep's result, what the rules look
// at, and the rules that it breaks.
type patient struct {
	store.Found
	state    state
	problems []Problem

	unreadable bool // no rule can be applied, and nothing mended
}

// page examines the conversations that one sweep found.
//
// Nodes may write while the doctor reads, and record, timer and transcript are read one
// after the other. So an apparent problem may be two halves of different moments. Each
// conversation with a problem is therefore read again, in a sweep from the same place,
// and is a finding only if no write came between the two looks. One that still changes
// at the last look counts as busy.
func (d *Doctor) page(ctx context.Context, cursor string, found []store.Found, total *Checkup, waiting unserved) error {
	all := make([]*patient, len(found))
	for i := range found {
		all[i] = &patient{Found: found[i]}
	}
	if err := d.examine(ctx, all); err != nil {
		return err
	}
	for _, p := range all {
		total.Conversations++
		total.Entries += p.state.transcript.size
		total.Pending += p.Snapshot.Record.Pending
		if p.Timer != 0 {
			total.Timers++
		}
		waiting.count(d, p)
	}
	suspects := withProblems(all)
	for range maxLooks {
		if len(suspects) == 0 {
			return nil
		}
		certain, open, err := d.recheck(ctx, cursor, suspects)
		if err != nil {
			return err
		}
		for _, p := range certain {
			if err := d.report(ctx, p, total); err != nil {
				return err
			}
		}
		suspects = open
	}
	total.Busy += len(suspects)
	return nil
}

// examine reads the transcripts, and then applies the rules. The clock is read after the
// sweep: a timer that a claim has moved is judged by how far it lies ahead of now, and
// an earlier clock would make it look too late. Damage of one conversation is a
// problem of that conversation; any other error is one of the store, and ends the run.
func (d *Doctor) examine(ctx context.Context, all []*patient) error {
	now, err := d.Store.Now(ctx)
	if err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	return parallel.Each(ctx, len(all), workers, func(ctx context.Context, i int) error {
		p := all[i]
		lines, err := readTranscript(ctx, d.Store, p.Key)
		if unreadable := cmp.Or(p.Err, err); store.IsUnreadable(unreadable) {
			p.unreadable, p.problems = true, []Problem{{Record, unreadable.Error()}}
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the transcript of %v: %w", p.Key, err)
		}
		p.state = state{lost: p.Snapshot.Op.IsZero(), record: p.Snapshot.Record, timer: p.Timer, now: now, transcript: lines}
		p.problems = examine(p.state)
		return nil
	})
}

// withProblems are those that break a rule.
func withProblems(all []*patient) []*patient {
	var suspects []*patient
	for _, p := range all {
		if len(p.problems) > 0 {
			suspects = append(suspects, p)
		}
	}
	return suspects
}

// recheck looks at suspects a second time. A suspect that nobody wrote to meanwhile and
// that still has a problem is certain. One that changed and has a problem is open: it
// must be looked at once more. The others are well now, or were deleted. The sweep takes
// twice as many as before, so that conversations which began meanwhile do not push a
// suspect out of it.
func (d *Doctor) recheck(ctx context.Context, cursor string, suspects []*patient) (certain, open []*patient, err error) {
	found, _, err := d.Store.Sweep(ctx, cursor, 2*doctorPage) // new ones may have come between
	if err != nil {
		return nil, nil, fmt.Errorf("sweep over the conversations again: %w", err)
	}
	here := map[store.Key]store.Found{}
	for _, f := range found {
		here[f.Key] = f
	}
	var seen []*patient
	before := map[store.Key]store.Op{}
	for _, p := range suspects {
		if f, there := here[p.Key]; there {
			before[p.Key] = p.Snapshot.Op
			seen = append(seen, &patient{Found: f})
		}
	}
	if err := d.examine(ctx, seen); err != nil {
		return nil, nil, err
	}
	for _, p := range withProblems(seen) {
		if before[p.Key] == p.Snapshot.Op {
			certain = append(certain, p)
		} else {
			open = append(open, p)
		}
	}
	return certain, open, nil
}

// report repairs a conversation if Repair is set, and reports each of its problems. A
// repair is one write for all problems of a conversation. A rule that holds after it was
// repaired; one that is still broken was left, with the reason.
func (d *Doctor) report(ctx context.Context, p *patient, total *Checkup) error {
	remaining, left := p.problems, ""
	switch {
	case d.Repair && p.unreadable:
		left = "what is there can't be read, so it is left as it is"
	case d.Repair:
		var err error
		if remaining, left, err = d.repair(ctx, p.Key, p.Snapshot, p.state, p.problems); err != nil {
			return err
		}
	}
	for _, finding := range findingsOf(p.Key, p.problems) {
		total.Findings++
		if breaks(remaining, finding.Rule) {
			finding.Left = left
			total.Remaining++
		} else {
			finding.Repaired = true
			total.Repaired++
		}
		d.Found(finding)
	}
	return nil
}
