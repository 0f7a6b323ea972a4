package e2e

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/parallel"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

var herdSize = flag.Int("herd", 3_000, "conversations whose timers are due in the same second; the promise speaks of 10000")

const (
	herdNodes = 3
	// herdQuestions bounds what a store is asked for each turn of the herd, all of
	// the nodes' looking for work included: the lease, the record, its messages,
	// the history, the reply, its end, and hints.
	herdQuestions = 10
)

// TestHerd: thousands of conversations are due within one second, and no node
// knows of any. Three nodes answer each once, share the work, and ask the store
// no more than they must.
func TestHerd(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, e engine) {
		c := newTeam(t, e, 0, 30*time.Second)
		c.model.calm.Store(true)
		count := newCensus(e)
		for range herdNodes {
			m := c.join(teamConfig(c.model.server.URL, c.receiver.server.URL, 30*time.Second))
			m.wire.counter = count
			c.start(m)
		}
		quick := *e.url
		if e.kind == "postgres" {
			quick.RawQuery += "&synchronous_commit=off" // of what the test writes, not of the nodes
		}
		kept, err := e.open(t.Context(), quick.String())
		kept = opened(t, kept, err)
		due := gather(t, kept, *herdSize)
		count.start()
		eventually(t, "the time has come", func() bool { return !time.Now().Before(due) })
		waitLimit := limit + time.Duration(*herdSize)*20*time.Millisecond
		if !within(waitLimit, func() bool { return c.receiver.count() >= *herdSize && settled(t, kept) }) {
			t.Errorf("after %v %d of %d were answered", waitLimit, c.receiver.count(), *herdSize)
		}
		took := time.Since(due)
		perTurn, list := count.per(*herdSize)
		t.Logf("%d conversations were answered in %v, %.0f a second", *herdSize, took.Round(time.Millisecond), float64(*herdSize)/took.Seconds())
		t.Logf("the store was asked %.2f times for each turn (the bound is %d):\n%s", perTurn, herdQuestions, list)
		if perTurn > herdQuestions {
			t.Errorf("the store was asked %.2f times for each turn, the bound is %d", perTurn, herdQuestions)
		}
		c.answeredOnce(t, kept)
		c.shared(t)
		for _, m := range c.members {
			m.stops(t)
		}
	})
}

// gather writes conversations whose windows end within one second, which begins
// at the time that it returns. It is what a node leaves that accepted them and
// died.
func gather(t *testing.T, kept store.Store, count int) time.Time {
	t.Helper()
	const sample = 200
	began := time.Now()
	writeAll(t, kept, sample, idler)
	each := time.Since(began) / sample
	begin := time.Now().Add(3*time.Second + 2*each*time.Duration(count))
	now, err := kept.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := now.Add(time.Until(begin))
	writeAll(t, kept, count, func(i int) store.Write { return waiting(i, first.Add(time.Duration(i%1000)*time.Millisecond)) })
	if late := time.Since(begin); late > 0 {
		t.Logf("the first were due %v before the last were written", late.Round(time.Millisecond))
	}
	return begin
}

// writeAll makes so many writes, many at once.
func writeAll(t *testing.T, kept store.Store, count int, write func(i int) store.Write) {
	t.Helper()
	err := parallel.Each(t.Context(), count, 64, func(ctx context.Context, i int) error {
		w := write(i)
		result, err := kept.Commit(ctx, w)
		if err != nil || result.Status != store.OK {
			return fmt.Errorf("%v: %v, %w", w.Key, result.Status, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func idler(i int) store.Write {
	w := store.Write{Key: store.Key{Bot: "support", Conversation: fmt.Sprintf("idle%d", i)}, Op: store.Op{1}}
	w.Record = turn.Record{Schema: turn.Schema, Phase: turn.Idle}
	return w
}

// waiting is a conversation with one message, whose window ends at due.
func waiting(i int, due turn.Time) store.Write {
	at := due.Add(-50 * time.Millisecond)
	w := store.Write{
		Key: store.Key{Bot: "support", Conversation: fmt.Sprintf("c%d", i)}, At: at, Timer: due,
		Record: turn.Record{
			Schema:  turn.Schema,
			Phase:   turn.Collecting,
			Version: 1,
			Pending: 1,
			Turn:    1,
			Seq:     1,
			Window:  turn.Window{WaitingSince: at, Start: at, QuietUntil: due, Due: due},
		},
		Append: []store.Entry{{
			Seq: 1, Kind: store.Message, ID: "m1", Status: turn.InputPending, At: at, Version: 1,
			Body: store.Body{Text: "[m1] where is my order?"},
		}},
	}
	w.Op[0] = 2
	binary.BigEndian.PutUint64(w.Op[8:], uint64(i)+1)
	return w
}

// settled reports whether nothing is left to do.
func settled(t *testing.T, kept store.Store) bool {
	due, err := kept.Due(t.Context(), turn.At(time.Now().Add(24*time.Hour)), 1)
	return err == nil && len(due) == 0
}

// answeredOnce checks what people saw, and what the store says.
func (c *team) answeredOnce(t *testing.T, kept store.Store) {
	t.Helper()
	seen := map[string]int{}
	c.receiver.mu.Lock()
	for _, a := range c.receiver.arrivals {
		seen[a.conversation]++
		if len(a.covers) != 1 || a.covers[0] != "m1" {
			t.Errorf("%s: a reply covers %v", a.conversation, a.covers)
		}
	}
	c.receiver.mu.Unlock()
	for i := range *herdSize {
		if name := fmt.Sprintf("c%d", i); seen[name] != 1 {
			t.Errorf("%s was answered %d times", name, seen[name])
		}
	}
	for cursor, more := "", true; more; more = cursor != "" {
		found, next, err := kept.Sweep(t.Context(), cursor, 500)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if r := f.Snapshot.Record; r.Phase != turn.Idle || r.Answered != r.Version || f.Timer != 0 {
				t.Errorf("%v is %s, version %d of which %d is answered, timer %d", f.Key, r.Phase, r.Version, r.Answered, f.Timer)
			}
		}
		cursor = next
	}
}

// shared checks who did the work.
func (c *team) shared(t *testing.T) {
	t.Helper()
	work, calls := map[string]int{}, 0
	c.model.mu.Lock()
	for _, call := range c.model.calls {
		work[call.instance]++
		calls++
	}
	c.model.mu.Unlock()
	t.Logf("%d calls of the model, by node: %v", calls, work)
	if calls != *herdSize {
		t.Errorf("the model was called %d times for %d turns", calls, *herdSize)
	}
	for instance, share := range work {
		if 2*share > calls {
			t.Errorf("node %s did %d of %d turns: more than half", instance, share, calls)
		}
	}
}
