package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/onereply/onereply/internal/proof/simulate"
)

// simulateCommand runs the engine in a simulated world. It needs no server. Package
// simulate does the work. Each run follows from its seed and its flags, so a failure that
// one person sees can be played again by another, with --seed and --trace.
type simulateCommand struct {
	Seed     uint64 `default:"1" help:"Seed of the first run; each further run has the next one."`
	Runs     int    `help:"Number of runs (default: 1000; with --protocol 300)."`
	Nodes    int    `help:"Nodes in each run, 1 to 9 (default: 1 to 3, drawn at random)."`
	Faults   string `default:"all" help:"The faults that may happen: all, none, or a list of ${faults}."`
	Trace    bool   `help:"Print every step of each run."`
	Protocol string `placeholder:"NAME" help:"Compare protocols instead: play the same traffic through lock, debounce, lease or early, a list of them, or all."`
	Traffic  string `default:"mixed" placeholder:"NAME" help:"With --protocol: mixed, people of all kinds; or day, people who write in bursts, with a model of 2 s."`
	SVG      string `name:"svg" type:"path" placeholder:"FILE" help:"Draw one short conversation as each protocol handles it."`
	Prove    bool   `name:"prove-faults" help:"Put faults into the engine on purpose, and name the check that catches each."`
	Quiet    bool   `help:"Show no progress."`
	JSON     bool   `name:"json" help:"Print the result as JSON."`
}

// run does one of three things: draw, prove that seeded faults are caught, or play runs.
// Drawing may come with a comparison, which it shows; without one it is all that is done.
func (c *simulateCommand) run(ctx context.Context, p *program) error {
	if c.Runs < 0 {
		return fmt.Errorf("the number of runs must be 1 or more, or 0 for the default; it is %d", c.Runs)
	}
	if c.SVG != "" {
		if err := c.draw(); err != nil || c.Protocol == "" {
			return err
		}
	}
	switch {
	case c.Prove:
		return c.prove(p)
	case c.Protocol != "":
		return c.compare(ctx, p)
	}
	return c.simulate(ctx, p)
}

// runsOr is the number of runs, or a default that fits what is played: a comparison plays
// each run once for every protocol.
func (c *simulateCommand) runsOr(fallback int) int {
	if c.Runs <= 0 {
		return fallback
	}
	return c.Runs
}

// garbagePercent lets a simulation collect garbage less often. It allocates much that
// soon dies: 2000 runs take a third less processor time than with Go's default of 100,
// and 170 MB of memory. GOGC in the environment takes precedence. A node keeps Go's
// default.
const garbagePercent = 800

// simulate plays runs. It fails if a run broke the promise, and also if, with all faults
// allowed, one of them never happened: such a result would prove less than it seems to.
// Progress moves on a terminal and is lines elsewhere; with --json there is none.
func (c *simulateCommand) simulate(ctx context.Context, p *program) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	o := simulate.Options{Seed: c.Seed, Runs: c.runsOr(1000), Nodes: c.Nodes, Faults: c.faults()}
	if !c.Quiet && !c.JSON {
		o.Progress, o.Lines = p.stderr, !isTerminal(p.stderr)
	}
	if c.Trace {
		o.Trace = p.stdout
	}
	report, err := simulate.Run(ctx, o)
	if err != nil {
		return err
	}
	if c.JSON {
		err = p.printJSON(report)
	} else {
		_, err = fmt.Fprint(p.stdout, report)
	}
	if err == nil && report.Failure != nil {
		return errReported
	}
	if missing := report.Missing(); err == nil && c.Faults == "all" && c.Nodes != 1 && len(missing) > 0 {
		return fmt.Errorf("these never happened, so the runs prove nothing about them; run more: %s", strings.Join(missing, ", "))
	}
	return err
}

// faults are the chosen faults; nil stands for all, and an empty list for none.
func (c *simulateCommand) faults() []string {
	switch c.Faults {
	case "all":
		return nil
	case "none":
		return []string{}
	}
	names := strings.Split(c.Faults, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// compare plays the same traffic through other protocols and this one, and prints them
// side by side. There are no faults in it: the others fail without any.
func (c *simulateCommand) compare(ctx context.Context, p *program) error {
	protocols := simulate.Protocols()
	if c.Protocol != "all" {
		protocols = nil
		for _, name := range strings.Split(c.Protocol, ",") {
			protocols = append(protocols, simulate.Protocol(name))
		}
	}
	table, err := simulate.Compare(ctx, c.Seed, c.runsOr(300), protocols, simulate.Traffic(c.Traffic))
	if err != nil {
		return err
	}
	if c.JSON {
		return p.printJSON(table)
	}
	_, err = fmt.Fprint(p.stdout, simulate.CompareTable(table))
	return err
}

// draw writes the picture. A disk that is full shows only when the file is closed, so
// the error of closing counts.
func (c *simulateCommand) draw() (err error) {
	file, err := os.Create(c.SVG)
	if err != nil {
		return fmt.Errorf("draw the picture: %w", err)
	}
	defer func() {
		if closed := file.Close(); err == nil && closed != nil {
			err = fmt.Errorf("draw the picture: %w", closed)
		}
	}()
	return simulate.Picture(file)
}

// prove puts each seeded fault into the engine, and fails if one of them is not caught: a
// simulation that catches no faults would prove nothing about an engine without any.
func (c *simulateCommand) prove(p *program) error {
	table := simulate.Prove(simulate.MostRuns)
	var err error
	if c.JSON {
		err = p.printJSON(table)
	} else {
		_, err = fmt.Fprint(p.stdout, simulate.Table(table))
	}
	for _, fault := range table {
		if err == nil && fault.Check == "" {
			return errReported
		}
	}
	return err
}
