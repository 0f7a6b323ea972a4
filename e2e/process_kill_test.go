package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// killBots are the bots of the kill test: both rules for a send whose outcome
// nobody knows, replies as a whole and in parts, and each mode.
var killBots = []struct {
	name, mode, unknown, parts string
}{
	{"auto", "interrupt", "auto", "together"},
	{"auto-parts", "discard", "auto", "separate"},
	{"hold", "finish", "hold", "together"},
	{"hold-parts", "interrupt", "hold", "separate"},
}

const (
	conversationsPerBot = 6
	discardsAllowed     = 2
)

// killConfig lets no conversation be given up for the number of its crashes:
// here they are not its fault.
func killConfig(model, receiver string) string {
	var yaml strings.Builder
	yaml.WriteString("drain: 5s\nbots:\n")
	for _, bot := range killBots {
		fmt.Fprintf(&yaml, `
  %s:
    debounce: 50ms
    max_wait: 300ms
    lease: 1s
    on_new_input: %s
    max_discards: %d
    unknown_send: %s
    responder: {kind: openai, base_url: "%s", model: echo, attempts: 1000000, headers: {X-Instance: "${INSTANCE}"}}
    delivery: {kind: webhook, url: "%s", secret: %s, timeout: 400ms, parts: %s, limit: 60}
`, bot.name, bot.mode, discardsAllowed, bot.unknown, model, receiver, signingSecret, bot.parts)
	}
	return yaml.String()
}

// world is a node that is killed again and again, and those who outlive it.
type world struct {
	model    *model
	receiver *receiver
	caller   *caller
	people   []*person
	seed     uint64
	url      atomic.Value // string: where the node of now listens, "" while there is none
	trigger  trigger
}

// trigger fires once when something reaches the moment that it is set to.
type trigger struct {
	mu    sync.Mutex
	set   moment
	fired chan struct{}
}

func (t *trigger) arm(m moment) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set, t.fired = m, make(chan struct{})
	return t.fired
}

func (t *trigger) notice(m moment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fired != nil && t.set == m {
		close(t.fired)
		t.fired = nil
	}
}

func newWorld(t *testing.T) *world {
	w := &world{caller: newCaller(t), seed: *seed}
	if w.seed == 0 {
		w.seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d: it decides what is drawn, not how fast this machine is", w.seed)
	w.url.Store("")
	w.model = newModel(t, between50And800(w.random(1)), w.trigger.notice)
	w.receiver = newReceiver(t, moody(w.random(2)), w.trigger.notice)
	for _, bot := range killBots {
		for i := range conversationsPerBot {
			w.people = append(w.people, &person{
				world: w, bot: bot.name, hold: bot.unknown == "hold", mayFinish: bot.mode == "finish", conversation: fmt.Sprintf("%s-c%d", bot.name, i),
				random: w.random(uint64(len(w.people)) + 10), wrote: map[string]string{}, acknowledged: map[string]bool{},
			})
		}
	}
	return w
}

func (w *world) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(w.seed, stream)) }

// moody is a receiver that mostly works.
func moody(random *rand.Rand) func() (habit, time.Duration) {
	return func() (habit, time.Duration) {
		switch n := random.IntN(100); {
		case n < 10:
			return refuses, 0
		case n < 18:
			return takesAndHangsUp, 0
		case n < 24:
			return takesSlowly, 600 * time.Millisecond // longer than the node waits
		}
		return takes, time.Duration(random.IntN(30)) * time.Millisecond
	}
}

// person writes in one conversation.
type person struct {
	world             *world
	bot, conversation string
	hold, mayFinish   bool
	random            *rand.Rand
	count             int
	wrote             map[string]string
	acknowledged      map[string]bool
	problem           string
}

