package onereply

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/buildinfo"
	"github.com/onereply/onereply/internal/fleet"
	"github.com/onereply/onereply/internal/inspect"
	"github.com/onereply/onereply/internal/node"
	"github.com/onereply/onereply/turn"
)

// Overview is the state of all nodes of a store.
type Overview struct {
	// Now is the time of the overview, by the store's clock.
	Now Time `json:"now"`

	// Nodes are those that report, by name; never empty.
	Nodes []NodeInfo `json:"nodes"`

	// Minutes are the last 60 with this one, oldest first, of all nodes: those that
	// closed in the last hour count too.
	Minutes []MinuteTally `json:"minutes"`

	// Totals add up the nodes listed, since each was opened.
	Totals Tally `json:"totals"`

	// TimeToReply is how many seconds sent replies took from the first waiting message,
	// of the same nodes.
	TimeToReply Histogram `json:"time_to_reply"`
}

// NodeInfo is a node's last report. A node that closed is not listed. One that fell
// silent is listed for ten minutes.
type NodeInfo struct {
	Node    string `json:"node"`
	Version string `json:"version"` // of the library

	// StartedAt is when it was opened; SeenAt is when it last told of itself, which it
	// does every 5 s.
	StartedAt Time `json:"started_at"`
	SeenAt    Time `json:"seen_at"`

	// State is ready, draining, or silent: nothing was heard of it for 15 s.
	State string `json:"state"`

	// Generating counts the attempts that run there, Waiting the conversations in its
	// memory.
	Generating int `json:"generating"`
	Waiting    int `json:"waiting"`

	// Store is the kind of its store, and what is wrong with it.
	Store string `json:"store"`
}

// MinuteTally is what all nodes counted in a minute.
type MinuteTally struct {
	At Time `json:"at"` // its begin
	Tally
}

// Tally counts the work of a stretch of time.
type Tally struct {
	Inputs           uint64 `json:"inputs"`            // accepted
	Duplicates       uint64 `json:"duplicates"`        // messages whose ID was known
	Ignored          uint64 `json:"ignored"`           // inputs that changed nothing
	Replies          uint64 `json:"replies"`           // of the responder, sent
	MessagesAnswered uint64 `json:"messages_answered"` // by these replies
	Discards         uint64 `json:"discards"`          // attempts thrown away because of newer input, a pause or what a person did
	ModelCalls       uint64 `json:"model_calls"`       // runs of the responder that began
	EarlyStarts      uint64 `json:"early_starts"`      // those of them that began before the end of their window
	Replaced         uint64 `json:"replaced"`          // those of them that newer input replaced
	Failed           uint64 `json:"failed"`            // turns that were given up
	TokensDiscarded  uint64 `json:"tokens_discarded"`  // that models used for attempts without a reply
	LeasesLost       uint64 `json:"leases_lost"`       // of workers that were lost, counted by the node that took over
}

// Overview returns the state of all nodes that share the store and can hear each other
// through it (PostgreSQL with hints, Redis); on other stores, that of this node. Every
// node gives the same answer, except for the last few seconds, and for the counts of
// nodes that ended before the node that is asked was opened. It reads nothing from the
// store.
func (a *App) Overview(ctx context.Context) (Overview, error) {
	own, ok := a.report(ctx)
	if !ok || own.State == fleet.Stopped {
		return Overview{}, &Error{Code: CodeUnavailable, Op: "overview", Err: fmt.Errorf("this node can't tell: %w", cmp.Or(context.Cause(ctx), node.ErrClosed))}
	}
	return overviewOf(own.At, append([]fleet.Report{own}, a.fleet.Reports()...)), nil
}

// report is this node's report to the others.
func (a *App) report(ctx context.Context) (fleet.Report, bool) {
	s, err := a.node.Status(ctx)
	if err != nil {
		return fleet.Report{}, false
	}
	r := fleet.Report{
		Node: a.options.Node, Version: buildinfo.Version(), Started: a.started, At: s.At, State: fleet.Ready,
		Generating: s.Generating, Waiting: s.Remembered, Store: strings.Join(append([]string{a.store.Guarantees().Name}, s.Problems...), ": "),
		Minutes: s.Minutes, Total: s.Counters.Total, TimeToReply: s.Counters.TimeToReply,
	}
	switch {
	case s.Closed:
		r.State, r.Generating, r.Waiting = fleet.Stopped, 0, 0
	case s.Draining:
		r.State = fleet.Draining
	}
	return r, true
}

func overviewOf(now turn.Time, reports []fleet.Report) Overview {
	all := inspect.OverviewOf(now, reports)
	o := Overview{
		Now: timeOf(now), Nodes: make([]NodeInfo, len(all.Nodes)), Minutes: make([]MinuteTally, len(all.Minutes)),
		Totals: Tally(all.Totals), TimeToReply: Histogram(all.TimeToReply),
	}
	for i, r := range all.Nodes {
		o.Nodes[i] = NodeInfo{
			Node: r.Node, Version: r.Version, StartedAt: timeOf(r.Started), SeenAt: timeOf(r.At), State: r.State,
			Generating: r.Generating, Waiting: r.Waiting, Store: r.Store,
		}
	}
	for i, m := range all.Minutes {
		o.Minutes[i] = MinuteTally{At: timeOf(turn.Time(m.Number * time.Minute.Milliseconds())), Tally: Tally(m.Tally)}
	}
	return o
}
