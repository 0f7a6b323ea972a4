package simulate

import (
	"encoding/binary"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// node is a process: the runtime around an [engine.Node], as internal/node
// is in earnest.
type node struct {
	*world
	index    int
	name     string
	life     int // which start of the process this is; what belongs to an earlier one is void
	engine   *engine.Node
	frozen   bool
	inbox    []func() // what arrived while frozen
	offset   time.Duration
	rush     turn.Time              // up to here its way to the store takes no time
	hinted   map[store.Key]store.Op // the record that the last conflict named
	writes   uint64                 // ids of writes given out in this life
	random   *dice
	running  map[string]*work // by nonce: what runs for it in the outside world
	waiting  []*ask           // requests that were not answered yet
	stops    []func()         // end the procedures of all its lives
	bootedAt turn.Time        // when this life began
	calls    []*call          // of the model, in this life: those that run, and some that have ended
	told     turn.Time        // the end of the pauses that the receiver asked of the whole bot
	tickAt   turn.Time        // the tick that is planned, 0: none
	poller   *poller          // of this life
}

// boot starts the process.
func (n *node) boot() {
	n.life++
	n.offset = n.drawClockError("clock", int64(n.life))
	n.random = roll(n.Seed, "jitter", int64(n.index), int64(n.life))
	n.writes, n.running, n.waiting, n.told, n.tickAt, n.frozen = 0, map[string]*work{}, nil, 0, 0, false
	n.hinted = map[store.Key]store.Op{}
	n.bootedAt, n.calls = n.now, nil
	n.engine = engine.New(engine.Options{
		Name: n.name, Bots: n.bots(), MaxGenerations: n.generations, Alone: n.alone,
		NewOp: n.newOp, Step: n.seeded.wrap(turn.Step), Random: n.random.next,
	})
	n.log(n.name, "starts")
	n.enter(func(now turn.Time) {
		if n.seeded.flaws.calmAtOnce {
			now = now.Add(-time.Minute)
		}
		n.engine.Start(now)
	})
	n.poller = &poller{node: n, life: n.life}
	if n.polled {
		n.poller.ask()
	}
}

// drawClockError draws how far the node is off the store's clock.
func (n *node) drawClockError(purpose string, number int64) time.Duration {
	return roll(n.Seed, purpose, int64(n.index), number).span(-clockError*time.Millisecond, clockError*time.Millisecond)
}

// measure asks the store for its time again, as each process does now and then.
// Its clock steps by that, also back.
func (n *node) measure(event int) {
	n.offset = n.drawClockError("clock step", int64(event))
	n.count(clockSteps)
	n.log(n.name, "is off by %v from here on", n.offset)
}

// newOp is unique among all nodes and lives.
func (n *node) newOp() (op store.Op) {
	n.writes++
	op[0], op[1] = byte(n.index+1), byte(n.life)
	binary.BigEndian.PutUint64(op[8:], n.writes)
	return op
}

// clock is the store's clock as this node knows it.
func (n *node) clock() turn.Time {
	if n.seeded.flaws.wallClock {
		return n.now.Add(n.offset + roll(n.Seed, "wall", int64(n.index)).span(-time.Hour, time.Hour))
	}
	return n.now.Add(n.offset)
}

// up reports whether the process runs at all, frozen or not.
func (n *node) up() bool { return n.engine != nil }

// enter has the engine take something in, now.
func (n *node) enter(f func(now turn.Time)) {
	f(n.clock())
	n.settle()
}

// tell hands something over that began in a life: it is lost with that life,
// and waits while the process stands still.
func (n *node) tell(life int, f func(now turn.Time)) {
	switch {
	case n.life != life || !n.up():
	case n.frozen:
		n.inbox = append(n.inbox, func() { n.tellThawed(life, f) })
	default:
		n.enter(f)
	}
}

func (n *node) tellThawed(life int, f func(now turn.Time)) {
	if n.life == life && n.up() {
		f(n.clock())
	}
}

// settle does what the loop of internal/node does after each batch.
func (n *node) settle() {
	if !n.up() {
		return
	}
	if next := n.engine.NextTick(); next != 0 && next <= n.clock() {
		n.engine.Tick(n.clock())
	}
	for _, output := range n.engine.Take() {
		n.carry(output)
	}
	n.planTick()
}

// planTick has the node woken when it wants to be.
func (n *node) planTick() {
	if !n.up() {
		return
	}
	next := n.engine.NextTick()
	if next == 0 {
		return
	}
	at := max(n.now.Add(next.Sub(n.clock())), n.now)
	if n.seeded.flaws.ticksWithoutEnd {
		at = n.now
	}
	if n.seeded.flaws.ticksLate && n.tickAt == 0 {
		at = at.Add(time.Minute)
	}
	if n.tickAt != 0 && n.tickAt <= at && n.tickAt >= n.now {
		return
	}
	n.tickAt = at
	life := n.life
	n.at(at, func() {
		if n.life == life && n.tickAt == at {
			n.tickAt = 0
			n.tell(life, func(turn.Time) {})
		}
	})
}

// carry carries out what the engine asks for.
func (n *node) carry(output engine.Output) {
	switch o := output.(type) {
	case engine.Answer:
		if n.seeded.flaws.answersLost && o.Result.Duplicate {
			return
		}
		if hear, ok := o.Ticket.(func(engine.Result)); ok {
			hear(o.Result)
			return
		}
		n.answered(o.Ticket.(*ask), o.Result)
	case engine.Commit:
		n.commit(*o.Write)
	case engine.Load:
		n.load(o)
	case engine.Delete:
		n.remove(o)
	case engine.Claim:
		n.claim(o)
	case engine.Recover:
		n.recover(o)
	case engine.ReadPrompt:
		n.readPrompt(o)
	case engine.Start:
		n.startModel(o)
	case engine.Send:
		n.startSend(o)
	case engine.Stop:
		n.stopWork(o.Nonce)
	case engine.Hint:
		n.hint(o.Key)
	case engine.Tell:
		n.ledger.event(*o.Event)
	case engine.Show:
		n.ledger.shows(n, o)
	}
}

// crash kills the process, which is started again after a while. What it had
// under way in the outside world goes on there, unheard.
func (n *node) crash(down time.Duration) {
	if !n.up() {
		return
	}
	n.count(crash)
	n.ledger.sums.Crashes++
	n.die(down)
}

func (n *node) die(down time.Duration) {
	n.log(n.name, "dies")
	n.engine, n.frozen, n.inbox, n.tickAt = nil, false, nil, 0
	for _, w := range n.running {
		w.orphan()
	}
	n.running = map[string]*work{}
	for _, a := range n.waiting {
		a.lost = true
		n.ledger.mayHappenUntil(a, n.now.Add(storeTimeout)) // its write may be on its way
	}
	life := n.life
	n.after(down, func() {
		if n.life == life && !n.up() {
			n.boot()
		}
	})
}

// freeze stops the process for a while: what it had under way goes on, and
// whatever comes in waits.
func (n *node) freeze(d time.Duration) {
	if !n.up() || n.frozen {
		return
	}
	n.count(freeze)
	n.log(n.name, "stands still for %v", d)
	n.frozen = true
	life := n.life
	n.after(d, func() { n.thaw(life) })
}

func (n *node) thaw(life int) {
	if n.life != life || !n.frozen {
		return
	}
	n.log(n.name, "goes on")
	n.frozen = false
	inbox := n.inbox
	n.inbox = nil
	for _, f := range inbox {
		f()
	}
	n.settle()
}

// drain ends the process in order: it takes no turns any more, gives its
// leases back after a while, and is started again.
func (n *node) drain(waitLimit time.Duration) {
	if !n.up() || n.frozen {
		return
	}
	n.count(drain)
	n.log(n.name, "drains")
	n.poller.close()
	n.enter(func(now turn.Time) { n.engine.Drain(now) })
	life := n.life
	n.after(waitLimit, func() {
		n.tell(life, func(now turn.Time) {
			n.log(n.name, "gives its leases back")
			n.engine.HandBack(now)
		})
	})
	n.after(waitLimit+3*time.Second, func() {
		if n.life == life && n.up() {
			n.die(time.Second)
		}
	})
}

// heal ends what is wrong with the process.
func (n *node) heal() {
	n.thaw(n.life)
	if !n.up() {
		n.boot()
	}
}
