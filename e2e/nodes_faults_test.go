package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// playFaults is how long each store is played with.
var playFaults = flag.Duration("faults", time.Minute, "how long the test of several nodes plays faults on each store; on demand 30m")

// silent is for servers of the test, whose clients are killed.
var silent = log.New(io.Discard, "", 0)

const (
	clusterSize  = 3
	clusterLease = 2 * time.Second
	sendTimeout  = clusterLease / 2 // longer than the receiver ever takes
)

// clusterConfig is that of the kill test with other times, so that a send has
// an unknown outcome only where something cut it off.
func clusterConfig(model, receiver string) string {
	return strings.NewReplacer(
		"drain: 5s", "drain: 5s\nnode: \"node-${INSTANCE}\"",
		"lease: 1s", "lease: "+clusterLease.String(),
		"timeout: 400ms", "timeout: "+sendTimeout.String()+`, headers: {X-Instance: "${INSTANCE}"}`,
	).Replace(killConfig(model, receiver))
}

// fault is one kind of what is done to a cluster.
type fault struct {
	name string
	play func(*chaos)
}

// chaos plays faults, one after the other, all kinds equally often.
type chaos struct {
	*cluster
	random *rand.Rand
	frozen map[*member]<-chan struct{}
	hits   map[string]int
}

var nodeFaults = []fault{
	{"kill -9", (*chaos).kill},
	{"stopped for half a lease", func(c *chaos) { c.freeze(clusterLease / 2) }},
	{"stopped for a lease", func(c *chaos) { c.freeze(clusterLease) }},
	{"stopped for three leases", func(c *chaos) { c.freeze(3 * clusterLease) }},
	{"SIGTERM", (*chaos).term},
	{"store crashes", func(c *chaos) { c.restartStore(c.engine.crash) }},
	{"store is restarted", func(c *chaos) { c.restartStore(c.engine.stop) }},
	{"slow network", (*chaos).slowNetwork},
	{"network is cut", func(c *chaos) { c.disturb(c.any(), func(m *member) { m.wire.cut() }) }},
	{"node is cut off for two leases", (*chaos).partition},
	{"commit is lost", func(c *chaos) { c.loses(itself) }},
	{"answer to a commit is lost", func(c *chaos) { c.loses(theAnswerTo) }},
}

// until plays until the time is over, but each fault once at the least, and
// mends everything.
func (c *chaos) until(end time.Time) {
	for round := 0; round == 0 || time.Now().Before(end); round++ {
		for _, i := range c.random.Perm(len(nodeFaults)) {
			if round > 0 && time.Now().After(end) {
				break
			}
			fault := nodeFaults[i]
			fault.play(c)
			c.hits[fault.name]++
			c.pause(300 * time.Millisecond)
		}
	}
	for _, thawed := range c.frozen {
		<-thawed
	}
}

func (c *chaos) pause(atMost time.Duration) {
	wait(c.t.Context(), time.Duration(c.random.Int64N(int64(atMost))))
}

// any is a node that is not stopped at the moment.
func (c *chaos) any() *member {
	for {
		for _, i := range c.random.Perm(len(c.members)) {
			m := c.members[i]
			if c.thawed(m) {
				if m.hasEnded() {
					c.t.Fatalf("instance %s ended by itself:\n%s", m.instance, m.log.tail())
				}
				return m
			}
		}
		c.pause(50 * time.Millisecond)
	}
}

func (c *chaos) thawed(m *member) bool {
	thawed, stopped := c.frozen[m]
	if !stopped {
		return true
	}
	select {
	case <-thawed:
		delete(c.frozen, m)
		return true
	default:
		return false
	}
}

func (c *chaos) kill() {
	m := c.any()
	c.kills(m)
	c.pause(400 * time.Millisecond)
	c.start(m)
}

func (c *chaos) freeze(d time.Duration) {
	m := c.any()
	c.frozen[m] = c.freezes(m, d)
}

// term ends a node in order, while it still takes messages.
func (c *chaos) term() {
	m := c.any()
	m.stops(c.t)
	c.leave(m)
	c.start(m)
}

