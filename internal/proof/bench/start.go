package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/onereply/onereply"
)

// window is the quiet time in loads that wait for turns.
const window = 300 * time.Millisecond

// crowd is a load of conversations that are answered once each.
type crowd struct {
	name  string
	count int
	over  time.Duration // from the first to the last
}

// crowds are one conversation at a time, and many whose windows end one after
// the other, 500 a second.
func (b *bench) crowds() []crowd {
	alone := 10
	if b.Quick {
		alone = 2
	}
	all := []crowd{{"1 conversation", alone, time.Duration(alone) * 2 * window}}
	many := []int{1_000}
	if b.asked > 1_000 {
		many = append(many, b.asked)
	}
	for _, count := range many {
		all = append(all, crowd{counted(count, "conversation"), count, time.Duration(count) * 2 * time.Millisecond})
	}
	return all
}

// dueToStart measures how late responders start.
func dueToStart(ctx context.Context, b *bench, t *tally) error {
	for _, c := range b.crowds() {
		limit := c.lateTimers(ctx)
		late, err := b.lateStarts(ctx, c)
		if err != nil {
			return err
		}
		ours, timers := late.milliseconds(0.5, 0.99), limit.milliseconds(0.5, 0.99)
		t.compare(c.name, "p50 late", "ms", ours[0], timers[0])
		t.compare(c.name, "p99 late", "ms", ours[1], timers[1])
	}
	return nil
}

// lateTimers is how late the runtime's own timers are under the same load.
func (c crowd) lateTimers(ctx context.Context) times {
	late := make(times, c.count)
	var fired sync.WaitGroup
	paced(ctx, c.count, c.over, func(i int) {
		fired.Add(1)
		due := time.Now().Add(window)
		time.AfterFunc(window, func() {
			late[i] = time.Since(due)
			fired.Done()
		})
	})
	fired.Wait()
	return late
}

// lateStarts has the conversations answered.
func (b *bench) lateStarts(ctx context.Context, c crowd) (times, error) {
	started, due := make([]time.Time, c.count), make([]time.Time, c.count)
	n, err := b.newNode(ctx, onereply.Bot{
		Debounce: window, MaxWait: window,
		Responder: onereply.ResponderFunc(func(_ context.Context, t *onereply.Turn) (onereply.Reply, error) {
			started[numberOf(t.Conversation)] = time.Now() // each runs once: nobody writes to it again
			return onereply.Reply{Text: "It is on its way."}, nil
		}),
	}, nil)
	if err != nil {
		return nil, err
	}
	failures := make([]error, c.count)
	paced(ctx, c.count, c.over, func(i int) {
		var receipt onereply.Receipt
		receipt, failures[i] = n.Receive(ctx, botName, fmt.Sprintf("chat-%d", i), onereply.Message{ID: "m", Text: text, Sender: person()})
		due[i] = receipt.DueAt.Time
	})
	err = errors.Join(append(failures, ctx.Err())...)
	if err == nil {
		err = n.waitSent(ctx, c.count)
	}
	if err := errors.Join(err, n.close()); err != nil {
		return nil, err
	}
	late := make(times, c.count)
	for i := range late {
		late[i] = started[i].Sub(due[i])
	}
	return late, nil
}

// numberOf is the i of chat-i.
func numberOf(conversation string) int {
	number, err := strconv.Atoi(strings.TrimPrefix(conversation, "chat-"))
	if err != nil {
		panic(err) // all conversations of a load are named so
	}
	return number
}

// paced makes count calls, evenly spread, whether or not those before have
// ended: a load that does not wait for the slow. It returns when all have ended,
// and makes no more of them when ctx ends.
func paced(ctx context.Context, count int, over time.Duration, call func(i int)) {
	var all sync.WaitGroup
	began := time.Now()
	for i := range count {
		if !waitUntil(ctx, began.Add(over*time.Duration(i)/time.Duration(count))) {
			break
		}
		all.Go(func() { call(i) })
	}
	all.Wait()
}

// waitUntil reports whether the moment came before ctx ended.
func waitUntil(ctx context.Context, moment time.Time) bool {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
