package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
)

const (
	modelTime = 2 * time.Second
	people    = 200
	resting   = 15 * time.Second // between two bursts of one person, on average
)

// mixedDay lets people write in bursts for some minutes, and looks every second
// at what grows.
func mixedDay(ctx context.Context, b *bench, t *tally) error {
	folder, err := b.newFolder()
	if err != nil {
		return err
	}
	n, err := b.openNode(ctx, folder, onereply.Bot{
		Responder: onereply.ResponderFunc(func(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
			if !waitUntil(ctx, time.Now().Add(modelTime)) {
				return onereply.Reply{}, context.Cause(ctx)
			}
			return onereply.Reply{Text: "It left the warehouse yesterday and will be with you on Friday."}, nil
		}),
	}, nil)
	if err != nil {
		return err
	}
	length := time.Duration(b.Minutes * float64(time.Minute))
	day := &day{node: n, place: b.Place, folder: folder, length: length, last: map[string]time.Time{}}
	err = day.live(ctx)
	day.report(t)
	return errors.Join(err, n.close())
}

// day is the mixed load and what was seen of it.
type day struct {
	node   *node
	place  Place
	folder string
	length time.Duration

	mu       sync.Mutex
	accepted times                // how long acknowledgements took
	replied  times                // from the last message before a reply to the sent reply
	last     map[string]time.Time // when somebody wrote last
	failures []error

	seconds, heap, resident, goroutines, size, messages []float64
}

// live has everybody write until the day ends, and then waits for the last
// replies.
func (d *day) live(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	evening, end := context.WithTimeout(ctx, d.length)
	defer end()
	watch := d.node.Subscribe(onereply.EventQuery{Bot: botName})
	defer watch.Close()
	var watchers, writers sync.WaitGroup
	watchers.Go(func() { d.follow(watch) })
	watchers.Go(func() { d.sample(evening) })
	for i := range people {
		writers.Go(func() { d.person(ctx, evening, i) })
	}
	writers.Wait()
	d.settle(ctx)
	watch.Close()
	watchers.Wait()
	return errors.Join(append(d.failures, ctx.Err())...)
}

// person writes bursts of one to five messages, as people do who press send too
// early. Everybody's day is the same in every run.
func (d *day) person(ctx, evening context.Context, i int) {
	dice := rand.New(rand.NewPCG(uint64(i), 1))
	conversation := fmt.Sprintf("chat-%d", i)
	rest := func(about time.Duration) bool {
		return waitUntil(evening, time.Now().Add(time.Duration(dice.ExpFloat64()*float64(about))))
	}
	for number := 0; rest(resting); {
		for burst := 1 + dice.IntN(5); burst > 0; burst-- {
			d.send(ctx, conversation, fmt.Sprintf("m%d", number))
			number++
			if burst > 1 && !rest(600*time.Millisecond) {
				return
			}
		}
	}
}

func (d *day) send(ctx context.Context, conversation, id string) {
	began := time.Now()
	err := d.node.receive(ctx, conversation, id)
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.accepted = append(d.accepted, now.Sub(began))
	d.last[conversation] = now
	if err != nil {
		d.failures = append(d.failures, err)
	}
}

// follow notes when replies are sent.
func (d *day) follow(watch *onereply.Subscription) {
	for event := range watch.Events {
		if event.Type != "reply.sent" {
			continue
		}
		d.mu.Lock()
		d.replied = append(d.replied, time.Since(d.last[event.Conversation]))
		d.mu.Unlock()
	}
}

// sample looks at what could grow, once a second.
func (d *day) sample(evening context.Context) {
	began := time.Now()
	for second := 1; waitUntil(evening, began.Add(time.Duration(second)*time.Second)); second++ {
		runtime.GC() // what is left then is in use
		heap, resident := memory()
		size, err := d.place.Size(evening, d.folder)
		d.mu.Lock()
		if err != nil && evening.Err() == nil {
			d.failures = append(d.failures, err)
		}
		d.seconds = append(d.seconds, time.Since(began).Seconds())
		d.heap = append(d.heap, heap/1e6)
		d.resident = append(d.resident, resident/1e6)
		d.goroutines = append(d.goroutines, float64(runtime.NumGoroutine()))
		d.size = append(d.size, float64(size)/1e6)
		d.messages = append(d.messages, float64(len(d.accepted)))
		d.mu.Unlock()
	}
}

// settle waits until nothing waits any more.
func (d *day) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for waitUntil(ctx, time.Now().Add(100*time.Millisecond)) {
		busy, err := d.waiting(ctx)
		if err != nil {
			d.failures = append(d.failures, err)
			return
		}
		if !busy {
			return
		}
	}
	d.failures = append(d.failures, errors.New("some messages were not answered within a minute of the day's end"))
}

func (d *day) waiting(ctx context.Context) (bool, error) {
	page, err := d.node.store.List(ctx, store.ListQuery{Limit: people})
	return slices.ContainsFunc(page.Items, func(item store.Item) bool {
		_, work := item.Snapshot.Record.Wake()
		return work
	}), err
}

func (d *day) report(t *tally) {
	d.mu.Lock()
	defer d.mu.Unlock()
	group := fmt.Sprintf("%d people", people)
	stats := d.node.Stats()
	t.add(group, "messages", "", float64(len(d.accepted)))
	t.add(group, "replies", "", float64(stats.Turns["sent"]))
	t.add(group, "attempts thrown away", "", float64(stats.Discards))
	accepted, replied := d.accepted.milliseconds(0.5, 0.99), d.replied.milliseconds(0.5, 0.99)
	t.add(group, "acknowledged, p50", "ms", accepted[0])
	t.add(group, "acknowledged, p99", "ms", accepted[1])
	expected := milliseconds(1500*time.Millisecond + modelTime)
	t.compare(group, "last message to reply, p50", "ms", replied[0], expected)
	t.compare(group, "last message to reply, p99", "ms", replied[1], expected)
	d.growth(t)
	t.note = "limit of the replies: the debounce and the model's time; of the rest: the second quarter of the day, against the last"
}

// growth compares the last quarter of the day with its second one.
func (d *day) growth(t *tally) {
	quarter := len(d.seconds) / 4
	if quarter == 0 {
		return
	}
	compare := func(name, unit string, values []float64) {
		t.compare("late in the day", name, unit, mean(values[3*quarter:]), mean(values[quarter:2*quarter]))
		t.series = append(t.series, Series{Name: name, Unit: unit, Seconds: d.seconds, Values: values})
	}
	compare("heap", "MB", d.heap)
	if slices.Max(d.resident) > 0 { // some systems do not tell
		compare("resident memory", "MB", d.resident)
	}
	compare("goroutines", "", d.goroutines)
	each := make([]float64, len(d.size))
	for i := range each {
		each[i] = d.size[i] * 1e6 / max(1, d.messages[i])
	}
	compare("files, of each message", "B", each)
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}