func (c *chaos) restartStore(end func(testing.TB)) {
	defer c.during("")()
	end(c.t)
	c.pause(500 * time.Millisecond)
	c.engine.restart(c.t)
}

// disturb does something to a node, and notes it as a disturbance of its.
func (c *chaos) disturb(m *member, do func(*member)) {
	defer c.during(m.instance)()
	do(m)
}

func (c *chaos) slowNetwork() {
	for _, m := range c.members {
		m.wire.slow(time.Duration(c.random.IntN(40)) * time.Millisecond)
	}
	wait(c.t.Context(), time.Second)
	for _, m := range c.members {
		m.wire.slow(0)
	}
}

func (c *chaos) partition() {
	c.disturb(c.any(), func(m *member) {
		m.wire.stall()
		wait(c.t.Context(), 2*clusterLease)
		if c.random.IntN(2) == 0 {
			m.wire.cut() // what waited never arrives
		}
		m.wire.flow()
	})
}

// loses waits for a commit to lose; a node that was just started may have none
// for a while.
func (c *chaos) loses(l loss) {
	for lost := false; !lost && c.t.Context().Err() == nil; {
		c.disturb(c.any(), func(m *member) { lost = m.wire.next(l, 5*time.Second) })
	}
	c.hits[l.String()]++
}

// TestSeveralNodes: three nodes on one store, behind a balancer, while people
// write, the model is slow, the receiver moody, and everything between them
// fails. In the end the ledger of the kill test holds, and what only several
// nodes can do wrong did not happen. The stores are played with side by side.
func TestSeveralNodes(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, e engine) {
		w := newWorld(t)
		w.model.latency = oftenLong(w.model.latency, w.random(4))
		kept, err := e.open(t.Context(), e.url.String())
		kept = opened(t, kept, err)
		witness, receiver := newWitness(t, w.receiver, kept)
		c := newCluster(t, e, clusterSize, clusterConfig(w.model.server.URL, receiver))
		balancer := c.balancer(t)
		w.url.Store(balancer)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var writing sync.WaitGroup
		for _, p := range w.people {
			writing.Go(func() { p.types(ctx) })
		}
		history := record(ctx, w.caller, balancer, "auto", w.seed)
		starved := c.watches(ctx, kept)
		chaos := &chaos{cluster: c, random: w.random(3), frozen: map[*member]<-chan struct{}{}, hits: map[string]int{}}
		chaos.until(time.Now().Add(*playFaults))
		w.model.calm.Store(true)
		w.receiver.calm.Store(true)
		stop()
		t.Logf("for %v the store itself or this machine was too slow for a lease of %v", starved().Round(time.Millisecond), clusterLease)
		writing.Wait()
		last := c.members[0].node
		w.rest(t, last)
		w.read(t, last, c.belated(witness))
		history.judge(t, last.url, func(from, to time.Time) bool { return c.had("", from, to, anything) })
		c.judge(t, w.people, w.model, witness, endings(t, w.caller, last.url))
		t.Logf("played: %v", chaos.hits)
		for _, name := range append(names(nodeFaults), itself.String(), theAnswerTo.String()) {
			if chaos.hits[name] == 0 {
				t.Errorf("it never happened: %s", name)
			}
		}
		for _, m := range c.members {
			if t.Failed() {
				t.Logf("instance %s logged:\n%s", m.instance, m.log.tail())
			}
			m.stops(t)
		}
	})
}

func names(faults []fault) []string {
	var all []string
	for _, fault := range faults {
		all = append(all, fault.name)
	}
	return all
}

// oftenLong makes some model calls outlive a lease, so that those of a stopped
// node are taken over while they run.
func oftenLong(usual func() time.Duration, random *rand.Rand) func() time.Duration {
	return func() time.Duration {
		if random.IntN(12) == 0 {
			return 2 * clusterLease
		}
		return usual()
	}
}

// asIfNew is what a node answers to a repeat whose write had an unknown outcome:
// it can't tell the message of another node from its own.
const asIfNew = "Duplicate:false Outcome:queued}"

