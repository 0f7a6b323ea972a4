package onereply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/fleet"
	"github.com/onereply/onereply/internal/node"
	"github.com/onereply/onereply/turn"
)

// Tally is what was counted in a stretch of time.
type Tally = engine.Tally

// Overview is what goes on, on all nodes of a store.
type Overview struct {
	Now         Time          `json:"now"`
	Nodes       []NodeInfo    `json:"nodes"`         // by name
	Minutes     []MinuteTally `json:"minutes"`       // the last 60 with this one, oldest first, of all nodes
	Totals      Tally         `json:"totals"`        // of the nodes listed, since each was opened
	TimeToReply Histogram     `json:"time_to_reply"` // likewise
}

// NodeInfo is a node as it told of itself. One that closed is not listed; one that
// just went silent is, for ten minutes.
type NodeInfo struct {
	Node       string `json:"node"`
	Version    string `json:"version"`
	StartedAt  Time   `json:"started_at"`
	SeenAt     Time   `json:"seen_at"`    // when it last told of itself; every 5 s
	State      string `json:"state"`      // ready, draining, or silent: nothing for 15 s
	Generating int    `json:"generating"` // attempts that run there
	Waiting    int    `json:"waiting"`    // conversations in its memory
	Store      string `json:"store"`      // its engine, and what is wrong with it
}

// MinuteTally is what all nodes counted in a minute.
type MinuteTally struct {
	At Time `json:"at"` // its begin
	Tally
}

// Overview tells what goes on, on all nodes that share the store and can hear each
// other through it (PostgreSQL with hints, Redis); on other stores there is this one.
// It is the same from any node, but for the last few seconds. It reads nothing from
// the store.
func (a *App) Overview(ctx context.Context) (Overview, error) {
	own, ok := a.report(ctx)
	if !ok || own.State == fleet.Stopped {
		return Overview{}, &Error{Code: CodeUnavailable, Op: "overview", Err: fmt.Errorf("this node can't tell: %w", cmp.Or(context.Cause(ctx), node.ErrClosed))}
	}
	return overviewOf(own.At, append([]fleet.Report{own}, a.fleet.Reports()...)), nil
}

// report is this node as it tells the others.
func (a *App) report(ctx context.Context) (fleet.Report, bool) {
	s, err := a.node.Status(ctx)
	if err != nil {
		return fleet.Report{}, false
	}
	r := fleet.Report{
		Node: a.options.Node, Version: fleet.Version(), Started: a.started, At: s.At, State: fleet.Ready,
		Generating: s.Generating, Waiting: s.Remembered, Store: strings.Join(append([]string{a.store.Guarantees().Name}, s.Problems...), ": "),
		Total: s.Counters.Total, Times: s.Counters.TimeToReply,
	}
	switch {
	case s.Closed:
		r.State, r.Generating, r.Waiting = fleet.Stopped, 0, 0
	case s.Draining:
		r.State = fleet.Draining
	}
	for _, m := range s.Minutes {
		r.Minutes = append(r.Minutes, fleet.Minute(m))
	}
	return r, true
}

func overviewOf(now turn.Time, reports []fleet.Report) Overview {
	o := Overview{Now: timeOf(now), Nodes: []NodeInfo{}}
	newest := map[string]turn.Time{} // by name: a node that was started again has another life
	for _, r := range reports {
		newest[r.Node] = max(newest[r.Node], r.Started)
	}
	first := engine.MinuteOf(now) - keptMinutes + 1
	for i := range int64(keptMinutes) {
		o.Minutes = append(o.Minutes, MinuteTally{At: timeOf(turn.Time((first + i) * time.Minute.Milliseconds()))})
	}
	for i, r := range reports {
		o.addMinutes(first, r.Minutes)
		state := r.StateAt(now)
		if i == 0 {
			o.TimeToReply = Histogram{Bounds: r.Times.Bounds, Counts: make([]uint64, len(r.Times.Bounds))}
		}
		// An older life of the same name is gone, unless it speaks: then two nodes
		// have one name.
		hidden := state == fleet.Stopped || state == fleet.Silent && (r.Started < newest[r.Node] || now.Sub(r.At) > silentListedFor)
		if hidden {
			continue
		}
		o.Nodes = append(o.Nodes, NodeInfo{
			Node: r.Node, Version: r.Version, StartedAt: timeOf(r.Started), SeenAt: timeOf(r.At), State: state,
			Generating: r.Generating, Waiting: r.Waiting, Store: r.Store,
		})
		o.Totals.Add(r.Total)
		o.TimeToReply.add(r.Times)
	}
	slices.SortFunc(o.Nodes, func(a, b NodeInfo) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), a.StartedAt.Compare(b.StartedAt.Time))
	})
	return o
}

const (
	keptMinutes     = 60               // that an overview has
	silentListedFor = 10 * time.Minute // a node that fell silent is listed
)

func (o *Overview) addMinutes(first int64, all []fleet.Minute) {
	for _, m := range all {
		if m.Number >= first && m.Number < first+keptMinutes {
			o.Minutes[m.Number-first].Add(m.Tally)
		}
	}
}

// add adds what a node counted. One of another release may have other bounds; then
// its counts can't be added to ours, whose report is the first.
func (t *Histogram) add(h engine.Histogram) {
	if !slices.Equal(t.Bounds, h.Bounds) || len(h.Counts) != len(t.Counts) {
		return
	}
	for i, n := range h.Counts {
		t.Counts[i] += n
	}
	t.Count += h.Count
	t.Sum += h.Sum
}
