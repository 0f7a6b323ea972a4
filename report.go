package onereply

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// The states of a node.
const (
	nodeReady    = "ready"
	nodeDraining = "draining"
	nodeSilent   = "silent"  // nothing was heard of it for 15 s
	nodeStopped  = "stopped" // it said so; it is not listed
)

// report is what a node tells of itself.
type report struct {
	Node       string           `json:"node"`
	Life       string           `json:"life"`
	Version    string           `json:"version"`
	Started    turn.Time        `json:"started"`
	At         turn.Time        `json:"at"`    // of one that was heard: when
	Count      uint64           `json:"count"` // grows with each report of this life; 0: of a program that did not count
	State      string           `json:"state"`
	Generating int              `json:"generating"`
	Waiting    int              `json:"waiting"`
	Store      string           `json:"store"`
	Minutes    [][]uint64       `json:"minutes"` // number, then the fields of a tally in their order
	Total      engine.Tally     `json:"total"`
	Times      engine.Histogram `json:"times"`
}

// own is this node's report as it is now, none where the App is closed.
func (p *peers) own(ctx context.Context) []report {
	got := make(chan report, 1)
	if !p.app.do(func(now turn.Time) { got <- p.reportAt(now) }) {
		return nil
	}
	select {
	case r := <-got:
		return []report{r}
	case <-ctx.Done():
	case <-p.app.ctx.Done():
	}
	return nil
}

// lastReport is made once the loop has ended: nobody uses the node any more.
func (p *peers) lastReport() report {
	<-p.app.ended
	r := p.reportAt(p.app.clock.now())
	r.State, r.Generating, r.Waiting = nodeStopped, 0, 0
	return r
}

// reportAt is called by the loop.
func (p *peers) reportAt(now turn.Time) report {
	a := p.app
	p.reported++
	counters := a.node.Counters.Clone()
	r := report{
		Node: a.options.Node, Life: p.life, Version: version(), Started: p.started, At: now, Count: p.reported, State: nodeReady,
		Generating: a.node.Generating(), Waiting: a.node.Remembered(), Store: a.store.Guarantees().Name,
		Total: counters.Total, Times: counters.TimeToReply,
	}
	select {
	case <-a.drain:
		r.State = nodeDraining
	default:
	}
	if a.health.problem() != nil {
		r.Store += ": does not take writes"
	}
	if a.health.blind() != nil {
		r.Store += ": due timers can't be claimed"
	}
	for _, m := range counters.Minutes(now) {
		r.Minutes = append(r.Minutes, encodeMinute(m))
	}
	return r
}

func encodeMinute(m engine.Minute) []uint64 {
	return []uint64{
		uint64(m.Number), m.Inputs, m.Duplicates, m.Ignored, m.Replies, m.MessagesAnswered,
		m.Discards, m.ModelCalls, m.Failed, m.TokensDiscarded, m.LeasesLost,
	}
}

// decodeMinute is the inverse of encodeMinute. A newer node may add to it.
func decodeMinute(all []uint64) (m engine.Minute, ok bool) {
	if len(all) < 10 {
		return m, false
	}
	m = engine.Minute{Number: int64(all[0]), Tally: engine.Tally{
		Inputs: all[1], Duplicates: all[2], Ignored: all[3], Replies: all[4], MessagesAnswered: all[5],
		Discards: all[6], ModelCalls: all[7], Failed: all[8], TokensDiscarded: all[9],
	}}
	if len(all) > 10 { // an older node does not tell
		m.LeasesLost = all[10]
	}
	return m, true
}

// Limits of what another node says of itself; what exceeds them is cut.
const (
	maxWords  = 256 // bytes of its version, of its state, and of its store
	maxBounds = 64  // of its histogram
	maxTally  = 32  // numbers of a minute
)

// bounded is a report within the limits.
func (r report) bounded() report {
	r.Version, r.State, r.Store = start(r.Version, maxWords), start(r.State, maxWords), start(r.Store, maxWords)
	r.Minutes = r.Minutes[max(0, len(r.Minutes)-keptMinutes-1):]
	for _, minute := range r.Minutes {
		if len(minute) > maxTally {
			r.Minutes = nil
			break
		}
	}
	if len(r.Times.Bounds) > maxBounds || len(r.Times.Counts) != len(r.Times.Bounds) {
		r.Times = engine.Histogram{}
	}
	return r
}

// start is the first bytes of a text, whole characters only.
func start(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "")
}

// newer reports whether r was made after old, by what the node counts. A clock that is
// wrong decides only between reports of a program that did not count.
func (r report) newer(old report) bool {
	if r.Count == 0 && old.Count == 0 {
		return r.At > old.At
	}
	return r.Count > old.Count
}

// learn keeps the newest report of each node. When it was made goes by this node's own
// clock: of one that tells of itself that is now, of one that is gone it is what whoever
// tells of it knows, and not later than now.
func (p *peers) learn(b bulletin) {
	now := p.app.clock.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range b.Reports[:min(len(b.Reports), maxTold+1)] {
		if r.Life == p.life || r.Life == "" || len(r.Life) > MaxNameBytes || len(r.Node) > MaxNameBytes {
			continue
		}
		r = r.bounded()
		if r.At = min(r.At, now); r.Life == b.Life {
			r.At = now
		}
		old, known := p.reports[r.Life]
		switch {
		case known && !r.newer(old):
		case known || len(p.reports) < maxPeers || p.evict(r.At):
			p.reports[r.Life] = r
		}
	}
	if b.Ask {
		p.asked = true
		signal(p.call)
	}
}

// evict makes room by dropping the node that is gone longest, and was not heard of
// after a time.
func (p *peers) evict(before turn.Time) bool {
	now, oldest := p.app.clock.now(), ""
	for life, r := range p.reports {
		if state := r.state(now); (state == nodeSilent || state == nodeStopped) && r.At < before &&
			(oldest == "" || r.At < p.reports[oldest].At) {
			oldest = life
		}
	}
	delete(p.reports, oldest)
	return oldest != ""
}

// gone is the reports of nodes that tell nothing themselves any more.
func (p *peers) gone() (gone []report) {
	now := p.app.clock.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.reports {
		if r.state(now) == nodeSilent || r.State == nodeStopped {
			gone = append(gone, r)
		}
	}
	slices.SortFunc(gone, func(a, b report) int { return cmp.Compare(b.At, a.At) })
	return gone[:min(len(gone), maxTold)]
}

// maxTold bounds how many nodes that are gone a node tells of.
const maxTold = 64

func (r report) state(now turn.Time) string {
	if r.State != nodeStopped && now.Sub(r.At) > silentAfter {
		return nodeSilent
	}
	return r.State
}

// version is the version of this module in the program.
func version() string {
	const module = "github.com/onereply/onereply"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	found := info.Main
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			found = *dependency
		}
	}
	if found.Path == module && found.Version != "" && found.Version != "(devel)" {
		return found.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return "devel-" + setting.Value[:min(len(setting.Value), 12)]
		}
	}
	return "devel"
}
