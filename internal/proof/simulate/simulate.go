package simulate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/engine"
)

// Options say what to simulate. The zero value is one run of seed 0 with all
// faults.
type Options struct {
	Seed     uint64      // of the first run; each run after it has the next one
	Runs     int         // default 1
	Nodes    int         // in each run; 0: 1 to 3, drawn
	Faults   []string    // kinds that may happen, of [FaultNames]; nil: all; empty: none
	Step     engine.Step // nil: turn.Step; the proof puts faults in here
	Progress io.Writer   // nil: none. What is written to it depends on the machine
	Lines    bool        // progress is a line now and then, for what is no terminal, and not a bar that moves
	Trace    io.Writer   // nil: none. The transcript of every run
	seeded   seededFault
}

func (o Options) allowed() []What {
	if o.Faults == nil {
		o.Faults = FaultNames()
	}
	var allowed []What
	for _, name := range o.Faults {
		allowed = append(allowed, What(name))
	}
	return allowed
}

func (o Options) validate() error {
	for _, name := range o.Faults {
		if _, ok := faultKinds[What(name)]; !ok {
			return fmt.Errorf("there is no fault %q; there are %s", name, strings.Join(FaultNames(), ", "))
		}
	}
	if o.Nodes < 0 || o.Nodes > 9 {
		return fmt.Errorf("the number of nodes must be 1 to 9, or 0 for any; it is %d", o.Nodes)
	}
	return nil
}

// Report says what was simulated. It depends on the options alone.
type Report struct {
	Seed    uint64      `json:"seed"`
	Runs    int         `json:"runs"`
	Totals  Totals      `json:"totals"`
	Waits   Waits       `json:"wait_milliseconds"`
	Faults  []FaultDone `json:"faults"`
	Failure *Failure    `json:"failure,omitempty"` // nil: the promise held
}

// LongRun is how many runs are enough for each kind of fault to happen.
const LongRun = 10_000

// Missing are the kinds of fault that never happened. It is empty for fewer runs
// than [LongRun].
func (r Report) Missing() []string {
	var names []string
	for _, f := range r.Faults {
		if f.Count == 0 && r.Runs >= LongRun {
			names = append(names, f.Fault)
		}
	}
	return names
}

// Totals of all runs.
type Totals struct {
	Inputs     int `json:"messages"`
	Turns      int `json:"turns"`
	Replies    int `json:"replies"` // of the model, that a person saw
	Discards   int `json:"discards"`
	Crashes    int `json:"crashes"` // of processes
	ModelCalls int `json:"model_calls"`
}

// Waits are percentiles of the virtual time from the first message that a
// reply answers to the moment at which the person saw it.
type Waits struct {
	P50 int `json:"p50"`
	P95 int `json:"p95"`
	P99 int `json:"p99"`
	Max int `json:"max"`
}

// FaultDone says how often a kind of fault really happened.
type FaultDone struct {
	Fault string `json:"fault"`
	Count int    `json:"count"`
}

// Failure is a run in which the promise was broken, cut down to what is needed
// to break it.
type Failure struct {
	Seed       uint64 `json:"seed"`
	Check      string `json:"check"`
	Text       string `json:"text"`
	Plan       string `json:"plan"` // the events that are left
	Events     int    `json:"events"`
	Transcript string `json:"transcript"`
}

func (f *Failure) Error() string {
	return fmt.Sprintf("seed %d breaks the promise: %s: %s\n\n%s\n%s", f.Seed, f.Check, f.Text, f.Plan, f.Transcript)
}

// Run simulates. It returns an error where the options are wrong or ctx ends,
// and a report with a Failure where the promise was broken.
func Run(ctx context.Context, o Options) (Report, error) {
	if err := o.validate(); err != nil {
		return Report{}, err
	}
	o.Runs = max(o.Runs, 1)
	if o.Step != nil {
		o.seeded.name, o.seeded.step = "given", func(engine.Step) engine.Step { return o.Step }
	}
	r := Report{Seed: o.Seed}
	all := newTally()
	meter := newMeter(o)
	for o.Runs > r.Runs {
		if ctx.Err() != nil {
			return r, fmt.Errorf("stopped after %d of %d runs: %w", r.Runs, o.Runs, context.Cause(ctx))
		}
		for _, w := range o.some(r.Runs) {
			r.Runs++
			all.add(w)
			if o.Trace != nil {
				fmt.Fprintf(o.Trace, "%s%s\n", w.Plan, w.trace)
			}
			if w.broken != nil {
				meter.end()
				r.Failure = o.reduce(w)
				all.fill(&r)
				return r, nil
			}
		}
		meter.show(r.Runs)
	}
	meter.end()
	all.fill(&r)
	return r, nil
}

