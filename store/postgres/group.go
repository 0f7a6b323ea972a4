package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onereply/onereply/store"
)

// Bounds of group commit. Each transaction under way holds a connection of the pool: of
// the usual 16 connections twelve are left for reads and for writes that are sent alone.
const (
	maxGroup  = 64 // writes of one transaction
	maxGroups = 4  // transactions under way at once
)

// groups commit the writes of many conversations together: writes that wait at the
// same time share one round trip, one transaction and one sync of the server's log.
// Under load that costs a third of the processor time of a transaction each. No
// write waits for others to come: as soon as fewer than maxGroups transactions are
// under way, all that wait are sent.
//
// Each write keeps its own outcome. One that conflicts changes nothing and does not
// disturb the others. Two rules keep one conversation's trouble from the others:
//
//   - a group does not wait for the record of a conversation that somebody else has
//     locked. Such a write is answered "busy", and then committed in a transaction of
//     its own, which waits;
//   - if the server refuses a group, each of its writes is committed alone, so that
//     only the one that was refused fails.
//
// The writes of a group are sent in the order of their keys, in every node. So two
// groups that create the same conversations wait for each other in one direction,
// and can't deadlock.
//
// The life of a write: add queues it; run, of which at most maxGroups are at work, takes
// it with the others that wait, up to maxGroup; together sends them and hands out the
// answers, or sends a write once more alone. The caller waits in do, and takes a write
// back with withdraw if its context ends before the write is sent.
type groups struct {
	commit func(ctx context.Context, group []*pending, mayWait bool)

	mu      sync.Mutex
	waiting []*pending
	running int
	closed  bool
	work    sync.WaitGroup
}

// pending is a write on its way. Its answer and err belong to the goroutine that sends it
// until done is closed, and to the caller from then on.
type pending struct {
	ctx       context.Context
	write     store.Write
	arguments []any
	sent      bool          // guarded by groups.mu
	done      chan struct{} // closed when answer and err are there
	answer    answer
	err       error
}

// do commits a write and waits for its answer. It ends early when the write's
// context does. A write that is not sent by then never will be.
func (g *groups) do(p *pending) (answer, error) {
	if err := p.ctx.Err(); err != nil { // a run could send it before it is withdrawn
		return answer{}, notApplied(err)
	}
	p.done = make(chan struct{})
	if !g.add(p) {
		return answer{}, notApplied(store.ErrClosed)
	}
	select {
	case <-p.done:
		if p.err != nil && p.ctx.Err() != nil { // it may have failed because nobody waits any more
			return answer{}, fmt.Errorf("%w: %w", p.err, p.ctx.Err())
		}
		return p.answer, p.err
	case <-p.ctx.Done():
	}
	if g.withdraw(p) {
		return answer{}, notApplied(p.ctx.Err())
	}
	return answer{}, fmt.Errorf("%w: %w", store.ErrUnknown, p.ctx.Err())
}

// add queues a write, and starts another transaction where there may be one more. It
// returns false after close. A run that finds nothing ends under the same lock, so no
// write is queued for a run that is just ending.
func (g *groups) add(p *pending) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.waiting = append(g.waiting, p)
	if g.running < maxGroups {
		g.running++
		g.work.Go(g.run)
	}
	return true
}

// withdraw takes a write back that was not sent yet, and reports whether it did. take
// marks writes as sent under the same lock: so a write is either withdrawn, and then
// certainly not applied, or sent, and then its outcome is unknown until it is answered.
func (g *groups) withdraw(p *pending) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.sent {
		return false
	}
	g.waiting = slices.DeleteFunc(g.waiting, func(other *pending) bool { return other == p })
	return true
}

// run commits groups until nothing waits.
func (g *groups) run() {
	for group := g.take(); len(group) > 0; group = g.take() {
		g.together(group)
	}
}

// take removes the next group from the queue. Where there is none, run is over.
func (g *groups) take() []*pending {
	g.mu.Lock()
	defer g.mu.Unlock()
	group := slices.Clone(g.waiting[:min(len(g.waiting), maxGroup)])
	g.waiting = slices.Delete(g.waiting, 0, len(group))
	for _, p := range group {
		p.sent = true
	}
	if len(group) == 0 {
		g.running--
	}
	slices.SortStableFunc(group, func(a, b *pending) int { return a.write.Key.Compare(b.write.Key) })
	return group
}

// together commits a group, and then some of its writes once more, each alone: those that
// were busy, and all if the server refused the group. They run beside the next groups,
// each until its own context ends, so a write that waits for a locked record holds up no
// other. A refused or busy write has left nothing behind, so it can't be applied twice.
func (g *groups) together(group []*pending) {
	ctx, cancel := contextOf(group)
	defer cancel()
	g.commit(ctx, group, false)
	for _, p := range group {
		busy := p.err == nil && p.answer.outcome == "busy"
		if !busy && (len(group) == 1 || !refused(p.err)) {
			close(p.done)
			continue
		}
		g.work.Go(func() {
			defer close(p.done)
			p.answer, p.err = answer{}, nil
			g.commit(p.ctx, []*pending{p}, true)
		})
	}
}

// contextOf ends when the contexts of all writes have: as long as somebody waits, the
// group goes on. A caller that gives up must not end the writes of others. The returned
// function releases it.
func contextOf(group []*pending) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(group[0].ctx))
	var waiting atomic.Int64
	waiting.Store(int64(len(group)))
	var stops []func() bool
	for _, p := range group {
		stops = append(stops, context.AfterFunc(p.ctx, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		}))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// refused reports whether the server refused a transaction, and has left nothing of it.
// If the connection broke off instead, no write is sent again: each caller decides, as the
// contract says of unknown outcomes.
func refused(err error) bool {
	var refusal *pgconn.PgError
	return errors.Is(err, store.ErrNotApplied) && errors.As(err, &refusal)
}

// close waits for all writes that were begun; later ones get [store.ErrClosed].
func (g *groups) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.work.Wait()
}

// commitGroup sends writes in one round trip, as one transaction, and sets the
// answer or the error of each. An answer counts only once the transaction's end was
// confirmed, which is after all answers.
//
// A batch has no BEGIN and one Sync at its end: the server treats all statements before
// a Sync as one transaction, and rolls all of them back if one fails. So an error is the
// error of every write of the group.
func (s *Store) commitGroup(ctx context.Context, group []*pending, mayWait bool) {
	err := outcome(s.withConnection(ctx, func(db *pgx.Conn) error {
		batch := &pgx.Batch{}
		for _, p := range group {
			batch.Queue(commitWrite, append(p.arguments, mayWait)...)
		}
		results := db.SendBatch(ctx, batch)
		for _, p := range group {
			if err := p.answer.scan(results.QueryRow()); err != nil {
				return errors.Join(err, results.Close())
			}
		}
		return results.Close()
	}))
	if err != nil {
		for _, p := range group {
			p.answer, p.err = answer{}, err
		}
	}
}
