// Command mutants measures how much the checks of a package see. It applies
// small mechanical changes to the package, one at a time: a comparison turned, a
// bound moved by one, a statement dropped, two fields swapped. After each change
// it runs the package's quick checks. A change that no check notices is a
// survivor: either a test is missing, or the change makes no difference and is
// named, with its reason, in equivalent.txt.
//
// All changes of a sample are built into one program, as switches of which one is on,
// so that a change costs only the run of its checks. The changed files reach the
// compiler as an overlay, so nothing is written into the checkout. The sample is drawn with a seed: the same seed draws the same
// changes from the same source.
//
// It imports nothing but the standard library, and nothing of the product.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"
)

// passMark is the share of changes, in percent, that the checks must catch.
const passMark = 90

type options struct {
	root       string
	seed       uint64
	sample     int
	budget     time.Duration
	workers    int
	equivalent string
	only       string
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "the folder of the module under test")
	flag.Uint64Var(&o.seed, "seed", 1, "the seed of the sample")
	flag.IntVar(&o.sample, "sample", 200, "how many changes to try in each package; 0 tries all")
	flag.DurationVar(&o.budget, "budget", 20*time.Minute, "how long to start new changes in each package")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "how many changes to try at once")
	flag.StringVar(&o.equivalent, "equivalent", "mutants/equivalent.txt", "the file of changes that make no difference")
	flag.StringVar(&o.only, "only", "", "a file, such as the output of a run before: only the changes that it lists are tried")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = standard
	}
	passed, err := run(o, packages)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if !passed {
		os.Exit(1)
	}
}

// run tries the packages one after the other, and reports whether all of them
// passed.
func run(o options, packages []string) (bool, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root, err := filepath.Abs(o.root)
	if err != nil {
		return false, err
	}
	o.root = root
	named, err := readEquivalent(o.equivalent)
	if err != nil {
		return false, err
	}
	passed := true
	for _, name := range packages {
		r, err := tryPackage(ctx, o, name, named)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		r.print(os.Stdout)
		passed = passed && r.passed()
	}
	return passed, nil
}

// tryPackage draws the sample of one package and tries it.
func tryPackage(ctx context.Context, o options, name string, named equivalents) (*result, error) {
	began := time.Now()
	p, err := load(ctx, o.root, name)
	if err != nil {
		return nil, err
	}
	all := p.changes()
	r := &result{name: name, seed: o.seed, possible: len(all), stale: named.stale(p.folder, all)}
	if o.only != "" {
		if all, err = listedIn(o.only, all); err != nil {
			return nil, err
		}
		o.sample = 0
	}
	sampled, equivalent := draw(p, all, o.seed, o.sample, named)
	r.equivalent = equivalent
	bench, err := newBench(ctx, o.root, p, sampled)
	if err != nil {
		return nil, err
	}
	defer bench.close()
	bench.cost.run = 0 // without the measurement
	bench.tryAll(ctx, sampled, o, r)
	r.took, r.cost = time.Since(began), bench.cost
	return r, ctx.Err()
}
