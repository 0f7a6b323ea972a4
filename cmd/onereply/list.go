package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// listPage is how many conversations one call asks for. The node allows up to 1000;
// smaller pages keep each answer quick.
const listPage = 200

// listCommand lists conversations, newest activity first. A conversation that is written
// to while the pages are read may be listed twice, or not at all.
type listCommand struct {
	Bot   string `arg:"" optional:"" help:"Of this bot only."`
	Phase string `placeholder:"PHASE" help:"In this phase only: idle, collecting, generating, sending, paused or failed."`
	Limit int    `default:"100" placeholder:"N" help:"At most so many; 0 lists all (default: ${default})."`
	remote
}

// run prints the list at its end: the width of its columns depends on all of it. So an
// error on a later page prints nothing of the earlier ones.
func (c *listCommand) run(ctx context.Context, p *program) error {
	if c.Limit < 0 {
		return usageError{fmt.Errorf("--limit must not be negative, it is %d", c.Limit)}
	}
	switch onereply.Phase(c.Phase) {
	case "", onereply.PhaseIdle, onereply.PhaseCollecting, onereply.PhaseGenerating, onereply.PhaseSending, onereply.PhasePaused, onereply.PhaseFailed:
	default:
		return usageError{fmt.Errorf("--phase must be idle, collecting, generating, sending, paused or failed, it is %q", c.Phase)}
	}
	node, err := c.client(p)
	if err != nil {
		return err
	}
	found, err := c.collect(ctx, node)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.printJSON(map[string]any{"conversations": found})
	}
	return p.printList(found)
}

// collect asks for pages until it has as many conversations as wanted, or all. The last
// page is asked for with the number that is still missing. The list is never nil, so
// that its JSON is [] and not null.
func (c *listCommand) collect(ctx context.Context, node *client.Client) ([]client.Document[onereply.State], error) {
	found := []client.Document[onereply.State]{}
	query := onereply.ConversationQuery{Bot: c.Bot, Phase: onereply.Phase(c.Phase)}
	for {
		query.Limit = listPage
		if c.Limit > 0 {
			query.Limit = min(listPage, c.Limit-len(found))
		}
		page, err := node.List(ctx, query)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Conversations...)
		query.Cursor = page.Next
		if page.Next == "" || c.Limit > 0 && len(found) >= c.Limit {
			return found, nil
		}
	}
}

// lastError is the last column of a line: the error, or else messages that were set aside.
// Both need a person, and the error tells more.
func lastError(s onereply.State) string {
	if s.LastError == "" && s.SetAside > 0 {
		return count(s.SetAside, "message") + " set aside"
	}
	return s.LastError
}

// printList prints a table. Names and errors come from other people, so each is made one
// line without control characters. Times are in UTC, to the second.
func (p *program) printList(found []client.Document[onereply.State]) error {
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BOT\tCONVERSATION\tPHASE\tVERSION\tANSWERED\tPENDING\tACTIVE\tLAST ERROR")
	for _, one := range found {
		s := one.Value
		active := ""
		if !s.LastActivityAt.IsZero() {
			active = s.LastActivityAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n",
			line(s.Bot), line(s.Conversation), s.Phase, s.Version, s.Answered, s.Pending, active, line(lastError(s)))
	}
	return table.Flush()
}
