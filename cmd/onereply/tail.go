package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// tailCommand follows the events, of one conversation, of one bot, or of all. It shows
// what happens from now on; show has what happened before. Events are hints: some may be
// lost where several nodes run, and the transcript is the truth.
type tailCommand struct {
	Bot          string `arg:"" optional:"" help:"Of this bot only."`
	Conversation string `arg:"" optional:"" help:"Of this conversation only."`
	remote
}

// run prints events until the person stops it. Ctrl+C is the usual end, and no failure.
// A stream that breaks is opened again by the client, so a restart of the node does not
// end the command. With --json each event is one line, for programs that read a stream.
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

// eventLine is an event for people:
//
//	03:04:09.000Z  support/c1  reply.sent            version 2  turn 1  reply c1/1  "Hi"
//
// Only the facts that this event has are shown, in the same order for all. The text is
// quoted, so that it stays in one line and can't control the terminal.
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
