package simulate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/onereply/onereply/turn"
)

// Protocol is a way to answer bursts.
type Protocol string

// The protocols. The first two are the designs that failed; Lease is the engine as it
// ships, and Early the same with `start: early`.
const (
	Lock     Protocol = "lock"     // a lock around reading the conversation; the model runs after it
	Debounce Protocol = "debounce" // a timer in each process, no final check, one slot for what comes meanwhile
	Lease    Protocol = "lease"
	Early    Protocol = "early"
)

// Protocols are all of them.
func Protocols() []Protocol { return []Protocol{Lock, Debounce, Lease, Early} }

// Traffic is who writes, and how.
type Traffic string

// The traffics.
const (
	Mixed Traffic = "mixed" // people of all kinds, to three nodes; the model takes 1 to 5 seconds
	Day   Traffic = "day"   // people who write in bursts, to one node; the model takes 2 seconds
)

// plan is the traffic of one run: one person's, or that of the people of one chat.
func (t Traffic) plan(seed uint64) (*Plan, error) {
	switch t {
	case Mixed:
		return mixedPlan(seed), nil
	case Day:
		return dayPlan(seed), nil
	}
	return nil, fmt.Errorf("there is no traffic %q; there are %v", t, []Traffic{Mixed, Day})
}

// Comparison is what a protocol made of the traffic.
type Comparison struct {
	Protocol   Protocol `json:"protocol"`
	Messages   int      `json:"messages"`
	Replies    int      `json:"replies"`
	Duplicates int      `json:"duplicates"` // times that a message was answered once more
	Stale      int      `json:"stale"`      // replies that left out a message that was there at their commit
	Lost       int      `json:"lost"`       // messages that were never answered
	ModelCalls int      `json:"model_calls"`
	P50        int      `json:"p50_milliseconds"` // wait of the first message of each reply
	P95        int      `json:"p95_milliseconds"`
	LastP50    int      `json:"last_p50_milliseconds"` // wait of the last message of each reply
	LastP95    int      `json:"last_p95_milliseconds"`
}

// story is what happened in one run, as far as anybody could see it.
type story struct {
	arrivals []arrival
	runs     []span
	replies  []answer
}

type arrival struct {
	id   string
	at   turn.Time
	node int
}

// span is one call of the model.
type span struct {
	node     int
	from, to turn.Time
	nonce    string
	shows    []string
}

// answer is a reply that a person saw.
type answer struct {
	at     turn.Time
	covers []string
	late   bool // it says so itself
}

func (s *story) ends(nonce string, at turn.Time) {
	for i := range s.runs {
		if s.runs[i].nonce == nonce {
			s.runs[i].to = at
		}
	}
}

// Compare plays the same traffic, without any fault, through protocols.
func Compare(ctx context.Context, seed uint64, runs int, protocols []Protocol, traffic Traffic) ([]Comparison, error) {
	var table []Comparison
	for _, p := range protocols {
		if !slices.Contains(Protocols(), p) {
			return nil, fmt.Errorf("there is no protocol %q; there are %v", p, Protocols())
		}
		c, first, last := Comparison{Protocol: p}, map[int]int{}, map[int]int{}
		for run := range runs {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			plan, err := traffic.plan(seed + uint64(run))
			if err != nil {
				return nil, err
			}
			told, err := p.tell(plan)
			if err != nil {
				return nil, fmt.Errorf("seed %d, protocol %s: %w", seed+uint64(run), p, err)
			}
			c.add(told, first, last)
		}
		ofFirst, ofLast := percentiles(first), percentiles(last)
		c.P50, c.P95, c.LastP50, c.LastP95 = ofFirst.P50, ofFirst.P95, ofLast.P50, ofLast.P95
		table = append(table, c)
	}
	return table, nil
}

// dayPlan is a person who writes bursts of one to five messages for five minutes, as
// people do who press send too early: 0.6 s between two messages on average, and 15 s
// between two bursts. The mixed load of onereply bench writes like that, too.
func dayPlan(seed uint64) *Plan {
	p := &Plan{Seed: seed, end: 6 * time.Minute, settings: plainSettings()}
	p.nodes, p.traffic, p.slowestSend = 1, 5*time.Minute, 20*time.Millisecond
	p.fastest, p.slowest = 2*time.Second, 2*time.Second
	t := &typist{Plan: p, dice: roll(seed, "day")}
	about := func(mean time.Duration) time.Duration { // exponentially distributed
		u := (float64(t.dice.below(1_000_000)) + 0.5) / 1_000_000
		return time.Duration(-math.Log(u) * float64(mean)).Truncate(time.Millisecond)
	}
	for at := about(15 * time.Second); at < p.traffic; at += about(15 * time.Second) {
		for burst := t.dice.between(1, 5); burst > 0; burst-- {
			t.say(at)
			if burst > 1 {
				at += about(600 * time.Millisecond)
			}
		}
	}
	p.number()
	return p
}

// number gives the events their ids. Nothing that is written takes part in a fault.
func (p *Plan) number() {
	for i := range p.Events {
		p.Events[i].ID, p.Events[i].Flag = i+1, false
	}
}

// mixedPlan is people who write to one conversation, over three processes.
// The model takes 1 to 5 seconds.
func mixedPlan(seed uint64) *Plan {
	p := &Plan{Seed: seed, end: time.Minute, settings: plainSettings()}
	t := &typist{Plan: p, dice: roll(seed, "traffic")}
	ways := []func(){t.uniform, t.bursts, t.twoPeople, t.endless}
	ways[t.dice.below(len(ways))]()
	p.number()
	return p
}

