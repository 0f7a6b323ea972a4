package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/gomaxprocs"
	"github.com/onereply/onereply/internal/parallel"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// active is how many conversations a load of acknowledgements goes to.
const active = 1_000

// acknowledge measures how many messages are accepted for good by writers that
// each wait for one before they send the next.
func acknowledge(ctx context.Context, b *bench, t *tally) error {
	for _, writers := range []int{1, 16, 64, 256} {
		limit, err := b.limitOf(writers)
		if err != nil {
			return err
		}
		ours, err := b.accepted(ctx, writers)
		if err != nil {
			return err
		}
		group := counted(writers, "writer")
		t.compare(group, "acknowledged", "/s", ours.rate, limit.rate)
		t.compare(group, "processor time of each", "µs", ours.cost, limit.cost)
	}
	return nil
}

// limitOf is how many records the group log takes.
func (b *bench) limitOf(writers int) (pace, error) {
	folder, err := b.newFolder()
	if err != nil {
		return pace{}, err
	}
	log, err := openGroupLog(filepath.Join(folder, "log"))
	if err != nil {
		return pace{}, err
	}
	defer gomaxprocs.OneMore()() // it waits for the disk too
	record := arrivalBytes()
	found, err := b.pace(writers, func(int, int) error { return log.append(record) })
	return found, errors.Join(err, log.close())
}

// arrivalBytes are what an arrival must store at the least: the record, and the
// message.
func arrivalBytes() []byte {
	now := turn.At(time.Now())
	arrival := struct {
		Record turn.Record
		Entry  store.Entry
	}{
		turn.Record{
			Schema:  turn.Schema,
			Phase:   turn.Collecting,
			Version: 1,
			Pending: 1,
			Turn:    1,
			Window:  turn.Window{WaitingSince: now, Start: now, QuietUntil: now, Due: now},
			Seq:     1,
		},
		store.Entry{Seq: 1, Kind: store.Message, ID: "m-1-1", Status: turn.InputPending, At: now, Version: 1,
			Body: store.Body{Text: text, Sender: store.Sender(person()), SentAt: now}},
	}
	encoded, err := json.Marshal(arrival)
	if err != nil {
		panic(err) // strings and numbers always have a JSON form
	}
	return encoded
}

func (b *bench) accepted(ctx context.Context, writers int) (pace, error) {
	n, err := b.activeNode(ctx)
	if err != nil {
		return pace{}, err
	}
	found, err := b.pace(writers, func(writer, i int) error {
		return n.receive(ctx, conversationOf(writers, writer, i), fmt.Sprintf("m-%d-%d", writer, i))
	})
	return found, errors.Join(err, n.close())
}

// activeNode is a node that has heard of all the conversations of the load: a
// conversation begins once, and goes on.
func (b *bench) activeNode(ctx context.Context) (*node, error) {
	n, err := b.newNode(ctx, listening(), nil)
	if err != nil {
		return nil, err
	}
	return n, parallel.Each(ctx, active, 128, func(ctx context.Context, i int) error {
		return n.receive(ctx, fmt.Sprintf("chat-%d", i), "first")
	})
}

func (n *node) receive(ctx context.Context, conversation, id string) error {
	_, err := n.Receive(ctx, botName, conversation, onereply.Message{ID: id, Text: text, Sender: person(), SentAt: time.Now()})
	return err
}

// conversationOf is where a writer's message goes: each writer has its share of
// the active conversations, and goes through them in turn.
func conversationOf(writers, writer, i int) string {
	return fmt.Sprintf("chat-%d", placeOf(writers, writer, i))
}

func placeOf(writers, writer, i int) int { return (i*writers + writer) % active }

// pace is how fast calls complete.
type pace struct {
	rate float64 // calls a second
	cost float64 // microseconds of processor time for each, client and server together
	took times
}

// pace has all writers call at once, again and again. What is called in the
// first tenth warms up, and is not counted.
func (b *bench) pace(writers int, call func(writer, i int) error) (pace, error) {
	begin := time.Now().Add(b.span() / 10)
	end := begin.Add(b.span())
	took, failures := make([]times, writers), make([]error, writers)
	var used time.Duration
	var all sync.WaitGroup
	all.Go(func() {
		time.Sleep(time.Until(begin))
		used = processorTime()
	})
	for w := range writers {
		all.Go(func() {
			for i := 0; failures[w] == nil; i++ {
				began := time.Now()
				if began.After(end) {
					return
				}
				failures[w] = call(w, i)
				if now := time.Now(); now.After(begin) {
					took[w] = append(took[w], now.Sub(began))
				}
			}
		})
	}
	all.Wait()
	p := pace{took: slices.Concat(took...)}
	p.rate = float64(len(p.took)) / time.Since(begin).Seconds()
	p.cost = float64((processorTime() - used).Microseconds()) / float64(max(1, len(p.took)))
	return p, errors.Join(failures...)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
