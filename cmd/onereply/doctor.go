package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/onereply/onereply/internal/maintenance"
	"github.com/onereply/onereply/server/config"
	"github.com/onereply/onereply/store"
)

// doctorCommand examines a store. Package maintenance does the work; this file opens the
// store and prints. Without --repair the store is opened for reading only, so a mistaken
// URL changes no record and creates nothing, and a user who may only read is enough.
type doctorCommand struct {
	Store  string `placeholder:"URL" help:"The store to examine (default: ONEREPLY_STORE; other users of this machine can see a flag). Nodes may run on it, except on sqlite."`
	Repair bool   `help:"Mend what can be mended without guessing: timers, counts, leases that no node could take over."`
	Config string `placeholder:"FILE" help:"The configuration of the nodes: also name bots that have work and are not in it."`
	JSON   bool   `name:"json" help:"Print one JSON object for each finding, and one with the totals."`
}

// run examines the store, prints findings as they come, and the totals. The exit code is
// 1 while a finding is left. An error of printing, such as a closed pipe, does not end
// the sweep, and is the command's error at its end.
//
// The configuration is read for the names of the bots only. It comes first, so that a
// mistake in it is told before the store is opened.
func (c *doctorCommand) run(ctx context.Context, p *program) (err error) {
	var bots []string
	if c.Config != "" {
		found, err := readConfig(c.Config, p.env, config.Overrides{})
		if err != nil {
			return err
		}
		for _, bot := range found.Bots {
			bots = append(bots, bot.Settings.Name)
		}
	}
	url, err := p.storeURL("--store", c.Store, "ONEREPLY_STORE")
	if err != nil {
		return err
	}
	kept, err := p.openExisting(ctx, "--store", url, !c.Repair)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	var printing error
	doctor := maintenance.Doctor{Store: kept, Repair: c.Repair, Found: func(f maintenance.Finding) {
		printing = errors.Join(printing, p.printFinding(f, c.JSON))
	}, Bots: bots, Unserved: func(u maintenance.Unserved) {
		printing = errors.Join(printing, p.printUnserved(u, c.JSON))
	}}
	sums, err := doctor.Run(ctx)
	if err = errors.Join(err, printing); err != nil {
		return err
	}
	if c.JSON {
		err = p.printJSON(sums)
	} else {
		err = p.printCheckup(sums, c.Repair)
	}
	if err == nil && sums.Remaining > 0 {
		return errReported
	}
	return err
}

// printFinding prints one finding, and whether it was mended or why not:
//
//	support/c1: timer: there is work and no timer: nobody would ever look (repaired)
//
// The comparison after a copy prints the same lines.
func (p *program) printFinding(f maintenance.Finding, asJSON bool) error {
	if asJSON {
		return p.printJSON(f)
	}
	end := ""
	switch {
	case f.Repaired:
		end = " (repaired)"
	case f.Left != "":
		end = " (left: " + f.Left + ")"
	}
	_, err := fmt.Fprintf(p.stdout, "%s: %s: %s%s\n", conversationName(f.Bot, f.Conversation), f.Rule, line(f.Problem), end)
	return err
}

// printUnserved prints messages of a bot that no node serves. That is a hint and no
// finding: the exit code stays 0. It also says how to get them answered, since they wait
// for ever otherwise.
func (p *program) printUnserved(u maintenance.Unserved, asJSON bool) error {
	if asJSON {
		return p.printJSON(u)
	}
	which := "no node has taken them: none has this bot, or all are full"
	if u.Unknown {
		which = "the configuration does not have this bot"
	}
	_, err := fmt.Fprintf(p.stdout, "bot %s: %s waiting for a node since %s: %s. Give a node this bot, and they are answered; "+
		"there you can also delete those that nobody is to answer.\n",
		line(u.Bot), count(u.Conversations, "conversation"), u.Since.UTC().Format("2006-01-02 15:04:05Z"), which)
	return err
}

// printCheckup prints the totals, and what to do next:
//
//	1 conversation, 1 entry, 1 timer, 1 waiting: nothing is wrong.
//
// Conversations that changed at each look are named apart: nothing is known of them.
func (p *program) printCheckup(sums maintenance.Checkup, repaired bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s, %d waiting: ", count(sums.Conversations, "conversation"),
		countEntries(sums.Entries), count(sums.Timers, "timer"), sums.Pending)
	switch {
	case sums.Findings == 0:
		b.WriteString("nothing is wrong.\n")
	case repaired:
		fmt.Fprintf(&b, "%s, %d repaired, %d left.\n", count(sums.Findings, "finding"), sums.Repaired, sums.Remaining)
	default:
		fmt.Fprintf(&b, "%s. --repair mends what can be mended without guessing.\n", count(sums.Findings, "finding"))
	}
	if sums.Busy > 0 {
		fmt.Fprintf(&b, "%s changed whenever they were looked at: run it again to be sure of them.\n", count(sums.Busy, "conversation"))
	}
	_, err := io.WriteString(p.stdout, b.String())
	return err
}

// countEntries is count for the one noun that takes no s.
func countEntries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// storeURL is a store's URL of the command line, or of the environment, which suits one
// with a password: other users of the machine can list flags.
func (p *program) storeURL(flag, given, variable string) (string, error) {
	url := p.either(given, variable)
	if url == "" {
		return "", usageError{fmt.Errorf("name the store with %s, or with %s in the environment", flag, variable)}
	}
	return url, nil
}

// openExisting opens a store that must be there already: a mistyped path would
// otherwise create an empty one, and the doctor would find nothing wrong with it. A
// server that has no tables of this program is refused by its store, if it is opened for
// reading only.
func (p *program) openExisting(ctx context.Context, flag, url string, readOnly bool) (store.Store, error) {
	if err := refuseMemory(flag, url); err != nil {
		return nil, err
	}
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: there is no file %s", flag, path)
		}
	}
	return p.openSilently(ctx, url, readOnly)
}

// refuseMemory refuses stores that end with this command, and those that it can't open.
// flag is the name of the flag, so that the error tells which of two URLs is meant.
func refuseMemory(flag, url string) error {
	if err := storeSupported(url); err != nil {
		return usageError{fmt.Errorf("%s: %w", flag, err)}
	}
	if strings.HasPrefix(url, "memory:") {
		return usageError{fmt.Errorf("%s: a store in memory is empty: give one that lasts, such as sqlite:./onereply.db", flag)}
	}
	return nil
}

// openSilently opens a store, and does not log its guarantees: these commands print
// their result and nothing else.
func (p *program) openSilently(ctx context.Context, url string, readOnly bool) (store.Store, error) {
	return openStore(ctx, url, readOnly, slog.New(slog.DiscardHandler))
}