// rest waits until everything is answered.
func (w *world) rest(t *testing.T, n *node) {
	t.Helper()
	doubtful := 0
	for _, p := range w.people {
		switch {
		case strings.HasPrefix(p.problem, "a repeat of") && strings.HasSuffix(p.problem, asIfNew):
			doubtful++
		case p.problem != "":
			t.Error(p.problem)
		}
		w.caller.rests(t, n.url, p.bot, p.conversation)
	}
	t.Logf("%d repeats were answered as if they were new, after a commit without an answer", doubtful)
}

// read compares what the witnesses of each conversation say.
func (w *world) read(t *testing.T, n *node, belated map[string]bool) {
	t.Helper()
	acknowledged, replies, unknown := 0, 0, 0
	for _, p := range w.people {
		s := story{
			hold: p.hold, mayFinish: p.mayFinish, wrote: p.wrote, acknowledged: p.acknowledged,
			calls: w.model.of(p.bot, p.conversation), arrivals: w.receiver.of(p.bot, p.conversation),
			transcript: w.caller.read(t, n.url, p.bot, p.conversation), belated: belated,
		}
		for _, fault := range s.faults() {
			t.Errorf("%s/%s: %s", p.bot, p.conversation, fault)
		}
		acknowledged += len(s.acknowledged)
		for _, l := range s.transcript {
			if l.counts() {
				replies++
			}
			if l.Status == "unknown" {
				unknown++
			}
		}
	}
	t.Logf("%d messages acknowledged, %d replies of which %d are marked unknown", acknowledged, replies, unknown)
}

// judge looks for what only several nodes can do wrong.
func (c *cluster) judge(t testing.TB, people []*person, model *model, witness *witness, endings func(delivery) []ending) {
	t.Helper()
	paused, shared := 0, 0
	for _, p := range people {
		calls := model.of(p.bot, p.conversation)
		instances := map[string]bool{}
		for _, call := range calls {
			instances[call.instance] = true
		}
		if len(instances) > 1 {
			shared++
		}
		faults, tolerated := c.overlaps(calls)
		paused += tolerated
		for _, fault := range faults {
			t.Errorf("%s/%s: %s", p.bot, p.conversation, fault)
		}
	}
	if shared == 0 {
		t.Error("no conversation was answered by several instances: nothing was taken over")
	}
	witness.mu.Lock()
	defer witness.mu.Unlock()
	faults, unsure := c.repeats(witness.deliveries)
	for _, fault := range faults {
		t.Error(fault)
	}
	fenced, excused := c.fenced(witness.deliveries, endings)
	for _, fault := range fenced {
		t.Error(fault)
	}
	for _, fault := range c.noChance(witness.deliveries, excused) {
		t.Error(fault)
	}
	t.Logf("of %d of %d deliveries it is known who held the lease; %d from a process that was stopped in the instant of sending; "+
		"of %d the lease ended while they were under way, of %d more while this machine stood still",
		held(witness.deliveries), len(witness.deliveries), excused.instants, excused.crossed, excused.still)
	t.Logf("%d instances; %d of %d conversations had several; %d calls began beside one of a stopped process; %d of %d deliveries were repeats after an unknown outcome",
		c.instances, shared, len(people), paused, unsure, len(witness.deliveries))
}

// overlap is how long two calls of different instances may run at once: until the
// model learns that the first was ended.
const overlap = 500 * time.Millisecond

// overlaps finds calls of two instances for one conversation at once. It is no fault
// where the first of them was stopped or dead: it can't know.
func (c *cluster) overlaps(calls []modelCall) (faults []string, tolerated int) {
	for i, later := range calls {
		for _, earlier := range calls[:i] {
			switch {
			case earlier.instance == later.instance || earlier.ended.IsZero() || later.began.Add(overlap).After(earlier.ended):
			case c.stopped(earlier.instance, later.began, later.began.Add(overlap)):
				tolerated++
			default:
				faults = append(faults, fmt.Sprintf("call %d of instance %s began %v before the end of call %d of instance %s",
					later.number, later.instance, earlier.ended.Sub(later.began).Round(time.Millisecond), earlier.number, earlier.instance))
			}
		}
	}
	return faults, tolerated
}

