package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// migrateCommand brings a store to the schema of this program.
type migrateCommand struct {
	Store string `required:"" placeholder:"URL" help:"The store; it is made where there is none."`
	JSON  bool   `name:"json" help:"Print what the store guarantees as JSON."`
}

// run opens the store: whoever opens one migrates it, and refuses one of a
// newer program.
func (c *migrateCommand) run(ctx context.Context, p *program) (err error) {
	if err := checkKeeps("--store", c.Store); err != nil {
		return err
	}
	kept, err := p.openQuietly(ctx, c.Store, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	if c.JSON {
		return p.printJSON(migratedOf(kept.Guarantees()))
	}
	return p.printGuarantees(kept.Guarantees())
}

// migrated is a store that is up to date.
type migrated struct {
	Store        string `json:"store"`
	RecordSchema int    `json:"record_schema"`
	Durable      bool   `json:"durable"`
	OneProcess   bool   `json:"one_process"`
	OneClock     bool   `json:"one_clock"`
	Note         string `json:"note"`
}

func migratedOf(g store.Guarantees) migrated {
	return migrated{g.Name, turn.Schema, g.Durable, g.Exclusive, g.Clock, g.Note}
}

func (p *program) printGuarantees(g store.Guarantees) error {
	durable, processes := "a commit that was answered survives a loss of power", "any number of nodes"
	if !g.Durable {
		durable = "a loss of power may lose commits that were answered"
	}
	if g.Exclusive {
		processes = "one process at a time"
	}
	_, err := fmt.Fprintf(p.stdout, "%s: the schema is that of this program; records have schema %d\n  durable: %s\n  nodes: %s\n", g.Name, turn.Schema, durable, processes)
	if err == nil && g.Note != "" {
		_, err = fmt.Fprintf(p.stdout, "  note: %s\n", line(g.Note))
	}
	return err
}
