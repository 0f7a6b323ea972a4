package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/parallel"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// waitingTimers fills a store with conversations that wait, opens it anew as
// after a restart, and has those answered that are due by then.
func waitingTimers(ctx context.Context, b *bench, t *tally) error {
	folder, err := b.newFolder()
	if err != nil {
		return err
	}
	total := b.Conversations
	due := min(total/10, 5_000)
	took, err := b.fill(ctx, folder, total, due)
	if err != nil {
		return err
	}
	group := counted(total, "conversation")
	t.add(group, "written", "/s", float64(total)/took.Seconds())
	size, err := b.Place.Size(ctx, folder)
	if err != nil {
		return err
	}
	t.add(group, "size", "MB", float64(size)/1e6)
	t.add(group, "size of each", "B", float64(size)/float64(total))
	debug.FreeOSMemory()
	return b.restart(ctx, t, group, folder, due)
}

// fill writes the conversations: each has one message that waits. Some are due
// already, the others tomorrow.
func (b *bench) fill(ctx context.Context, folder string, total, due int) (took time.Duration, err error) {
	kept, err := b.Place.Open(ctx, folder)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	now := turn.At(began)
	policy := turn.Policy{Debounce: 24 * time.Hour, MaxWait: 24 * time.Hour}
	err = parallel.Each(ctx, total, 256, func(ctx context.Context, i int) error {
		at := now
		if i < due {
			at = now.Add(-24*time.Hour - time.Minute).Add(time.Duration(i) * time.Millisecond)
		}
		result, err := kept.Commit(ctx, arrivalOf(i, at, policy))
		if err == nil && result.Status != store.OK {
			err = fmt.Errorf("write %d: %v", i, result.Status)
		}
		return err
	})
	return time.Since(began), errors.Join(err, kept.Close())
}

// arrivalOf is the first message of a conversation, as the engine writes it.
func arrivalOf(i int, at turn.Time, policy turn.Policy) store.Write {
	record, _ := turn.Step(turn.Record{}, turn.Message{}, at, policy)
	wake, _ := record.Wake()
	var op store.Op
	binary.BigEndian.PutUint64(op[8:], uint64(i)+1)
	return store.Write{
		Key: store.Key{Bot: botName, Conversation: fmt.Sprintf("chat-%d", i)}, Op: op, Record: record, Timer: wake, At: at,
		Append: []store.Entry{{Seq: record.Seq, Kind: store.Message, ID: fmt.Sprintf("m%d", i), Status: turn.InputPending,
			At: at, Version: record.Version, Body: store.Body{Text: text, Sender: store.Sender(person())}}},
	}
}

// restart opens a node on the store, and waits until it has answered what was
// due.
func (b *bench) restart(ctx context.Context, t *tally, group, folder string, due int) error {
	var order gauge
	began := time.Now()
	n, err := b.openNode(ctx, folder, onereply.Bot{
		Debounce: 24 * time.Hour, MaxWait: 24 * time.Hour,
		Responder: onereply.ResponderFunc(func(ctx context.Context, turn *onereply.Turn) (onereply.Reply, error) {
			defer order.enter(numberOf(turn.Conversation))()
			waitUntil(ctx, time.Now().Add(20*time.Millisecond))
			return onereply.Reply{Text: "Sorry that it took so long."}, nil
		}),
	}, nil)
	if err != nil {
		return err
	}
	err = n.receive(ctx, "chat-new", "m1")
	t.add(group, "ready after a restart", "ms", milliseconds(time.Since(began)))
	if err == nil {
		err = n.waitSent(ctx, due)
	}
	t.add(group, "due then and answered", "", float64(due))
	t.add(group, "answered", "/s", float64(due)/time.Since(began).Seconds())
	t.add(group, "most at once", "", float64(order.most.Load()))
	t.add(group, "places out of order at the most", "", float64(order.displaced.Load()))
	debug.FreeOSMemory()
	heap, resident := memory()
	t.add(group, "memory of the heap", "MB", heap/1e6)
	t.add(group, "resident memory", "MB", resident/1e6)
	return errors.Join(err, n.close())
}

// gauge watches who runs.
type gauge struct {
	running, most, started, displaced atomic.Int64
}

// enter notes that number place runs; what it returns, that it has ended.
func (g *gauge) enter(place int) (leave func()) {
	atMost(&g.most, g.running.Add(1))
	atMost(&g.displaced, abs(g.started.Add(1)-1-int64(place)))
	return func() { g.running.Add(-1) }
}

func abs(n int64) int64 { return max(n, -n) }

// atMost raises a maximum.
func atMost(most *atomic.Int64, n int64) {
	for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
	}
}

// memory is what the heap's objects take, and, where the system tells, what the
// process has of the machine's memory, in bytes.
func memory() (heap, resident float64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	heap = float64(sample[0].Value.Uint64())
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return heap, 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return heap, 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return heap, 0
	}
	return heap, float64(pages) * float64(os.Getpagesize())
}