// repeats finds deliveries that were made again although one before had been
// taken, the answer came in time, and its sender was well: it knew, and told the
// store, so that whoever sends after that is fenced. Whether the answer came in
// time is counted from when the request was made: where this machine stood still,
// that was before it was seen here.
func (c *cluster) repeats(deliveries []delivery) (faults []string, unsure int) {
	ordered := slices.Clone(deliveries)
	slices.SortFunc(ordered, func(a, b delivery) int { return a.at.Compare(b.at) })
	taken := map[string][]delivery{}
	for _, d := range ordered {
		if len(taken[d.id]) > 0 {
			unsure++
		}
		for _, before := range taken[d.id] {
			took := before.after + c.lateBy(before.at.Add(-sendTimeout), before.at.Add(sendTimeout))
			if took < sendTimeout/2+sendTimeout/4 && !c.disturbed(before.instance, before.at.Add(-clusterLease), d.at) {
				faults = append(faults, fmt.Sprintf("delivery %s came again from instance %s %v after instance %s had it taken in %v",
					d.id, d.instance, d.at.Sub(before.at).Round(time.Millisecond), before.instance, before.after.Round(time.Millisecond)))
			}
		}
		if d.status == 204 {
			taken[d.id] = append(taken[d.id], d)
		}
	}
	return faults, unsure
}

// underway is how long a request takes from its sender to where this process
// notes it, where the machine does not stand still; and more than a node mistakes
// the time of the store by.
const underway = 50 * time.Millisecond

// excuses are how many deliveries came without the lease, and why that is no fault.
type excuses struct {
	instants int // their process was stopped in the instant of sending
	crossed  int // the lease ended while they were under way
	still    int // as well, and this machine stood still meanwhile
}

// fenced finds deliveries whose sender did not hold the lease. A process that is
// stopped after it looked at its lease and before its request is on its way
// can't know better, and no receiver can be made to: these are counted, and
// must stay as rare as that instant is short.
//
// Who holds the lease is asked after the request has arrived. Its sender may have
// waited for the answer in vain by then, and have given the lease back, or have
// lost it: so it is no fault where the conversation's timeline has the end of its
// lease between the request and what the store said. These are counted too. One
// that was sent under a lease that was over is a fault, as that end lies before;
// and so is one that was sent without a lease, whenever the lease of another ends.
func (c *cluster) fenced(deliveries []delivery, endings func(delivery) []ending) (faults []string, excused excuses) {
	holders := seenHolders(deliveries)
	for _, d := range deliveries {
		if d.holder == "" || d.holder == "node-"+d.instance {
			continue
		}
		if c.instant(d) {
			excused.instants++
			continue
		}
		made := d.at.Add(-underway - c.lateBy(d.at.Add(-clusterLease), d.at))
		ends := endings(d)
		if slices.ContainsFunc(ends, func(e ending) bool {
			meanwhile := e.at.After(made) && e.at.Before(d.told.Add(underway))
			return meanwhile && d.mayEndWith(e, holders)
		}) {
			if c.lateBy(d.at.Add(-clusterLease), d.told) >= sendTimeout/4 {
				excused.still++
			} else {
				excused.crossed++
			}
			continue
		}
		faults = append(faults, fmt.Sprintf("delivery %s came from instance %s while %s had the lease, as the store said %v after it was made at the earliest; leases of the reply ended: %s",
			d.id, d.instance, d.holder, d.told.Sub(made).Round(time.Millisecond), since(made, ends)))
	}
	return faults, excused
}

// instant reports whether a delivery came without the lease, from a process that was
// stopped shortly before.
func (c *cluster) instant(d delivery) bool {
	return d.holder != "node-"+d.instance && c.stopped(d.instance, d.at.Add(-clusterLease), d.at)
}

// belated are the deliveries of such processes.
func (c *cluster) belated(w *witness) map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := map[string]bool{}
	for _, d := range w.deliveries {
		if c.instant(d) {
			late[d.id] = true
		}
	}
	return late
}

// leaseOf names a lease of a conversation.
type leaseOf struct {
	bot, conversation string
	token             int64
}