// types sends bursts until ctx ends, and the last message until it is
// acknowledged.
func (p *person) types(ctx context.Context) {
	for ctx.Err() == nil && p.problem == "" {
		for range 1 + p.random.IntN(5) {
			p.message(ctx)
			wait(ctx, p.upTo(120*time.Millisecond))
		}
		wait(ctx, p.upTo(2*time.Second))
	}
}

func (p *person) upTo(d time.Duration) time.Duration { return time.Duration(p.random.Int64N(int64(d))) }

// wait is a pause in somebody's behaviour.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// message sends one message under one id until it is acknowledged. A few give
// up, and a few send once more what was acknowledged.
func (p *person) message(ctx context.Context) {
	p.count++
	id := fmt.Sprintf("%s-%d", p.conversation, p.count)
	text := fmt.Sprintf("[%s] what about number %d?", id, p.count)
	p.wrote[id] = text
	patient := p.random.IntN(30) > 0
	for deadline := time.Now().Add(limit); ; wait(context.Background(), 15*time.Millisecond) {
		if p.deliver(id, text) || !patient && ctx.Err() == nil {
			return
		}
		if time.Now().After(deadline) {
			p.problem = "nobody takes message " + id
			return
		}
	}
}

// deliver tries once, and checks that a repeat is known as one.
func (p *person) deliver(id, text string) bool {
	url := p.world.url.Load().(string)
	if url == "" {
		return false
	}
	got, ok, raw := p.world.caller.say(url, p.bot, p.conversation, id, text)
	if !ok {
		if raw.err == nil && raw.status != 503 {
			p.problem = fmt.Sprintf("message %s: %v", id, raw)
		}
		return p.problem != ""
	}
	p.acknowledged[id] = true
	p.world.trigger.notice(acknowledged)
	if p.random.IntN(10) == 0 {
		p.repeat(id, got.Version)
	}
	return true
}

// repeat sends an acknowledged message once more, perhaps to another instance of
// the node.
func (p *person) repeat(id string, version int64) {
	url := p.world.url.Load().(string)
	if url == "" {
		return
	}
	got, ok, _ := p.world.caller.say(url, p.bot, p.conversation, id, "[forged] another text")
	if ok && (!got.Duplicate || got.MessageID != id || got.Version < version) {
		p.problem = fmt.Sprintf("a repeat of %s was answered %+v", id, got)
	}
}

// aims are the moments at which the node is killed, equally often.
var aims = []moment{acknowledged, asked, finishing, committed, receiving, between, delivered, starting, anytime}

// killedAtOnce is how many nodes are killed side by side, each in a world of its own: most
// of the time it takes is waiting for a moment.
const killedAtOnce = 3

// TestKill kills nodes with SIGKILL in every phase of a turn and at random, and starts
// each again on its file, while people write, the model is slow and the receiver moody. In
// the end each acknowledged message is covered by exactly one current reply, or by one
// that is marked unknown where that was asked for.
func TestKill(t *testing.T) {
	t.Parallel()
	var hits [killedAtOnce]map[moment]int
	t.Run("each", func(t *testing.T) {
		for i := range hits {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				hits[i] = killAgainAndAgain(t, *kills/killedAtOnce)
			})
		}
	})
	for _, aim := range aims {
		total := 0
		for _, of := range hits {
			total += of[aim]
		}
		if *kills >= 10*len(aims) && total == 0 {
			t.Errorf("no kill %s", aim)
		}
	}
}

// killAgainAndAgain returns how often each moment was hit.
func killAgainAndAgain(t *testing.T, kills int) map[moment]int {
	w := newWorld(t)
	arguments := settings(t, t.TempDir(), killConfig(w.model.server.URL, w.receiver.server.URL))
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for _, p := range w.people {
		writing.Go(func() { p.types(ctx) })
	}
	hits := w.killAll(t, arguments, kills)
	stop()
	w.model.calm.Store(true)
	w.receiver.calm.Store(true)
	last := w.live(t, arguments, kills)
	writing.Wait()
	w.settle(t, last)
	w.judge(t, last, hits)
	last.stops(t)
	return hits
}