// plainSettings are the defaults of a bot, on three nodes.
func plainSettings() settings {
	return settings{
		nodes: 3, conversations: 1, parts: 1, generations: 8, recognises: true,
		policy: turn.Policy{
			Debounce: 1500 * time.Millisecond, MaxWait: 10 * time.Second, OnNewInput: turn.Interrupt, MaxDiscards: 2,
			Lease: 10 * time.Second, MediaWait: 15 * time.Second, MaxAttempts: 3, ResendUnknown: true, RetryFor: time.Minute,
		},
		timeout: 60 * time.Second, sendTimeout: 15 * time.Second, fastest: time.Second, slowest: 5 * time.Second, slowestSend: 400 * time.Millisecond, traffic: 30 * time.Second,
	}
}

// tell plays a plan through a protocol. The lease must keep its promise, and mark
// what it sends at its bound as late.
func (p Protocol) tell(plan *Plan) (story, error) {
	if p == Lease || p == Early {
		early := *plan
		if p == Early {
			early.policy.EarlyAttempts = 3
		}
		w := newWorld(&early, seededFault{}, nil)
		w.play()
		if w.broken != nil {
			return story{}, w.broken
		}
		return w.ledger.story, w.ledger.story.unmarked()
	}
	o := &old{timeline: timeline{now: start}, plan: plan, answered: map[string]bool{}, timers: map[int]int{}, busy: map[int]bool{}}
	for _, e := range plan.Events {
		o.at(start.Add(e.At), func() { o.receive(p, e) })
	}
	for len(o.queue) > 0 {
		o.step()
	}
	return o.story, nil
}

// old is a system of one of the designs that failed: processes that share a
// document with the messages and who was answered.
type old struct {
	timeline
	story
	plan     *Plan
	answered map[string]bool
	timers   map[int]int  // debounce: by process, how often its timer was set
	busy     map[int]bool // debounce: by process, whether its model runs
	slot     bool         // debounce: the one timer that is stored with the conversation
}

func (o *old) receive(p Protocol, e Event) {
	o.arrivals = append(o.arrivals, arrival{id: e.Message, at: o.now, node: e.Node})
	switch {
	case p == Lock:
		o.after(2*time.Millisecond, func() { o.run(e.Node, func() {}) }) // the lock is taken, and given back
	case o.busy[e.Node]:
		o.slot = true
	default:
		o.arm(e.Node)
	}
}

// arm sets the process's timer anew.
func (o *old) arm(node int) {
	o.timers[node]++
	set := o.timers[node]
	o.after(o.plan.policy.Debounce, func() {
		if o.timers[node] == set && !o.busy[node] {
			o.busy[node] = true
			o.run(node, func() { o.busy[node], o.slot = false, false }) // the end of the turn overwrites the slot
		}
	})
}

// run answers all that waits as it is now, and saves and sends the answer
// whatever came meanwhile.
func (o *old) run(node int, then func()) {
	var waiting []string
	for _, a := range o.arrivals {
		if !o.answered[a.id] {
			waiting = append(waiting, a.id)
		}
	}
	if len(waiting) == 0 {
		then()
		return
	}
	d := roll(o.plan.Seed, "model", int64(node), int64(o.now))
	took := d.span(o.plan.fastest, o.plan.slowest)
	o.runs = append(o.runs, span{node: node, from: o.now, to: o.now.Add(took), shows: waiting})
	o.after(took, func() {
		for _, id := range waiting {
			o.answered[id] = true
		}
		then()
		o.after(d.span(5*time.Millisecond, o.plan.slowestSend), func() {
			o.replies = append(o.replies, answer{at: o.now, covers: waiting})
		})
	})
}

// add counts what a person saw in one run.
func (c *Comparison) add(s story, first, last map[int]int) {
	answers := map[string]int{}
	for _, r := range s.replies {
		for _, id := range r.covers {
			answers[id]++
		}
		oldest, newest := s.waits(r)
		first[oldest]++
		last[newest]++
		if s.stale(r) {
			c.Stale++
		}
	}
	for _, a := range s.arrivals {
		switch n := answers[a.id]; n {
		case 0:
			c.Lost++
		default:
			c.Duplicates += n - 1
		}
	}
	c.Messages += len(s.arrivals)
	c.Replies += len(s.replies)
	c.ModelCalls += len(s.runs)
}

// waits is how long the first and the last message of a reply waited for it, in
// milliseconds.
func (s *story) waits(r answer) (first, last int) {
	oldest, newest := r.at, turn.Time(0)
	for _, a := range s.arrivals {
		if slices.Contains(r.covers, a.id) {
			oldest, newest = min(oldest, a.at), max(newest, a.at)
		}
	}
	return int(r.at.Sub(oldest).Milliseconds()), int(r.at.Sub(newest).Milliseconds())
}

// unmarked is an error where a reply is stale, and does not say that it is late.
func (s *story) unmarked() error {
	for _, r := range s.replies {
		if s.stale(r) && !r.late {
			return fmt.Errorf("the reply to %v is stale, and does not say so", r.covers)
		}
	}
	return nil
}

// stale reports whether a message was there before the model had finished, and
// no reply until then has it.
func (s *story) stale(r answer) bool {
	i := slices.IndexFunc(s.runs, func(x span) bool { return slices.Equal(x.shows, r.covers) })
	if i < 0 {
		return false
	}
	for _, a := range s.arrivals {
		if s.runs[i].from < a.at && a.at < s.runs[i].to && !slices.Contains(r.covers, a.id) {
			return true
		}
	}
	return false
}
