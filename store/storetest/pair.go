package storetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// pair is a store and its oracle, which get the same calls.
type pair struct {
	ctx     context.Context
	subject store.Store
	oracle  store.Store
	ops     uint64 // how many were given out
	outcome outcome

	outcomes *outcomes // of all runs
}

// play makes the calls, up to the first difference, and closes both stores.
func (p *pair) play(calls []call) outcome {
	for i, call := range calls {
		if call(p); p.outcome.mismatch != "" {
			p.outcome.failedAt = i + 1
			break
		}
	}
	if p.outcome.mismatch == "" {
		p.outcome.failedAt = len(calls)
		p.compareAll()
	}
	p.both("Close", p.subject.Close(), p.oracle.Close())
	return p.outcome
}

// note adds a call to the history.
func (p *pair) note(format string, arguments ...any) {
	line := fmt.Sprintf("%4d. %s", len(p.outcome.history)+1, fmt.Sprintf(format, arguments...))
	p.outcome.history = append(p.outcome.history, line)
}

// Helper makes a pair a failer.
func (p *pair) Helper() {}

// Fatalf keeps the first difference. The run ends after the call that showed it.
func (p *pair) Fatalf(format string, arguments ...any) {
	if p.outcome.mismatch == "" {
		p.outcome.mismatch = fmt.Sprintf(format, arguments...)
	}
}

// both expects that neither store gave an error.
func (p *pair) both(call string, ofSubject, ofOracle error) {
	if ofSubject != nil || ofOracle != nil {
		p.Fatalf("%s:\n got error %v\nwant error %v", call, ofSubject, ofOracle)
	}
}

// compare compares all that is stored of one conversation.
func (p *pair) compare(key store.Key) {
	snapshot, err := p.subject.Load(p.ctx, key)
	wantSnapshot, wantErr := p.oracle.Load(p.ctx, key)
	p.both("Load", err, wantErr)
	equal(p, fmt.Sprintf("Load %v", key), snapshot, wantSnapshot)
	p.compareEntries(key, store.EntryQuery{})
}

// compareEntries compares a page of entries, and whether more follow.
func (p *pair) compareEntries(key store.Key, query store.EntryQuery) {
	got, more, err := p.subject.Entries(p.ctx, key, query)
	want, wantMore, wantErr := p.oracle.Entries(p.ctx, key, query)
	p.both("Entries", err, wantErr)
	equalLists(p, fmt.Sprintf("Entries %v", key), got, want)
	equal(p, fmt.Sprintf("more than the %d entries of %v", len(got), key), more, wantMore)
}

// compareTimers compares all timers.
func (p *pair) compareTimers() {
	timers, err := p.subject.Due(p.ctx, forever, len(drawnKeys)+1)
	wantTimers, wantErr := p.oracle.Due(p.ctx, forever, len(drawnKeys)+1)
	p.both("Due", err, wantErr)
	equalLists(p, "Due", byTimeAndKey(timers), byTimeAndKey(wantTimers))
}

// compareAll compares all that is stored.
func (p *pair) compareAll() {
	for _, key := range drawnKeys {
		p.compare(key)
	}
	items, err := listAll(p.ctx, p.subject, store.ListQuery{Limit: 2})
	wantItems, wantErr := listAll(p.ctx, p.oracle, store.ListQuery{Limit: 2})
	p.both("List", err, wantErr)
	equalLists(p, "List", items, wantItems)
	found, err := sweepFrom(p.ctx, p.subject, "", 2)
	wantFound, wantErr := sweepFrom(p.ctx, p.oracle, "", 2)
	p.both("Sweep", err, wantErr)
	equalLists(p, "Sweep", sortedByKey(found), sortedByKey(wantFound))
	p.compareTimers()
}

// withoutTie raises a limit so that it does not fall between timers of the
// same time, of which a store may take any.
func (p *pair) withoutTie(until turn.Time, limit int, bots ...string) int {
	timers, err := p.oracle.Due(p.ctx, until, len(drawnKeys))
	p.both("Due", nil, err)
	if len(bots) > 0 {
		timers = slices.DeleteFunc(timers, func(t store.Timer) bool { return !slices.Contains(bots, t.Key.Bot) })
	}
	for limit < len(timers) && timers[limit-1].At == timers[limit].At {
		limit++
	}
	return limit
}

// byTimeAndKey sorts timers of the same time by key. It leaves a wrong order of
// times as it is, so that the comparison sees it.
func byTimeAndKey(timers []store.Timer) []store.Timer {
	for i, j := 0, 0; i < len(timers); i = j {
		for j = i; j < len(timers) && timers[j].At == timers[i].At; j++ {
		}
		slices.SortFunc(timers[i:j], func(a, b store.Timer) int { return a.Key.Compare(b.Key) })
	}
	return timers
}
