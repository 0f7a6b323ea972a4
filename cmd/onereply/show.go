package main

import (
	"context"
	"fmt"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// transcriptPage is how many entries one call asks for.
const transcriptPage = 500

// showCommand shows one conversation.
type showCommand struct {
	target
	Timeline bool `help:"Show what happened in its last turns instead: inputs, attempts, discards, sends."`
	Turns    int  `default:"10" placeholder:"N" help:"With --timeline: the last so many turns, 1 to 100 (default: ${default})."`
	remote
}

// run shows the timeline, or the state and the whole transcript.
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

// timeline shows the last turns, step by step.
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

// entries reads the whole transcript.
func (c *showCommand) entries(ctx context.Context, node *client.Client) ([]client.Document[onereply.Entry], error) {
	all := []client.Document[onereply.Entry]{}
	var after int64
	for {
		page, err := node.Transcript(ctx, c.Bot, c.Conversation, after, transcriptPage)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < transcriptPage {
			return all, nil
		}
		after = page[len(page)-1].Value.Seq
	}
}
