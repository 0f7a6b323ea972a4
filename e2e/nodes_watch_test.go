package e2e

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// watches writes to the store again and again over a network that nobody plays
// with, until ctx ends. Where an answer takes so long that a lease is in danger,
// that is a disturbance of all nodes which the test did not make. It writes, because a
// disk that is slow to sync holds up nothing else. The returned function waits, and
// tells how long that was.
func (c *cluster) watches(ctx context.Context, kept store.Store) func() time.Duration {
	var slow time.Duration
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p := probe{kept: kept, key: store.Key{Bot: "nobody", Conversation: "the watch"}}
		for ctx.Err() == nil {
			asked, answered := time.Now(), c.during("")
			patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			p.write(patient) // the store may be down: the test knows
			cancel()
			if took := time.Since(asked); took > clusterLease/8 {
				slow += took
				answered()
			}
			wait(ctx, 100*time.Millisecond)
		}
	}()
	late := make(chan struct{})
	go func() {
		defer close(late)
		c.feels(ctx)
	}()
	return func() time.Duration {
		<-ended
		<-late
		return slow
	}
}

// probe writes one record, over and over.
type probe struct {
	kept  store.Store
	key   store.Key
	count uint64
	found store.Snapshot
}

func (p *probe) write(ctx context.Context) {
	p.count++
	var op store.Op
	binary.BigEndian.PutUint64(op[8:], p.count)
	record := turn.Record{Schema: turn.Schema, Phase: turn.Idle}
	if _, err := p.kept.Commit(ctx, store.Write{Key: p.key, Op: op, Expect: p.found.Op, Record: record}); err == nil {
		p.found.Op = op
		return
	}
	if found, err := p.kept.Load(ctx, p.key); err == nil {
		p.found = found
	}
}

const (
	tick     = 10 * time.Millisecond
	lateness = 3 * tick // that is worth noting
)

// feels notes when this very process did not run although it was to, until ctx
// ends: whatever it saw then happened before it saw it, and the nodes beside it
// stood still no less.
func (c *cluster) feels(ctx context.Context) {
	for before := time.Now(); ctx.Err() == nil; {
		wait(ctx, tick)
		now := time.Now()
		if now.Sub(before) > tick+lateness {
			c.mu.Lock()
			c.late = append(c.late, [2]time.Time{before, now})
			c.mu.Unlock()
		}
		before = now
	}
}

// lateBy is how long this machine stood still in the time between.
func (c *cluster) lateBy(from, to time.Time) (total time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, gap := range c.late {
		if gap[0].Before(to) && gap[1].After(from) {
			total += gap[1].Sub(gap[0])
		}
	}
	return total
}

// ending is a write that ended a lease under which a reply was sent, or was to
// be, as the conversation's own timeline has it.
type ending struct {
	kind     string
	token    int64  // of the lease
	instance string // that held it; "": the timeline does not say
	at       time.Time
}

// leaseStep is what a step of a timeline says of leases.
type leaseStep struct {
	Type, Node string
	Token      int64
	At         time.Time
	ReplyID    string `json:"reply_id"`
}

// endings asks a node how the leases of a delivery's reply ended.
func endings(t testing.TB, c *caller, base string) func(delivery) []ending {
	return func(d delivery) []ending {
		t.Helper()
		var timeline struct{ Turns []struct{ Steps []leaseStep } }
		got := c.do(http.MethodGet, fmt.Sprintf("%s/timeline?turn=%d", path(base, d.bot, d.conversation), d.turn), "")
		if err := json.Unmarshal(got.body, &timeline); got.status != http.StatusOK || err != nil {
			t.Errorf("the timeline of %s: %v", d.id, got)
		}
		var steps []leaseStep
		for _, turn := range timeline.Turns {
			steps = append(steps, turn.Steps...)
		}
		return endingsOf(d.reply, steps)
	}
}

// endingsOf finds the endings in the steps of a turn. Whose lease an attempt ran
// under, and whose was lost, the timeline says; who took one to try a send again it
// does not.
func endingsOf(reply string, steps []leaseStep) (found []ending) {
	holders := map[int64]string{}
	for _, step := range steps {
		if step.Node != "" {
			holders[step.Token] = step.Node
		}
	}
	for _, step := range steps {
		switch step.Type {
		case "lease.lost", "part.unknown", "part.failed", "reply.sent", "reply.failed":
			if step.ReplyID == reply {
				found = append(found, ending{step.Type, step.Token, holders[step.Token], step.At})
			}
		}
	}
	return found
}
