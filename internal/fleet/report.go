package fleet

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// The states of a node.
const (
	Ready    = "ready"
	Draining = "draining"
	Silent   = "silent"  // no report came for 15 s
	Stopped  = "stopped" // it said so
)

// Report is what a node tells of itself, every few seconds. The overview of all nodes is
// made of the last report of each: a node counts only what it did itself, so sums over
// the nodes count everything once.
type Report struct {
	Node        string           `json:"-"` // the message that holds the report names both
	Instance    string           `json:"-"`
	Version     string           `json:"version"`
	Started     turn.Time        `json:"started"`
	At          turn.Time        `json:"-"` // when it was made or, of another node, heard
	Since       turn.Time        `json:"-"` // of another node: when its first report was heard
	State       string           `json:"state"`
	Generating  int              `json:"generating"`
	Waiting     int              `json:"waiting"`
	Store       string           `json:"store"` // its engine, and what is wrong with it
	Minutes     minutes          `json:"minutes"`
	Total       engine.Tally     `json:"total"`
	TimeToReply engine.Histogram `json:"times"`
}

// minutes are what a node counted in the last hour. A report holds up to sixty of them,
// so each travels as a list of numbers.
type minutes []engine.MinuteTally

// MarshalJSON implements [json.Marshaler].
func (all minutes) MarshalJSON() ([]byte, error) {
	lists := make([][13]uint64, len(all))
	for i, m := range all {
		lists[i] = [...]uint64{
			uint64(m.Number), m.Inputs, m.Duplicates, m.Ignored, m.Replies, m.MessagesAnswered,
			m.Discards, m.ModelCalls, m.Failed, m.TokensDiscarded, m.LeasesLost, m.EarlyStarts, m.Replaced,
		}
	}
	return json.Marshal(lists)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (all *minutes) UnmarshalJSON(text []byte) error {
	var lists [][13]uint64
	if err := json.Unmarshal(text, &lists); err != nil {
		return err
	}
	*all = make(minutes, len(lists))
	for i, n := range lists {
		(*all)[i] = engine.MinuteTally{Number: int64(n[0]), Tally: engine.Tally{
			Inputs: n[1], Duplicates: n[2], Ignored: n[3], Replies: n[4], MessagesAnswered: n[5],
			Discards: n[6], ModelCalls: n[7], Failed: n[8], TokensDiscarded: n[9], LeasesLost: n[10],
			EarlyStarts: n[11], Replaced: n[12],
		}}
	}
	return nil
}

// StateAt is the state that the node told, or that it is silent. A node that said it
// stopped is not silent: nobody expects another report of it.
func (r Report) StateAt(now turn.Time) string {
	if r.State != Stopped && now.Sub(r.At) > silentAfter {
		return Silent
	}
	return r.State
}

// overlapAllowed is how long a node and the one that replaces it may both be ready
// under one name.
const overlapAllowed = 2 * reportEvery

// rememberFor is how long the last report of a node that is gone is kept: so long its
// minutes count.
const rememberFor = time.Hour

// Limits of the report of another node; longer texts and lists are cut.
const (
	maxWords   = 256 // bytes of its version, of its state, and of its store
	maxBounds  = 64  // of its histogram
	maxMinutes = 61  // the last hour, and the minute that begins meanwhile
)

// bound cuts texts and lists to the limits, and keeps the latest minutes. A histogram that
// is too long, or does not fit its bounds, is left out whole: a part of it would be wrong.
func (r *Report) bound() {
	r.Version, r.State, r.Store = start(r.Version, maxWords), start(r.State, maxWords), start(r.Store, maxWords)
	r.Minutes = r.Minutes[max(0, len(r.Minutes)-maxMinutes):]
	if len(r.TimeToReply.Bounds) > maxBounds || len(r.TimeToReply.Counts) != len(r.TimeToReply.Bounds) {
		r.TimeToReply = engine.Histogram{}
	}
}

// start is the first bytes of a text, whole characters only.
func start(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "")
}

// learn keeps the last report of each other node. A node's messages arrive in order,
// so the newest is the one that came last; no clock but this node's own decides. The
// instance tells a node from the one that had its name before it was restarted: what
// that one counted still counts for an hour.
func (f *Fleet) learn(node, instance string, r Report) {
	r.bound()
	now := f.options.Now()
	r.Node, r.Instance, r.At, r.Since = node, instance, now, now
	f.mu.Lock()
	defer f.mu.Unlock()
	before, known := f.reports[instance]
	if known {
		r.Since = before.Since
	}
	if known || len(f.reports) < maxOthers || f.evict(now) {
		f.reports[instance] = r
	}
	if node == f.options.Name && r.State == Ready && now.Sub(r.Since) >= overlapAllowed && !f.warned {
		f.warned = true
		f.log.Warn("another node runs under this node's name: leases, logs and the overview can't tell them apart. "+
			"Give each node a name of its own (node: in the configuration, --node), or none, for the host's name and a random suffix", "node", node)
	}
}

// evict makes room for a new node by dropping the node that is gone longest, and reports
// whether there was one. A node that still reports is never dropped: beyond 256 of these
// a new one is left out of the overview.
func (f *Fleet) evict(now turn.Time) bool {
	oldest := ""
	for instance, r := range f.reports {
		if state := r.StateAt(now); (state == Silent || state == Stopped) && (oldest == "" || r.At < f.reports[oldest].At) {
			oldest = instance
		}
	}
	delete(f.reports, oldest)
	return oldest != ""
}

// forget drops what other nodes have not renewed for too long. Interest is measured by
// this node's clock, and reports by the store's clock, in which their times are given.
func (f *Fleet) forget() {
	f.outgoing.dropStale(time.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.options.Now()
	for instance, r := range f.reports {
		switch {
		case now.Sub(r.At) > rememberFor:
			delete(f.reports, instance)
		case r.At > now: // the store's clock was set back
			r.At = now
			f.reports[instance] = r
		}
	}
}

// Reports are the last reports of the other nodes, in no order. Nodes that are gone are
// among them for an hour after their last report, so that sums over the last hour are
// whole.
func (f *Fleet) Reports() (all []Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.reports {
		all = append(all, r)
	}
	return all
}