// live starts the node, and tells people where it is.
func (w *world) live(t *testing.T, arguments []string, instance int) *node {
	n := launch(t, []string{fmt.Sprintf("INSTANCE=%d", instance)}, arguments...)
	n.await(t)
	w.url.Store(n.url)
	return n
}

// killAll kills as often as asked, and returns how often each moment was hit.
func (w *world) killAll(t *testing.T, arguments []string, kills int) map[moment]int {
	random := w.random(3)
	hits := map[moment]int{}
	began := time.Now()
	for instance := range kills {
		aim := aims[instance%len(aims)]
		if aim == starting {
			n := launch(t, []string{fmt.Sprintf("INSTANCE=%d", instance)}, arguments...)
			wait(t.Context(), time.Duration(random.IntN(120))*time.Millisecond)
			n.kill()
			hits[aim]++
			continue
		}
		n := w.live(t, arguments, instance)
		if w.reach(t, n, aim, random) {
			hits[aim]++
		} else {
			hits[anytime]++
		}
		w.url.Store("")
		n.kill()
	}
	t.Logf("%d kills in %v", kills, time.Since(began).Round(time.Second))
	return hits
}

// reach waits for the moment, and reports whether it came. Then a blink more,
// so that the kill falls on either side of what follows.
func (w *world) reach(t *testing.T, n *node, aim moment, random *rand.Rand) bool {
	wait(t.Context(), time.Duration(random.IntN(400))*time.Millisecond)
	if aim == anytime {
		wait(t.Context(), time.Duration(random.IntN(2500))*time.Millisecond)
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if aim == committed {
		go w.caller.follow(ctx, n.url, func(kind, _ string) {
			if kind == "reply.committed" {
				w.trigger.notice(committed)
			}
		})
	}
	select {
	case <-w.trigger.arm(aim):
	case <-n.ended:
		t.Fatalf("it ended by itself:\n%s", n.log.tail())
	case <-ctx.Done():
		return false
	}
	blink := 3 * time.Millisecond
	if aim == asked {
		blink = 400 * time.Millisecond // anywhere in the model's time
	}
	wait(t.Context(), time.Duration(random.Int64N(int64(blink))))
	return true
}

// settle waits until everything in every conversation is answered.
func (w *world) settle(t *testing.T, n *node) {
	t.Helper()
	for _, p := range w.people {
		if p.problem != "" {
			t.Error(p.problem)
		}
		w.caller.rests(t, n.url, p.bot, p.conversation)
	}
}

// judge compares what the witnesses say, and prints what was played.
func (w *world) judge(t *testing.T, n *node, hits map[moment]int) {
	t.Helper()
	acknowledged, unknown, replies, calls := 0, 0, 0, 0
	for _, p := range w.people {
		s := story{
			hold: p.hold, mayFinish: p.mayFinish, wrote: p.wrote, acknowledged: p.acknowledged,
			calls: w.model.of(p.bot, p.conversation), arrivals: w.receiver.of(p.bot, p.conversation),
			transcript: w.caller.read(t, n.url, p.bot, p.conversation),
		}
		for _, fault := range s.faults() {
			t.Errorf("%s/%s: %s", p.bot, p.conversation, fault)
		}
		acknowledged += len(s.acknowledged)
		calls += len(s.calls)
		for _, l := range s.transcript {
			if l.counts() {
				replies++
			}
			if l.Status == "unknown" {
				unknown++
			}
		}
	}
	t.Logf("killed: %v", hits)
	t.Logf("%d messages acknowledged, %d replies of which %d are marked unknown, %d model calls, %d deliveries tried",
		acknowledged, replies, unknown, calls, w.receiver.count())
	if t.Failed() {
		t.Logf("seed %d; the last node logged:\n%s", w.seed, n.log.tail())
	}
}
