package inspect

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/onereply/onereply/internal/parallel"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A conversation is overdue when its next wake-up has passed by more than two leases
// of its bot. In that time the node that was to act on it may have died, and another one
// should have taken over.
//
// Use the record's wake-up time, not the timer: a claim moves the timer, even if nothing
// follows. So a timer that is due in a moment may belong to a conversation that has been
// late for an hour, and late conversations may stand behind many that are just due.
const (
	overdueLeases = 2
	otherLease    = 30 * time.Second // taken for bots that this node does not have
	claimMoves    = 10 * time.Second // a claim moves a timer by less than this

	overdueScan    = 500    // timers that are looked at together
	overdueMost    = 32_000 // and in all
	overdueReaders = 16     // records that are read at once
)

// overdue finds conversations that a node should have acted on long ago, at most
// q.Limit. If all bots are asked for, those of this node come first: conversations of
// other bots may be another node's, and must not hide them.
func overdue(ctx context.Context, s store.Store, q AttentionQuery) ([]Finding, error) {
	groups := [][]string{{q.Bot}} // of bots that are asked for together; nil: all
	switch {
	case q.Bot == "" && q.Bots != nil:
		groups = [][]string{q.Bots}
	case q.Bot == "":
		groups = [][]string{slices.Collect(maps.Keys(q.Leases)), nil}
	}
	var found []Finding
	seen := map[store.Key]bool{}
	for _, bots := range groups {
		for timers, err := range dueTimers(ctx, s, q.Now, bots) {
			if err != nil {
				return nil, err
			}
			timers = slices.DeleteFunc(timers, func(t store.Timer) bool { return seen[t.Key] })
			late, err := lateOf(ctx, s, q, timers)
			if err != nil {
				return nil, err
			}
			for _, t := range timers {
				seen[t.Key] = true
			}
			if found = append(found, late...); len(found) >= q.Limit {
				return found[:q.Limit], nil
			}
		}
	}
	return found, nil
}

// dueTimers gives the timers of bots that are due, or will be in a moment, a few
// hundred at a time. It asks for the first few and, where that is not all, for four
// times as many from the start: the store has no cursor for timers, and some may be
// gone by then. So a timer may be given twice.
func dueTimers(ctx context.Context, s store.Store, now turn.Time, bots []string) iter.Seq2[[]store.Timer, error] {
	return func(yield func([]store.Timer, error) bool) {
		for most := overdueScan; ; most *= 4 {
			timers, err := s.Due(ctx, now.Add(claimMoves), most, bots...)
			if err != nil {
				yield(nil, err)
				return
			}
			for part := range slices.Chunk(timers, overdueScan) {
				if !yield(part, nil) {
					return
				}
			}
			if len(timers) < most || most >= overdueMost {
				return
			}
		}
	}
}

// lateOf reads the records of timers, and returns what is overdue in the order of the
// timers. A record that can't be read is left out: onereply doctor names those.
func lateOf(ctx context.Context, s store.Store, q AttentionQuery, timers []store.Timer) ([]Finding, error) {
	// Each reader has a place of its own, so that the order stays.
	found := make([]Finding, len(timers))
	err := parallel.Each(ctx, len(timers), overdueReaders, func(ctx context.Context, i int) error {
		key := timers[i].Key
		snapshot, err := s.Load(ctx, key)
		switch {
		case store.IsUnreadable(err):
		case err != nil:
			return err
		default:
			found[i], _ = q.late(key, snapshot.Record)
		}
		return nil
	})
	late := slices.DeleteFunc(found, func(f Finding) bool { return f.Kind == "" })
	return late, err
}

// late reports whether a conversation is overdue, and what it waits for.
func (q AttentionQuery) late(key store.Key, r turn.Record) (Finding, bool) {
	key.Conversation = r.Name(key.Conversation)
	lease, configured := q.Leases[key.Bot]
	if !configured {
		lease = otherLease
	}
	due, waits := r.Wake()
	if !waits || q.Now.Sub(due) <= overdueLeases*lease {
		return Finding{}, false
	}
	out := Finding{
		Kind: Overdue, Key: key, Turn: r.Turn, At: due, Since: cmp.Or(FirstPending(r), due), Actions: []string{},
	}
	// A flush asks this node to act at once. It does not help where another node holds
	// the lease, nor where this node does not have the bot.
	switch {
	case r.Lease.Nonce != "":
		out.Reason = fmt.Sprintf("the lease of %s has expired, and no node took over", r.Lease.Holder)
	case r.Reply != nil:
		out.Turn, out.Seq, out.Since = r.Reply.Turn, r.Reply.Seq, cmp.Or(r.Reply.Since, due)
		out.Reason, out.Actions = "no node sends the reply", []string{"flush"}
	default:
		out.Reason, out.Actions = "no node begins the turn", []string{"flush"}
	}
	if !configured {
		out.Reason, out.Actions = out.Reason+"; this node has no such bot", []string{}
	}
	return out, true
}