// seenHolders are those whom deliveries found to have a lease.
func seenHolders(deliveries []delivery) map[leaseOf]string {
	seen := map[leaseOf]string{}
	for _, d := range deliveries {
		if d.token != 0 {
			seen[leaseOf{d.bot, d.conversation, d.token}] = d.holder
		}
	}
	return seen
}

// mayEndWith reports whether it can be the lease of a delivery's sender that ended.
// One of which nobody says whose it was may be that of whoever has the lease now.
func (d *delivery) mayEndWith(e ending, holders map[leaseOf]string) bool {
	switch cmp.Or(e.instance, holders[leaseOf{d.bot, d.conversation, e.token}]) {
	case "node-" + d.instance:
		return true
	case "":
		return d.holder == nobody
	}
	return false
}

// noChance finds that what [cluster.fenced] excuses, or can't judge, is too frequent for
// that. A lease ends while a delivery is under way only where this machine stood still
// just then: otherwise the receiver answers, and the store too, long before a sender
// gives up.
func (c *cluster) noChance(deliveries []delivery, excused excuses) (faults []string) {
	if stops := c.stops(); excused.instants > 1+stops/20 {
		faults = append(faults, fmt.Sprintf("%d deliveries came from a process that was stopped and had lost its lease, in %d stops: that is no chance", excused.instants, stops))
	}
	if excused.crossed > 1 {
		faults = append(faults, fmt.Sprintf("of %d deliveries the lease ended while they were under way, and this machine did not stand still: that is no chance", excused.crossed))
	}
	if judged := held(deliveries); 2*judged < len(deliveries) {
		faults = append(faults, fmt.Sprintf("of only %d of %d deliveries it is known who held the lease: too few to judge", judged, len(deliveries)))
	}
	return faults
}

// since shows endings by their time from a moment on.
func since(made time.Time, ends []ending) string {
	var all []string
	for _, e := range ends {
		all = append(all, fmt.Sprintf("%v %s %s", e.at.Sub(made).Round(time.Millisecond), e.kind, e.instance))
	}
	return strings.Join(all, ", ")
}

// held is of how many deliveries it is known who held the lease.
func held(deliveries []delivery) (known int) {
	for _, d := range deliveries {
		if d.holder != "" {
			known++
		}
	}
	return known
}

// stops is how often a process stood still.
func (c *cluster) stops() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := 0
	for _, t := range c.disturbances {
		if t.stopped {
			count++
		}
	}
	return count
}

