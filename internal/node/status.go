package node

import (
	"context"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// Status is the state of a node: for its readiness, for metrics and for the report that
// it sends to other nodes.
type Status struct {
	At         turn.Time
	Draining   bool
	Closed     bool     // the loop has ended
	Problems   []string // with the store
	Generating int      // attempts under way here
	Remembered int      // conversations in memory
	Counters   engine.Counters
	Minutes    []engine.MinuteTally // of the last hour
}

// Status is the node as it is now. It fails where ctx ends first.
func (n *Node) Status(ctx context.Context) (Status, error) {
	select {
	case <-n.ended:
		s := n.statusAt(n.clock.Now())
		s.Closed = true
		return s, nil
	default:
	}
	s, err := ask(ctx, n, n.statusAt)
	if err == ErrClosed {
		<-n.ended
		return n.Status(ctx)
	}
	return s, err
}

// statusAt is for the loop, or for anybody once the loop has ended.
func (n *Node) statusAt(now turn.Time) Status {
	counters := n.engine.Counters.Clone()
	s := Status{
		At: now, Generating: n.engine.Generating(), Remembered: n.engine.Remembered(),
		Counters: counters, Minutes: counters.Minutes(now),
	}
	select {
	case <-n.drain:
		s.Draining = true
	default:
	}
	if n.health.writesFail() != nil {
		s.Problems = append(s.Problems, "does not take writes")
	}
	if n.health.claimsFail() != nil {
		s.Problems = append(s.Problems, "due timers can't be claimed")
	}
	return s
}
