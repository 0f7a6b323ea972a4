package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// culpritConfig is a bot whose messages are set aside after two lone attempts.
func culpritConfig(model, receiver string) string {
	return fmt.Sprintf(`
drain: 5s
bots:
  bot:
    debounce: 20ms
    max_wait: 200ms
    lease: 1s
    responder: {kind: openai, base_url: "%s", model: echo, attempts: 2}
    delivery: {kind: webhook, url: "%s", secret: %s}
`, model, receiver, signingSecret)
}

// doomed is a node that is started again whenever it has ended.
type doomed struct {
	arguments []string
	mu        sync.Mutex
	node      *node
	kills     atomic.Int64
}

func (d *doomed) now() *node {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.node
}

func (d *doomed) begin(t *testing.T) {
	n := start(t, nil, d.arguments...)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.node = n
}

// kill kills it and starts it again.
func (d *doomed) kill(t *testing.T) {
	d.kills.Add(1)
	d.now().kill()
	d.begin(t)
}

// setAside are the messages of a conversation that were set aside.
func setAside(t *testing.T, c *caller, url, conversation string) (ids []string) {
	for _, l := range c.read(t, url, "bot", conversation) {
		if l.Kind == "message" && l.Status == "failed" {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

const (
	bystanders     = 40
	bystanderKills = 60
)

// A node is killed sixty times at random while forty conversations are answered. None of
// their messages brings it down, and none is set aside.
func TestKillsSetNoBystanderAside(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	m := newModel(t, func() time.Duration { return 100*time.Millisecond + rand.N(100*time.Millisecond) }, func(moment) {})
	r := newReceiver(t, takesAll, func(moment) {})
	c := newCaller(t)
	d := &doomed{arguments: settings(t, t.TempDir(), culpritConfig(m.server.URL, r.server.URL))}
	d.begin(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writing sync.WaitGroup
	var accepted [bystanders]atomic.Int64
	writing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			conversation := i % bystanders
			if _, ok, _ := c.say(d.now().url, "bot", fmt.Sprint("c", conversation), fmt.Sprint("m", i), fmt.Sprintf("hello [m%d]", i)); ok {
				accepted[conversation].Add(1)
			}
			wait(ctx, 20*time.Millisecond)
		}
	})
	for range bystanderKills {
		wait(ctx, 100*time.Millisecond+time.Duration(random.IntN(250))*time.Millisecond)
		d.kill(t)
	}
	stop()
	writing.Wait()
	m.calm.Store(true)
	for i := range bystanders {
		conversation := fmt.Sprint("c", i)
		if accepted[i].Load() == 0 {
			continue
		}
		var now standing
		if !within(limit, func() bool {
			now = c.look(d.now().url, "bot", conversation)
			return now.rests() || now.Phase == "failed"
		}) {
			t.Fatalf("%s does not come to rest: %+v", conversation, now)
		}
		if ids := setAside(t, c, d.now().url, conversation); len(ids) > 0 || now.Phase == "failed" {
			t.Errorf("%s is %s, and %v were set aside: %s", conversation, now.Phase, ids, now.LastError)
		}
	}
	t.Logf("%d kills", d.kills.Load())
	d.now().stops(t)
}

// A text brings down its node each time that it is answered, and the others that run there
// with it. It is set aside after as many lone attempts as there may be, and nothing else is.
// The others get their replies meanwhile.
func TestACulpritIsSetAside(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, takesAll, func(moment) {})
	c := newCaller(t)
	m := newModel(t, func() time.Duration { return 150 * time.Millisecond }, func(moment) {})
	d := &doomed{arguments: settings(t, t.TempDir(), culpritConfig(m.server.URL, r.server.URL))}
	d.begin(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { // whoever answers the deadly text dies of it
		for seen := 0; ctx.Err() == nil; wait(ctx, 5*time.Millisecond) {
			if calls := len(m.of("bot", "deadly")); calls > seen {
				seen = calls
				d.kill(t)
			}
		}
	})
	for i := range 5 {
		c.mustSay(t, d.now().url, "bot", fmt.Sprint("early", i), fmt.Sprint("e", i), fmt.Sprintf("hello [e%d]", i))
	}
	c.mustSay(t, d.now().url, "bot", "deadly", "d", "[d]")
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_, _, _ = c.say(d.now().url, "bot", fmt.Sprint("later", i%10), fmt.Sprint("l", i), fmt.Sprintf("hello [l%d]", i)) // it may be down
			wait(ctx, 100*time.Millisecond)
		}
	})
	answered := func() bool { return r.count() > 5 }
	eventually(t, "others are answered before the culprit is found", answered)
	before := c.look(d.now().url, "bot", "deadly")
	if !within(limit, func() bool { return c.look(d.now().url, "bot", "deadly").Phase == "failed" }) {
		t.Fatalf("the culprit is not set aside: %+v", c.look(d.now().url, "bot", "deadly"))
	}
	stop()
	running.Wait()
	if before.Phase == "failed" {
		t.Error("the others had to wait until the culprit was set aside")
	}
	if ids := setAside(t, c, d.now().url, "deadly"); !slices.Equal(ids, []string{"d"}) {
		t.Errorf("set aside in its conversation: %v", ids)
	}
	if calls := len(m.of("bot", "deadly")); calls > 4 { // two beside others, two alone
		t.Errorf("the culprit was tried %d times", calls)
	}
	for i := range 5 {
		c.rests(t, d.now().url, "bot", fmt.Sprint("early", i))
		if ids := setAside(t, c, d.now().url, fmt.Sprint("early", i)); len(ids) > 0 {
			t.Errorf("%v, which ran beside the culprit, was set aside", ids)
		}
	}
	for i := range 10 {
		if ids := setAside(t, c, d.now().url, fmt.Sprint("later", i)); len(ids) > 0 {
			t.Errorf("%v, which ran beside the culprit, was set aside", ids)
		}
	}
	d.now().stops(t)
}
