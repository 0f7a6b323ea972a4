package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onereply/onereply/internal/maintenance"
	"github.com/onereply/onereply/store"
)

// progressEvery is how often a copy says how far it is: often enough to see that it goes
// on, and seldom enough for a log.
const progressEvery = 5 * time.Second

// notCopied ends each report: the contract of stores can't read these ids.
const notCopied = "Not copied: the ids of messages whose text retention has removed. " +
	"A provider that delivers one of those again is answered again."

// copyCommand copies a store into another, for somebody who moves from the embedded
// store to a server, or back. The steps: stop the nodes, copy, look at the verdict, and
// start the nodes on the target. Package maintenance copies and compares.
type copyCommand struct {
	From   string `placeholder:"URL" help:"The store to copy (default: ONEREPLY_FROM; other users of this machine can see a flag). No node may run on it."`
	To     string `placeholder:"URL" help:"The store to copy to (default: ONEREPLY_TO). No node should run on it yet."`
	Batch  int    `default:"200" placeholder:"N" help:"Entries in one write, 1 to 1000 (default: ${default})."`
	Resume bool   `help:"Go on with a copy that was interrupted: --to may hold conversations."`
	JSON   bool   `name:"json" help:"Print one JSON object for each conversation that differs, and one for the result."`
}

// copyResult is the work of a copy, and the contents of both stores after it. Its JSON
// is the last line of the output; the conversations that differ are the lines before.
type copyResult struct {
	maintenance.Progress
	From     maintenance.Counts `json:"from"`
	To       maintenance.Counts `json:"to"`
	Verified bool               `json:"verified"`
}

// run opens both stores and copies. The source is opened for reading only: a copy must
// not change it. The target is created if it is missing; a missing source is an error.
func (c *copyCommand) run(ctx context.Context, p *program) (err error) {
	if c.From, err = p.storeURL("--from", c.From, "ONEREPLY_FROM"); err != nil {
		return err
	}
	if c.To, err = p.storeURL("--to", c.To, "ONEREPLY_TO"); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	from, err := p.openExisting(ctx, "--from", c.From, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := p.openSilently(ctx, c.To, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return c.copy(ctx, p, from, to)
}

// check refuses flags that can't work before a store is opened. Two different URLs of one
// store are not noticed here. Such a copy meets a store that is in use, or a target that
// is not empty; with --resume it finds everything copied already.
func (c *copyCommand) check() error {
	switch {
	case c.Batch < 1 || c.Batch > store.MaxEntries:
		return usageError{fmt.Errorf("--batch must be between 1 and %d, it is %d", store.MaxEntries, c.Batch)}
	case c.From == c.To:
		return usageError{errors.New("--from and --to are the same store")}
	}
	if err := refuseMemory("--from", c.From); err != nil {
		return err
	}
	return refuseMemory("--to", c.To)
}

// copy copies, and then compares both stores: a copy that nobody verified is no reason
// to switch a node over. Each error says how to go on: a copy can be continued at any
// time, since each conversation is complete or begun anew.
func (c *copyCommand) copy(ctx context.Context, p *program, from, to store.Store) error {
	job := maintenance.Copy{From: from, To: to, Batch: c.Batch, Resume: c.Resume, Progress: p.progress()}
	progress, err := job.Run(ctx)
	switch {
	case errors.Is(err, maintenance.ErrNotEmpty):
		return fmt.Errorf("%w; --resume goes on with a copy that was interrupted", err)
	case err != nil:
		return fmt.Errorf("%w (run it again with --resume to go on)", err)
	}
	return c.verify(ctx, p, from, to, progress)
}

// verify prints each conversation that differs, and the result. Both stores count as the
// same if no conversation differs and all sums agree.
func (c *copyCommand) verify(ctx context.Context, p *program, from, to store.Store, done maintenance.Progress) (err error) {
	var printing error
	different := 0
	result := copyResult{Progress: done}
	result.From, result.To, err = maintenance.Verify(ctx, from, to, func(f maintenance.Finding) {
		different++
		printing = errors.Join(printing, p.printFinding(f, c.JSON))
	})
	if err = errors.Join(err, printing); err != nil {
		return err
	}
	result.Verified = different == 0 && result.From == result.To
	return c.print(p, result)
}

// progress reports now and then how far a copy is: at most every 5 seconds, and nothing
// for a copy that is over before.
func (p *program) progress() func(maintenance.Progress) {
	next := time.Now().Add(progressEvery)
	return func(done maintenance.Progress) {
		if time.Now().Before(next) {
			return
		}
		next = time.Now().Add(progressEvery)
		fmt.Fprintf(p.stderr, "%d conversations copied, %d entries, %d there already\n", done.Copied, done.Entries, done.Skipped)
	}
}

// print prints the result. The exit code is 1 where the stores differ, so that a script
// does not start nodes on the target.
func (c *copyCommand) print(p *program, r copyResult) error {
	if c.JSON {
		if err := p.printJSON(r); err != nil {
			return err
		}
	} else if err := p.printCopy(r); err != nil {
		return err
	}
	if !r.Verified {
		return errReported
	}
	return nil
}

// printCopy prints the result for people: counts of both stores below each other, and
// the verdict. After a difference it names the usual reasons, so that a person knows
// where to look.
func (p *program) printCopy(r copyResult) error {
	row := func(name string, c maintenance.Counts) string {
		return fmt.Sprintf("%-5s %12d %12d %12d %12d\n", name, c.Conversations, c.Entries, c.Timers, c.Pending)
	}
	verdict := "Verified: both hold the same.\n"
	if !r.Verified {
		verdict = "NOT the same: see above. A node that ran meanwhile, conversations that were in the target before, or that can't be read, are the usual reasons.\n"
	}
	_, err := fmt.Fprintf(p.stdout, "%s copied with %s, %d there already, %d left as they were, %d that can't be read.\n%5s %12s %12s %12s %12s\n%s%s%s%s\n",
		count(r.Copied, "conversation"), countEntries(r.Progress.Entries), r.Skipped, r.Left, r.Unread,
		"", "conversations", "entries", "timers", "waiting", row("from", r.From), row("to", r.To), verdict, notCopied)
	return err
}
