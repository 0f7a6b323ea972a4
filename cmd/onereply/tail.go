package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// tailCommand follows the events.
type tailCommand struct {
	Bot          string `arg:"" optional:"" help:"Of this bot only."`
	Conversation string `arg:"" optional:"" help:"Of this conversation only."`
	remote
}

// run prints events until the person stops it. Ctrl+C is the usual end, and no failure.
func (c *tailCommand) run(ctx context.Context, p *program) error {
	node, err := c.client(p)
	if err != nil {
		return err
	}
	err = node.Follow(ctx, c.Bot, c.Conversation, func(event client.Document[onereply.Event]) error {
		if c.JSON {
			return p.printJSON(event)
		}
		_, err := fmt.Fprintln(p.stdout, eventLine(event.Value))
		return err
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // the person pressed Ctrl+C
	}
	return err
}

// eventLine is an event for people.
func eventLine(e onereply.Event) string {
	parts := []string{clock(e.At), conversationName(e.Bot, e.Conversation), fmt.Sprintf("%-20s", e.Type), fmt.Sprintf("version %d", e.Version)}
	add := func(show bool, format string, args ...any) {
		if show {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(e.Turn > 0, "turn %d", e.Turn)
	add(e.Attempt > 0, "attempt %d", e.Attempt)
	add(e.Through > 0, "through %d", e.Through)
	add(e.MessageID != "", "message %s", line(e.MessageID))
	add(e.ReplyID != "", "reply %s", line(e.ReplyID))
	add(strings.HasPrefix(e.Type, "part."), "part %d of %d", e.Part, e.Parts)
	add(len(e.Covers) > 0, "covers %s", line(strings.Join(e.Covers, ", ")))
	add(!e.DueAt.IsZero(), "due %s", clock(e.DueAt))
	add(e.LateInput, "late input")
	add(e.Reason != "", "(%s)", line(e.Reason))
	add(e.Text != "", "%q", e.Text)
	return strings.Join(parts, "  ")
}
