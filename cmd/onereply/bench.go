package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/onereply/onereply/internal/proof/bench"
)

// benchCommand measures how fast this program is on this machine. Package bench has the
// measurements; this file has the flags, the stores, and the processes.
//
// Two measurements need other processes: takeover kills one, and nodes shares the load
// among several. They run this program again with a hidden flag, --victim or --node,
// and the folder of the store. Such a process is driven through its standard input and
// answers on its standard output.
type benchCommand struct {
	Only          []string `placeholder:"NAME,…" help:"Measure these only: ${measurements}."`
	Quick         bool     `help:"Take seconds instead of minutes: shows that everything works, and little more."`
	Rounds        int      `placeholder:"N" help:"How often each figure is taken (default: 5, with --quick 1)."`
	Conversations int      `placeholder:"N" help:"How many conversations wait in timers, and how many are active in start besides 1 and 1,000 (default: 100,000 and none)."`
	Minutes       float64  `placeholder:"M" help:"Length of the mixed day (default: 1)."`
	Seconds       float64  `placeholder:"S" help:"How long each round of acknowledge, http, hot and nodes takes (default: 2)."`
	Store         string   `placeholder:"URL" env:"ONEREPLY_BENCH_STORE" help:"A PostgreSQL or Redis server to measure on, in databases or under prefixes that are created and removed (default: the embedded store)."`
	Folder        string   `placeholder:"DIR" help:"The folder of the files; its disk is measured too (default: the system's folder for temporary files)."`
	JSON          bool     `name:"json" help:"Print the figures as JSON."`
	SVG           string   `name:"svg" placeholder:"FILE" help:"Draw the figures that change over time into this file."`

	Victim string `hidden:"" help:"Be the process that takeover kills, on the store in this folder."`
	Node   string `hidden:"" help:"Be a node that gets the load of nodes, on the store in this folder."`
}

// run measures and prints, or is one of the processes that another run of bench has
// started. A run that was interrupted prints the figures that it has, and its error too.
func (c *benchCommand) run(ctx context.Context, p *program) error {
	place, err := benchPlace(c.Store)
	if err != nil {
		return usageError{err}
	}
	switch {
	case c.Victim != "":
		return bench.Victim(ctx, place, c.Victim, p.stdin, p.stdout)
	case c.Node != "":
		return bench.Node(ctx, place, c.Node, p.stdin, p.stdout)
	}
	options := c.options(place, p)
	if err := options.Validate(); err != nil {
		return usageError{err}
	}
	report, err := bench.Run(ctx, options)
	if err != nil && len(report.Sections) == 0 {
		return err
	}
	return errors.Join(err, c.print(report, p))
}

// options are the flags in the words of package bench. Progress goes to the standard
// error, so that the standard output holds the report only. A flag that is 0 stands for
// the default of package bench, which depends on Quick.
func (c *benchCommand) options(place bench.Place, p *program) bench.Options {
	return bench.Options{
		Place: place, Victim: c.again("--victim"), Node: c.again("--node"), Folder: c.Folder, Only: c.Only, Quick: c.Quick,
		Rounds: c.Rounds, Conversations: c.Conversations, Minutes: c.Minutes, Seconds: c.Seconds,
		Progress: func(doing string) { fmt.Fprintln(p.stderr, doing) },
	}
}

// benchStoreVariable is the environment variable that hands the store's URL to the
// other processes. It is also the variable of the flag --store, so they read it as one.
const benchStoreVariable = "ONEREPLY_BENCH_STORE"

// again runs this program again, with a flag that takes the folder of a store. If the
// program's own path is unknown, starting the command fails with that error.
func (c *benchCommand) again(flag string) func(context.Context, string) *exec.Cmd {
	return func(ctx context.Context, folder string) *exec.Cmd {
		self, err := os.Executable()
		command := exec.CommandContext(ctx, self, "bench", flag, folder)
		command.Env = append(os.Environ(), benchStoreVariable+"="+c.Store) // no other user sees the password in it
		command.Err = errors.Join(command.Err, err)
		return command
	}
}

// print draws the picture, where one is wanted, and prints the report. A picture that
// can't be drawn does not cost the figures, which took minutes.
func (c *benchCommand) print(report bench.Report, p *program) error {
	var err error
	if c.SVG != "" {
		err = drawInto(c.SVG, report.SVG)
	}
	if c.JSON {
		return errors.Join(err, p.printJSON(report))
	}
	return errors.Join(err, report.Print(p.stdout))
}

// drawInto draws a picture into a file, all of it or nothing: an existing picture stays
// as it is if drawing fails.
func drawInto(path string, draw func(io.Writer) error) error {
	var picture bytes.Buffer
	err := draw(&picture)
	if err == nil {
		err = os.WriteFile(path, picture.Bytes(), 0o666)
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	return nil
}

// measurementNames lists the measurements, for the help. They come from package bench, so
// the help knows of each new one.
func measurementNames() string { return strings.Join(bench.Names(), ", ") }
