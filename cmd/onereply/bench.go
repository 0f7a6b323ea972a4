package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/onereply/onereply/internal/bench"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/sqlite"
)

// benchCommand measures how fast this program is on this machine.
type benchCommand struct {
	Only          []string `placeholder:"NAME,…" help:"Measure these only: ${measurements}."`
	Quick         bool     `help:"Seconds instead of minutes: shows that all of it works, and little more."`
	Rounds        int      `placeholder:"N" help:"How often each figure is taken (default: 5, with --quick 1)."`
	Conversations int      `placeholder:"N" help:"How many wait in timers, and are active in start beside 1 and 1,000 (default: 100,000 and none)."`
	Minutes       float64  `placeholder:"M" help:"Length of the mixed day (default: 1)."`
	Folder        string   `placeholder:"DIR" help:"Where the files go; the disk counts (default: the system's for temporary files)."`
	JSON          bool     `name:"json" help:"Print the figures as JSON."`
	SVG           string   `name:"svg" placeholder:"FILE" help:"Draw what is seen better over time into this file."`

	Victim string `hidden:"" help:"Be the process that takeover kills, on the store in this folder."`
}

func (c *benchCommand) run(ctx context.Context, p *program) error {
	if c.Victim != "" {
		return bench.Victim(ctx, openBenchStore, c.Victim, p.stdin, p.stdout)
	}
	options := c.options(p)
	if err := options.Validate(); err != nil {
		return usageError{err}
	}
	report, err := bench.Run(ctx, options)
	if err != nil && len(report.Sections) == 0 {
		return err
	}
	return errors.Join(err, c.print(report, p))
}

func (c *benchCommand) options(p *program) bench.Options {
	return bench.Options{
		Open: openBenchStore, Node: startVictim, Folder: c.Folder, Only: c.Only, Quick: c.Quick,
		Rounds: c.Rounds, Conversations: c.Conversations, Minutes: c.Minutes,
		Progress: func(doing string) { fmt.Fprintln(p.stderr, doing) },
	}
}

func openBenchStore(folder string) (store.Store, error) {
	return sqlite.Open(filepath.Join(folder, "onereply.db"), sqlite.Options{})
}

// startVictim is this program again. The error of a program that does not know
// its own path shows when the command is started.
func startVictim(ctx context.Context, folder string) *exec.Cmd {
	self, err := os.Executable()
	command := exec.CommandContext(ctx, self, "bench", "--victim", folder)
	command.Err = errors.Join(command.Err, err)
	return command
}

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

func drawInto(path string, draw func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	if err := errors.Join(draw(file), file.Close()); err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	return nil
}

// measurementNames is for the help.
func measurementNames() string { return strings.Join(bench.Names(), ", ") }
