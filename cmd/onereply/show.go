package main

import (
	"context"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// transcriptPage is how many entries one call asks for.
const transcriptPage = 500

// showCommand shows one conversation.
type showCommand struct {
	target
	remote
}

func (c *showCommand) run(ctx context.Context, p *program) error {
	node, err := c.client(p)
	if err != nil {
		return err
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