// TestTheJudgeOfNodesNoticesFaults gives it one of each.
func TestTheJudgeOfNodesNoticesFaults(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	calls := []modelCall{
		{number: 1, instance: "1", began: at(0), ended: at(5)},
		{number: 2, instance: "2", began: at(3), ended: at(4)},
	}
	deliveries := []delivery{
		{arrival: arrival{id: "r"}, instance: "1", at: at(1), status: 204, holder: "node-1"},
		{arrival: arrival{id: "r"}, instance: "2", at: at(9), status: 204, holder: "node-3", told: at(9.2)},
		{arrival: arrival{id: "s"}, instance: "1", at: at(1), status: 500},
		{arrival: arrival{id: "s"}, instance: "1", at: at(2), status: 204},
	}
	ends := map[string]ending{
		"long before it": {"lease.lost", 2, "node-2", at(8)}, "as it came": {"lease.lost", 2, "node-2", at(8.99)},
		"of another": {"lease.lost", 1, "node-1", at(8.99)}, "by its sender": {"part.unknown", 2, "node-2", at(9.1)},
	}
	tests := map[string]struct {
		disturbances     []disturbance
		overlap, repeats int
		fenced           int
		end              string
		late             [2]float64
	}{
		"all is well":         {nil, 1, 1, 1, "", [2]float64{}},
		"the first stopped":   {[]disturbance{{"1", true, at(1.1), at(6)}}, 0, 0, 1, "", [2]float64{}},
		"another one stopped": {[]disturbance{{"2", true, at(1.1), at(6)}}, 1, 1, 1, "", [2]float64{}},
		"the first cut off":   {[]disturbance{{"1", false, at(1.1), at(6)}}, 1, 0, 1, "", [2]float64{}},
		"the store was away":  {[]disturbance{{"", false, at(1.1), at(6)}}, 1, 0, 1, "", [2]float64{}},
		"long before":         {[]disturbance{{"1", true, at(-9), at(-8)}}, 1, 1, 1, "", [2]float64{}},
		"just before":         {[]disturbance{{"2", true, at(4), at(8.9)}}, 1, 1, 0, "", [2]float64{}},

		"its lease was over":      {nil, 1, 1, 1, "long before it", [2]float64{}},
		"its lease ended then":    {nil, 1, 1, 0, "as it came", [2]float64{}},
		"another's lease ended":   {nil, 1, 1, 1, "of another", [2]float64{}},
		"it gave the lease back":  {nil, 1, 1, 0, "by its sender", [2]float64{}},
		"this machine was late":   {nil, 1, 1, 0, "long before it", [2]float64{7.8, 8.95}},
		"it was late much before": {nil, 1, 1, 1, "long before it", [2]float64{4, 5.5}},
		"the answer was late":     {nil, 1, 0, 1, "", [2]float64{0.3, 1.1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &cluster{disturbances: test.disturbances, late: [][2]time.Time{{at(test.late[0]), at(test.late[1])}}}
			overlaps, _ := c.overlaps(calls)
			repeats, _ := c.repeats(deliveries)
			fenced, _ := c.fenced(deliveries, func(delivery) []ending { return []ending{ends[test.end]} })
			if len(overlaps) != test.overlap || len(repeats) != test.repeats || len(fenced) != test.fenced {
				t.Errorf("found %q, %q and %q, want %d, %d and %d", overlaps, repeats, fenced, test.overlap, test.repeats, test.fenced)
			}
		})
	}

	// At 9 s instance 1 delivers, without a lease unless the case says otherwise; it was
	// well. The leases that the witness sees are those of instance 2, but for "nobody".
	leases := map[string]struct {
		holder          string // when it came
		ends            []ending
		seen            []delivery // besides
		fenced, crossed int
		late            [2]float64
		excused         bool
	}{
		"the holder delivers after it": {
			holder: "node-2", ends: []ending{{"reply.sent", 2, "", at(9.5)}}, fenced: 1,
			seen: []delivery{{arrival: arrival{id: "r"}, instance: "2", at: at(9.3), holder: "node-2", token: 2, told: at(9.3)}},
		},
		"the holder delivers ten minutes after it":        {holder: "node-2", ends: []ending{{"reply.sent", 2, "node-2", at(609)}}, fenced: 1},
		"nobody holds it, and it is sent after that":      {holder: nobody, ends: []ending{{"reply.sent", 2, "", at(9.5)}}, fenced: 1},
		"the sender itself takes it after that, and ends": {holder: nobody, ends: []ending{{"part.failed", 3, "node-1", at(9.5)}}, fenced: 1},
		"the holder gives it back meanwhile":              {holder: nobody, ends: []ending{{"part.failed", 2, "node-2", at(9.1)}}, fenced: 1},
		"the witness saw that holder": {
			holder: nobody, ends: []ending{{"part.failed", 2, "", at(9.1)}}, fenced: 1,
			seen: []delivery{{arrival: arrival{id: "r"}, instance: "2", at: at(8.9), holder: "node-2", token: 2, told: at(8.9)}},
		},
		"somebody gives it back meanwhile, and another has it": {holder: "node-2", ends: []ending{{"part.failed", 1, "", at(9.1)}}, fenced: 1},

		"the sender gives it back meanwhile":                      {holder: nobody, ends: []ending{{"part.unknown", 1, "node-1", at(9.1)}}, crossed: 1},
		"the sender gives it back meanwhile, and another has it":  {holder: "node-2", ends: []ending{{"part.unknown", 1, "node-1", at(9.1)}}, crossed: 1},
		"the sender gives it back as the store is asked":          {holder: nobody, ends: []ending{{"part.unknown", 1, "node-1", at(9.21)}}, crossed: 1},
		"somebody gives it back meanwhile, and nobody has it":     {holder: nobody, ends: []ending{{"part.unknown", 1, "", at(9.1)}}, crossed: 1},
		"the sender lost it before that, and then a third had it": {holder: "node-2", ends: []ending{{"lease.lost", 1, "node-1", at(8.8)}}, fenced: 1},
		"the witness saw the sender hold it": {
			holder: "node-2", ends: []ending{{"part.unknown", 1, "", at(9.1)}}, crossed: 1,
			seen: []delivery{{arrival: arrival{id: "q"}, instance: "1", at: at(8.5), holder: "node-1", token: 1, told: at(8.5)}},
		},

		"it ended on a machine that stood still":       {holder: nobody, ends: []ending{{"part.unknown", 1, "node-1", at(9.1)}}, late: [2]float64{8.7, 8.95}, excused: true},
		"it ended on one that stood still for a bit":   {holder: nobody, ends: []ending{{"part.unknown", 1, "node-1", at(9.1)}}, late: [2]float64{8.75, 8.95}, crossed: 1},
		"it ended on one that stood still before that": {holder: nobody, ends: []ending{{"part.unknown", 1, "node-1", at(9.1)}}, late: [2]float64{5, 6.9}, crossed: 1},
		"it ended on one that stood still after that":  {holder: nobody, ends: []ending{{"part.unknown", 1, "node-1", at(9.1)}}, late: [2]float64{9.3, 12}, crossed: 1},
	}
	for name, test := range map[string]struct {
		stops, judged, of int
		excuses           excuses
		faults            int
	}{
		"one of each":                        {1, 10, 10, excuses{instants: 1, crossed: 1}, 0},
		"stopped in the instant, twice":      {19, 10, 10, excuses{instants: 2}, 1},
		"twice in many stops":                {20, 10, 10, excuses{instants: 2}, 0},
		"crossed twice on a machine at work": {20, 10, 10, excuses{crossed: 2}, 1},
		"crossed often where it stood still": {20, 10, 10, excuses{crossed: 1, still: 9}, 0},
		"half of the holders known":          {20, 5, 10, excuses{}, 0},
		"fewer than half":                    {20, 4, 10, excuses{}, 1},
		"none delivered":                     {20, 0, 0, excuses{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{}
			for range test.stops {
				c.disturbances = append(c.disturbances, disturbance{"1", true, at(0), at(6)})
			}
			deliveries := make([]delivery, test.of)
			for i := range test.judged {
				deliveries[i].holder = nobody
			}
			if faults := c.noChance(deliveries, test.excuses); len(faults) != test.faults {
				t.Errorf("found %q, want %d", faults, test.faults)
			}
		})
	}
	for name, test := range leases {
		t.Run(name, func(t *testing.T) {
			late := delivery{arrival: arrival{id: "r"}, instance: "1", at: at(9), holder: test.holder, told: at(9.2)}
			c := &cluster{late: [][2]time.Time{{at(test.late[0]), at(test.late[1])}}}
			fenced, excused := c.fenced(append(test.seen, late), func(delivery) []ending { return test.ends })
			want := excuses{crossed: test.crossed}
			if test.excused {
				want.still = 1
			}
			if len(fenced) != test.fenced || excused != want {
				t.Errorf("found %q, and %+v, want %d and %+v", fenced, excused, test.fenced, want)
			}
		})
	}
}

// TestEndingsOfATimeline: whose lease an ending ended is told by the step that
// began the lease, or by the one that tells of its loss.
func TestEndingsOfATimeline(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	steps := []leaseStep{
		{Type: "turn.started", Node: "node-1", Token: 5, At: at},
		{Type: "part.unknown", Token: 5, At: at, ReplyID: "r"},
		{Type: "lease.lost", Node: "node-2", Token: 6, At: at, ReplyID: "r"},
		{Type: "part.sent", Token: 7, At: at, ReplyID: "r"},
		{Type: "reply.failed", Token: 7, At: at, ReplyID: "r"},
		{Type: "reply.sent", Token: 8, At: at, ReplyID: "another"},
	}
	want := []ending{{"part.unknown", 5, "node-1", at}, {"lease.lost", 6, "node-2", at}, {"reply.failed", 7, "", at}}
	if got := endingsOf("r", steps); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
