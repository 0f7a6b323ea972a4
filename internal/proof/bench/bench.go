package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply/store"
)

// Place is where the stores are that are measured. Each belongs to a folder of
// its own, which is there already, and is empty until it is opened; a store that
// is a server takes no more of the folder than its name.
type Place interface {
	// Open opens the store of a folder. One that is not exclusive may be opened
	// several times at once.
	Open(ctx context.Context, folder string) (store.Store, error)
	// Size is how many bytes the store takes.
	Size(ctx context.Context, folder string) (int64, error)
	// Remove takes the store away, which is closed; the folder is not its business.
	Remove(ctx context.Context, folder string) error
}

// Options say what to measure, and on what.
type Options struct {
	Place Place // required
	// Victim and Node are this program as another process on the store of a folder:
	// the first runs [Victim] and is killed by takeover, the second runs [Node] and
	// gets the load of nodes. Nil: that measurement is left out.
	Victim, Node func(ctx context.Context, folder string) *exec.Cmd

	Folder        string             // where files go, each measurement's in a folder of its own; "": the system's for temporary files
	Only          []string           // names of measurements; empty: all
	Quick         bool               // seconds instead of minutes: shows that all of it works, and little more
	Rounds        int                // 0: 5, or 1 where Quick is set
	Conversations int                // that wait, or are active, in the large loads; 0: 100,000, or 2,000
	Minutes       float64            // of the mixed day; 0: 1, or a twentieth
	Seconds       float64            // of a figure of one round of acknowledge, http, hot and nodes; 0: 2, or 0.3
	Progress      func(doing string) // told what is under way; may be nil
}

// measurement is one of the things that can be measured.
type measurement struct {
	name, title string
	once        bool // one round: it takes long, or has its own rounds within
	run         func(context.Context, *bench, *tally) error
}

// measurements are all that there are, in the order in which they are run.
func measurements() []measurement {
	return []measurement{
		{"acknowledge", "Durable acknowledgements in the process; limit: the same bytes appended and fsynced in groups", false, acknowledge},
		{"http", "Durable acknowledgements over HTTP, 64 connections; limit: a handler that decodes, answers 202 and stores nothing", false, overHTTP},
		{"start", "From the end of the window to the start of the model; limit: a timer of the runtime, set likewise", false, dueToStart},
		{"hot", "One conversation that gets 1,000 inputs a second; limit of the others: the same without it", false, hotConversation},
		{"nodes", "Durable acknowledgements over HTTP, 64 under way, by node processes that share a store; limit: one node", false, severalNodes},
		{"takeover", "From the death of a process to the start of its turn in the next; limit: the lease", false, takeOver},
		{"cost", "What a turn costs, from its first message to the sent reply", true, costPerTurn},
		{"timers", "Conversations that wait, and a restart", true, waitingTimers},
		{"mixed", "A day of people who write in bursts, against a model that takes 2 s", true, mixedDay},
	}
}

// Names are the names of all measurements.
func Names() []string {
	var names []string
	for _, m := range measurements() {
		names = append(names, m.name)
	}
	return names
}

// Validate reports all mistakes in the options at once.
func (o Options) Validate() error {
	var problems []error
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			problems = append(problems, fmt.Errorf("there is no measurement %q; there are %s", name, strings.Join(Names(), ", ")))
		}
	}
	if o.Rounds < 0 || o.Rounds > 100 {
		problems = append(problems, fmt.Errorf("rounds must be 1 to 100, not %d", o.Rounds))
	}
	if o.Conversations < 0 || o.Conversations > 10_000_000 {
		problems = append(problems, fmt.Errorf("conversations must be 1 to 10,000,000, not %d", o.Conversations))
	}
	if !(o.Minutes >= 0 && o.Minutes <= 24*60) { // nor is it no number
		problems = append(problems, fmt.Errorf("minutes must be more than 0 and at most 1440, not %v", o.Minutes))
	}
	if !(o.Seconds >= 0 && o.Seconds <= 600) {
		problems = append(problems, fmt.Errorf("seconds must be more than 0 and at most 600, not %v", o.Seconds))
	}
	return errors.Join(problems...)
}

func (o Options) withDefaults() Options {
	choose := func(quick, usual int) int {
		if o.Quick {
			return quick
		}
		return usual
	}
	if o.Rounds == 0 {
		o.Rounds = choose(1, 5)
	}
	if o.Conversations == 0 {
		o.Conversations = choose(2_000, 100_000)
	}
	if o.Minutes == 0 {
		o.Minutes = float64(choose(1, 20)) / 20
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// bench is a run in progress.
type bench struct {
	Options
	folder string
	made   []string // folders of the round
	asked  int      // Options.Conversations as given
}

// Run measures, and returns what it found also where it ends early.
func Run(ctx context.Context, o Options) (Report, error) {
	if err := o.Validate(); err != nil {
		return Report{}, err
	}
	folder, err := os.MkdirTemp(o.Folder, "onereply-bench-")
	if err != nil {
		return Report{}, fmt.Errorf("make a folder for the files: %w", err)
	}
	defer os.RemoveAll(folder) // what can't be removed is left to the system
	b := &bench{Options: o.withDefaults(), folder: folder, asked: o.Conversations}
	report := newReport(b.Rounds)
	for _, m := range measurements() {
		if len(o.Only) > 0 && !slices.Contains(o.Only, m.name) {
			continue
		}
		section, err := b.measure(ctx, m)
		if err != nil {
			return report, fmt.Errorf("measure %s: %w", m.name, err)
		}
		report.Sections = append(report.Sections, section)
	}
	report.LoadAfter = loadAverage()
	return report, nil
}

func (b *bench) measure(ctx context.Context, m measurement) (Section, error) {
	t := &tally{}
	rounds := b.Rounds
	if m.once {
		rounds = 1
	}
	for round := range rounds {
		b.Progress(fmt.Sprintf("%s, round %d of %d", m.name, round+1, rounds))
		if err := errors.Join(m.run(ctx, b, t), b.clear(ctx)); err != nil {
			return Section{}, err
		}
		if err := ctx.Err(); err != nil {
			return Section{}, err
		}
	}
	return t.section(m), nil
}

// span is how long one figure of one round takes.
func (b *bench) span() time.Duration {
	switch {
	case b.Seconds > 0:
		return time.Duration(b.Seconds * float64(time.Second))
	case b.Quick:
		return 300 * time.Millisecond
	}
	return 2 * time.Second
}

// newFolder is an empty folder within the run's own, for one store at the most.
func (b *bench) newFolder() (string, error) {
	folder, err := os.MkdirTemp(b.folder, "")
	b.made = append(b.made, folder)
	return folder, err
}

// clear removes the stores of a round.
func (b *bench) clear(ctx context.Context) error {
	var failed []error
	for _, folder := range b.made {
		failed = append(failed, b.Place.Remove(context.WithoutCancel(ctx), folder), os.RemoveAll(folder))
	}
	b.made = nil
	return errors.Join(failed...)
}
