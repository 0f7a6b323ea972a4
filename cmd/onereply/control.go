package main

import (
	"context"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// change is a call that answers with the conversation's new state.
type change func(*client.Client) (client.Document[onereply.State], error)

// apply makes a change and prints the state after it.
func (r remote) apply(p *program, do change) error {
	node, err := r.client(p)
	if err != nil {
		return err
	}
	state, err := do(node)
	if err != nil {
		return err
	}
	if r.JSON {
		return p.printJSON(state)
	}
	return p.printState(state.Value)
}

// flushCommand ends the quiet time.
type flushCommand struct {
	target
	remote
}

func (c *flushCommand) run(ctx context.Context, p *program) error {
	return c.apply(p, func(node *client.Client) (client.Document[onereply.State], error) {
		return node.Flush(ctx, c.Bot, c.Conversation)
	})
}

// pauseCommand hands a conversation to a human.
type pauseCommand struct {
	target
	Reason string `placeholder:"TEXT" help:"Why, for others who look at it."`
	remote
}

func (c *pauseCommand) run(ctx context.Context, p *program) error {
	return c.apply(p, func(node *client.Client) (client.Document[onereply.State], error) {
		return node.Pause(ctx, c.Bot, c.Conversation, c.Reason)
	})
}

// resumeCommand gives it back.
type resumeCommand struct {
	target
	Close bool `help:"Close what waits without a reply, instead of answering it."`
	remote
}

func (c *resumeCommand) run(ctx context.Context, p *program) error {
	return c.apply(p, func(node *client.Client) (client.Document[onereply.State], error) {
		return node.Resume(ctx, c.Bot, c.Conversation, !c.Close)
	})
}

// requeueCommand tries a failed turn again.
type requeueCommand struct {
	target
	remote
}

func (c *requeueCommand) run(ctx context.Context, p *program) error {
	return c.apply(p, func(node *client.Client) (client.Document[onereply.State], error) {
		return node.Requeue(ctx, c.Bot, c.Conversation)
	})
}

// troubled names a turn whose reply ended in trouble.
type troubled struct {
	target
	Turn int64 `arg:"" help:"The number of the turn, as show and its timeline give it."`
}

// resendCommand sends its reply again.
type resendCommand struct {
	troubled
	remote
}

func (c *resendCommand) run(ctx context.Context, p *program) error {
	return c.apply(p, func(node *client.Client) (client.Document[onereply.State], error) {
		return node.Resend(ctx, c.Bot, c.Conversation, c.Turn)
	})
}

// markSentCommand marks it as sent.
type markSentCommand struct {
	troubled
	remote
}

func (c *markSentCommand) run(ctx context.Context, p *program) error {
	return c.apply(p, func(node *client.Client) (client.Document[onereply.State], error) {
		return node.MarkSent(ctx, c.Bot, c.Conversation, c.Turn)
	})
}
