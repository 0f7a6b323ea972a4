package simulate

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// start is when every simulation begins, by the store's clock.
var start = turn.At(time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC))

// mostEvents bounds a run: a node that asks to be woken without end is found
// out by it.
const mostEvents = 400_000

// world is one run under way.
type world struct {
	*Plan
	timeline
	store    *memory.Store
	nodes    []*node
	ledger   *ledger
	platform platform
	aims     map[store.Key][]Event
	past     map[store.Key][]store.Snapshot // records that writes replaced, oldest first
	active   []activeFault
	calm     bool // people have gone and nothing breaks any more
	counts   map[What]int
	trace    io.Writer // nil: nobody reads along
	broken   *Violation
	seeded   seededFault
}

// activeFault is a fault while it lasts.
type activeFault struct {
	what  What
	node  int
	until turn.Time
}

// Violation is a broken promise.
type Violation struct {
	Check string // which check saw it
	Text  string
	At    time.Duration // since the start
	site  string        // where in the code
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%s: %s (at %.3fs)", v.Check, v.Text, v.At.Seconds())
}

func newWorld(p *Plan, v seededFault, trace io.Writer) *world {
	w := &world{
		Plan: p, timeline: timeline{now: start}, store: memory.New(), aims: map[store.Key][]Event{}, past: map[store.Key][]store.Snapshot{},
		counts: map[What]int{}, trace: trace, seeded: v,
	}
	w.ledger = newLedger(w)
	for i := range p.nodes {
		w.nodes = append(w.nodes, &node{world: w, index: i, name: fmt.Sprintf("node%d", i+1)})
	}
	return w
}

// play runs the plan to its end.
func (w *world) play() {
	for _, n := range w.nodes {
		n.boot()
	}
	for _, e := range w.Events {
		w.at(start.Add(e.At), func() { w.happen(e) })
	}
	w.at(start.Add(w.end), w.becomeCalm)
	defer w.stop()
	for count := 0; w.broken == nil && !(w.calm && w.atRest()); count++ {
		if count == mostEvents {
			w.fail("P3 rest", "the nodes are busy without end")
			return
		}
		w.step()
	}
	w.verdict()
}

// stop ends the procedures that wait for calls of processes that are gone.
func (w *world) stop() {
	for _, n := range w.nodes {
		for _, stop := range n.stops {
			stop()
		}
	}
}

// becomeCalm ends all faults. From here on everything must come to rest.
func (w *world) becomeCalm() {
	w.log("world", "people have gone, and nothing breaks any more")
	w.calm, w.active = true, nil
	w.aims = map[store.Key][]Event{}
	w.raiseBudget()
	for _, n := range w.nodes {
		n.heal()
	}
	w.at(w.now.Add(w.restBound()), func() { w.failRest() })
}

// restBound is how long it may take until all is at rest: the longest
// back-off, then each turn that can still follow, and the leases of those
// that were lost.
func (w *world) restBound() time.Duration {
	p := w.policy
	window := max(p.MaxWait, p.MediaWait, 2*p.Debounce) + claimed
	attempt := w.timeout + returnGrace + p.Lease
	attempts := time.Duration(p.MaxAttempts + p.MaxDiscards + p.EarlyAttempts + 1 + 2) // two to end a search for a refused message
	sends := time.Duration(w.parts*(w.conversations+w.toBeFreed())+10) * (w.sendTimeout + p.Lease)
	lone := time.Duration(w.conversations) * (time.Minute + attempt)
	return 2*time.Minute + lone + w.longestBackoff() + time.Duration(2*w.ledger.queueing())*(window+attempt*attempts) + sends + 3*p.RetryFor // twice for what operators have sent again
}

// claimed is longer than a claim keeps a timer from others.
const claimed = 6 * time.Second

// isActive reports whether a fault is under way for a node.
func (w *world) isActive(what What, node int) bool {
	for _, s := range w.active {
		if s.what == what && w.now < s.until && (s.node == node || !faultKinds[what].ofNode) {
			return true
		}
	}
	return false
}

// strikes reports whether a fault that is under way hits this one thing,
// and counts it if so.
func (w *world) strikes(what What, node int, d *dice, percent int) bool {
	if !w.isActive(what, node) || !d.chance(percent) {
		return false
	}
	w.count(what)
	return true
}

func (w *world) count(what What) { w.counts[what]++ }

// fail notes a broken promise; the first one counts.
func (w *world) fail(check, format string, arguments ...any) {
	if w.broken == nil {
		_, file, line, _ := runtime.Caller(1)
		w.broken = &Violation{
			Check: check, Text: fmt.Sprintf(format, arguments...), At: w.now.Sub(start), site: fmt.Sprintf("%s:%d", filepath.Base(file), line),
		}
		w.log("ledger", "%s: %s", check, w.broken.Text)
	}
}

// log writes a line of the transcript.
func (w *world) log(who, format string, arguments ...any) {
	if w.trace == nil {
		return
	}
	fmt.Fprintf(w.trace, "%8.3fs  %-7s %s\n", w.now.Sub(start).Seconds(), who, fmt.Sprintf(format, arguments...))
}

// happen carries out an event of the plan.
func (w *world) happen(e Event) {
	if _, ok := faultKinds[e.What]; ok {
		w.beginFault(e)
		return
	}
	if e.Aim != "" {
		key := w.key(e.Conversation)
		w.aims[key] = append(w.aims[key], e)
		return
	}
	w.ask(e)
}

// beginFault starts a fault of the plan.
func (w *world) beginFault(e Event) {
	n := w.nodes[e.Node%len(w.nodes)]
	text, until := faultKinds[e.What].text, w.now.Add(e.For)
	w.log("world", "%s: %s", e.What, text)
	switch e.What {
	case crash:
		n.crash(e.For)
	case freeze:
		n.freeze(e.For)
	case drain:
		n.drain(e.For)
	case clockSteps:
		n.measure(e.ID)
	default:
		w.active = append(w.active, activeFault{e.What, n.index, until})
	}
}

// bots is what every node is told. Once people have gone, the budget is raised.
func (w *world) bots() map[string]engine.Bot {
	bot := w.bot()
	if w.calm && bot.Policy.Daily.Calls > 0 {
		bot.Policy.Daily.Calls = 1_000_000
	}
	if w.seeded.flaws.promptUnbounded {
		bot.Policy.PromptBytes = 0
	}
	return map[string]engine.Bot{botName: bot}
}

// raiseBudget has the nodes go on with what waits for another day.
func (w *world) raiseBudget() {
	for _, n := range w.nodes {
		if n.up() {
			n.engine.ChangeBot(botName, func(b *engine.Bot) { *b = w.bots()[botName] })
		}
	}
}