// some plays the next few runs at once, one thread each, and gives them in
// the order of their seeds.
func (o Options) some(first int) []*world {
	worlds := make([]*world, min(o.Runs-first, 64))
	var group sync.WaitGroup
	next := make(chan int)
	for range min(runtime.GOMAXPROCS(0), len(worlds)) {
		group.Go(func() {
			for i := range next {
				worlds[i] = o.playSeed(o.Seed + uint64(first+i))
			}
		})
	}
	for i := range worlds {
		next <- i
	}
	close(next)
	group.Wait()
	return worlds
}

func (o Options) playSeed(seed uint64) *world {
	var trace io.Writer
	if o.Trace != nil {
		trace = &bytes.Buffer{}
	}
	w := newWorld(newPlan(seed, o), o.seeded, trace)
	w.play()
	return w
}

// tally adds runs up.
type tally struct {
	totals Totals
	faults map[What]int
	waits  map[int]int // by milliseconds
}

func newTally() *tally { return &tally{faults: map[What]int{}, waits: map[int]int{}} }

func (t *tally) add(w *world) {
	s := w.ledger.sums
	t.totals.Inputs += s.Inputs
	t.totals.Turns += s.Turns
	t.totals.Crashes += s.Crashes
	t.totals.Replies += s.Replies
	t.totals.Discards += s.Discards
	t.totals.ModelCalls += s.ModelCalls
	for _, wait := range s.Waits {
		t.waits[wait]++
	}
	for what, count := range w.counts {
		t.faults[what] += count
	}
}

func (t *tally) fill(r *Report) {
	r.Totals = t.totals
	r.Waits = percentiles(t.waits)
	for _, what := range counted() {
		r.Faults = append(r.Faults, FaultDone{string(what), t.faults[what]})
	}
}

func percentiles(counts map[int]int) Waits {
	type bucket struct{ value, count int }
	var all []bucket
	total := 0
	for value, count := range counts {
		all = append(all, bucket{value, count})
		total += count
	}
	slices.SortFunc(all, func(a, b bucket) int { return cmp.Compare(a.value, b.value) })
	at := func(percent int) int {
		seen := 0
		for _, b := range all {
			if seen += b.count; seen*100 >= total*percent {
				return b.value
			}
		}
		return 0
	}
	return Waits{P50: at(50), P95: at(95), P99: at(99), Max: at(100)}
}

// How often progress is shown, as a bar and as lines.
const (
	barEvery  = 200 * time.Millisecond
	lineEvery = 15 * time.Second
)

// meter is the progress bar.
type meter struct {
	out   io.Writer
	lines bool
	runs  int
	began time.Time
	shown time.Time
}

func newMeter(o Options) *meter {
	return &meter{out: o.Progress, lines: o.Lines, runs: o.Runs, began: time.Now(), shown: time.Now()}
}

func (m *meter) show(done int) {
	every := barEvery
	if m.lines {
		every = lineEvery
	}
	if m.out == nil || time.Since(m.shown) < every && done < m.runs {
		return
	}
	m.shown = time.Now()
	rate := float64(done) / max(time.Since(m.began).Seconds(), 1e-9)
	text := fmt.Sprintf("%d of %d runs, %.0f a second", done, m.runs, rate)
	if m.lines {
		fmt.Fprintln(m.out, text)
		return
	}
	const width = 30
	filled := width * done / m.runs
	fmt.Fprintf(m.out, "\r[%s%s] %s ", strings.Repeat("=", filled), strings.Repeat(" ", width-filled), text)
}

// end leaves the line of the bar.
func (m *meter) end() {
	if m.out != nil && !m.lines {
		fmt.Fprintln(m.out)
	}
}
