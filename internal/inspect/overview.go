package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/fleet"
	"github.com/onereply/onereply/turn"
)

// Overview sums up the reports of all nodes.
type Overview struct {
	// Nodes are the reports of the nodes that are listed, by name, then by start. Their
	// State is that of now: a report says only what it was when it was made.
	Nodes []fleet.Report

	// Minutes are the last 60 with this one, oldest first. They add up all reports,
	// also of nodes that are not listed, since their work of the last hour counts too.
	Minutes []engine.MinuteTally

	// Totals and TimeToReply add up the nodes that are listed, since each was opened.
	Totals      engine.Tally
	TimeToReply engine.Histogram
}

const (
	keptMinutes     = 60               // that an overview has
	silentListedFor = 10 * time.Minute // a node that fell silent is listed
)

// OverviewOf adds up reports. The first one is this node's own: its bounds are those of
// the sum of times.
//
// A node that closed is not listed, and one that fell silent only for ten minutes, or
// until a node of its name is started again. Its counts of the last hour stay in the
// minutes. Two nodes of one name that both report are both listed.
func OverviewOf(now turn.Time, reports []fleet.Report) Overview {
	o := Overview{Minutes: make([]engine.MinuteTally, keptMinutes)}
	for i := range o.Minutes {
		o.Minutes[i].Number = engine.MinuteOf(now) - keptMinutes + 1 + int64(i)
	}
	// A node that is started again reports as another instance of the same name. The
	// last start of each name tells which of them was replaced.
	started := map[string]turn.Time{}
	for _, r := range reports {
		started[r.Node] = max(started[r.Node], r.Started)
	}
	for i, r := range reports {
		o.addMinutes(r.Minutes) // also of a node that is not listed
		if i == 0 {
			o.TimeToReply = engine.Histogram{Bounds: r.TimeToReply.Bounds, Counts: make([]uint64, len(r.TimeToReply.Bounds))}
		}
		r.State = r.StateAt(now)
		replaced := r.Started < started[r.Node] || now.Sub(r.At) > silentListedFor
		if r.State == fleet.Stopped || r.State == fleet.Silent && replaced {
			continue
		}
		o.Nodes = append(o.Nodes, r)
		o.Totals.Add(r.Total)
		o.addTimes(r.TimeToReply)
	}
	slices.SortFunc(o.Nodes, func(a, b fleet.Report) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Started, b.Started))
	})
	return o
}

// addMinutes adds the counts of a node, minute by minute. Its clock is the store's, as
// ours is, but its report may be older: minutes that are not in the overview are left
// out at both ends.
func (o *Overview) addMinutes(all []engine.MinuteTally) {
	first := o.Minutes[0].Number
	for _, m := range all {
		if m.Number >= first && m.Number < first+keptMinutes {
			o.Minutes[m.Number-first].Add(m.Tally)
		}
	}
}

// addTimes adds the times of a node. If its bounds are other ones, as those of a newer
// program may be, its counts can't be added to ours and are left out.
func (o *Overview) addTimes(h engine.Histogram) {
	all := &o.TimeToReply
	if !slices.Equal(all.Bounds, h.Bounds) || len(h.Counts) != len(all.Counts) {
		return
	}
	for i, n := range h.Counts {
		all.Counts[i] += n
	}
	all.Count += h.Count
	all.Sum += h.Sum
}
