package main

import (
	"context"
	"fmt"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// transcriptPage is how many entries one call asks for. A page with fewer is the last one,
// so it must not be more than the 1000 that a node gives.
const transcriptPage = 500

// showCommand shows one conversation: where it stands now, and all that was written in
// it; or, with --timeline, the steps that led there.
type showCommand struct {
	target
	Timeline bool `help:"Show what happened in its last turns instead: inputs, attempts, discards, sends."`
	Turns    int  `default:"10" placeholder:"N" help:"With --timeline: the last so many turns, 1 to 100 (default: ${default})."`
	remote
}

// run shows the timeline, or the state and the whole transcript. These are several
// calls, so the transcript may hold a message that the state does not count yet.
func (c *showCommand) run(ctx context.Context, p *program) error {
	if c.Turns < 1 || c.Turns > onereply.MaxTimelineTurns {
		return usageError{fmt.Errorf("--turns must be 1 to %d, it is %d", onereply.MaxTimelineTurns, c.Turns)}
	}
	node, err := c.client(p)
	if err != nil {
		return err
	}
	if c.Timeline {
		return c.timeline(ctx, p, node)
	}
	state, err := node.State(ctx, c.Bot, c.Conversation)
	if err != nil {
		return err
	}
	entries, err := c.entries(ctx, node)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.printJSON(map[string]any{"state": state, "transcript": entries})
	}
	if err := p.printState(state.Value); err != nil {
		return err
	}
	return p.printTranscript(entries)
}

// timeline shows the last turns, step by step. It is one call: a node puts the steps
// together, and they are the same from every node.
func (c *showCommand) timeline(ctx context.Context, p *program, node *client.Client) error {
	found, err := node.Timeline(ctx, c.Bot, c.Conversation, c.Turns)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.printJSON(found)
	}
	return p.printTimeline(found.Value)
}

// entries reads the whole transcript, page by page, from the oldest entry on. Each page
// begins after the last sequence of the one before, so entries that are added meanwhile
// come at the end.
func (c *showCommand) entries(ctx context.Context, node *client.Client) ([]client.Document[onereply.Entry], error) {
	all := []client.Document[onereply.Entry]{}
	for after := int64(0); ; {
		page, next, err := node.Transcript(ctx, c.Bot, c.Conversation, after, transcriptPage)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if after = next; next == 0 {
			return all, nil
		}
	}
}
