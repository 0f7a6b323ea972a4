package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// state is the state of a conversation, as a node tells it. All commands of this file
// change a conversation by one call, and print the state that the call left.
type state = client.Document[onereply.State]

// change calls a node for something that changes a conversation, and prints the state
// after it. A refusal of the node, such as 409 for a state that does not allow the call,
// is the command's error.
func (r remote) change(p *program, call func(*client.Client) (state, error)) error {
	node, err := r.client(p)
	if err != nil {
		return err
	}
	after, err := call(node)
	if err != nil {
		return err
	}
	if r.JSON {
		return p.printJSON(after)
	}
	return p.printState(after.Value)
}

// changeKnown is change for a conversation that must exist: the node itself takes any name.
// idle says why nothing is to be changed in a state, or "". The command tells the person
// so, which is no failure. With a key that may not read, the state is not looked at.
func (r remote) changeKnown(ctx context.Context, p *program, c target, idle func(onereply.State) string, call func(*client.Client) (state, error)) error {
	node, err := r.client(p)
	if err != nil {
		return err
	}
	before, err := node.State(ctx, c.Bot, c.Conversation)
	var refusal *client.Error
	switch {
	case errors.As(err, &refusal) && refusal.Status == http.StatusForbidden:
	case err != nil:
		return err
	case idle(before.Value) != "":
		fmt.Fprintf(p.stderr, "onereply: %s/%s: %s; nothing was changed\n", line(c.Bot), line(c.Conversation), idle(before.Value))
	}
	return r.change(p, call)
}

// flushCommand ends the quiet time of a conversation, for somebody who does not want to
// wait for it.
type flushCommand struct {
	target
	remote
}

// run has waiting messages answered at once. During an outage of the model or of the
// receiver, the next try is made at once too.
func (c *flushCommand) run(ctx context.Context, p *program) error {
	nothing := func(s onereply.State) string {
		if s.Phase == onereply.PhaseIdle {
			return "nothing waits"
		}
		return ""
	}
	return c.changeKnown(ctx, p, c.target, nothing, func(node *client.Client) (state, error) {
		return node.Flush(ctx, c.Bot, c.Conversation)
	})
}

// pauseCommand hands a conversation to a human. Messages are accepted and wait; the
// human replies with the command reply, and ends the pause with resume.
type pauseCommand struct {
	target
	Reason string        `placeholder:"TEXT" help:"The reason, shown to others who look at the conversation."`
	For    time.Duration `placeholder:"DURATION" help:"End the pause after so long, such as 30m; waiting messages are answered then."`
	remote
}

// run stops the bot in this conversation. A reply that is being generated is discarded.
func (c *pauseCommand) run(ctx context.Context, p *program) error {
	return c.change(p, func(node *client.Client) (state, error) {
		return node.Pause(ctx, c.Bot, c.Conversation, onereply.Pause{Reason: c.Reason, For: c.For})
	})
}

// resumeCommand gives a conversation back to the bot. Whether waiting messages still need
// an answer is the human's decision, so it has a flag.
type resumeCommand struct {
	target
	Close bool `help:"Close waiting messages without a reply, instead of answering them."`
	remote
}

// run lets the bot answer again.
func (c *resumeCommand) run(ctx context.Context, p *program) error {
	nothing := func(s onereply.State) string {
		if s.Phase != onereply.PhasePaused {
			return "it is not paused"
		}
		return ""
	}
	return c.changeKnown(ctx, p, c.target, nothing, func(node *client.Client) (state, error) {
		return node.Resume(ctx, c.Bot, c.Conversation, !c.Close)
	})
}

// resetCommand begins afresh in a conversation, for a person whose talk is over, or whose
// bot has lost its way.
type resetCommand struct {
	target
	Reason string `placeholder:"TEXT" help:"The reason, shown to others who look at the conversation."`
	remote
}

// run closes waiting messages and discards a reply that is being generated. Later prompts
// hold nothing that was said before.
func (c *resetCommand) run(ctx context.Context, p *program) error {
	something := func(onereply.State) string { return "" }
	return c.changeKnown(ctx, p, c.target, something, func(node *client.Client) (state, error) {
		return node.Reset(ctx, c.Bot, c.Conversation, c.Reason)
	})
}

// requeueCommand tries a failed turn again, once its cause is removed. It also brings
// back messages that were set aside: the model refuses them, or each worker that took them
// was lost.
type requeueCommand struct {
	target
	remote
}

// run starts the turn again, with new attempts. If no turn has failed and no message is
// set aside, the node changes nothing.
func (c *requeueCommand) run(ctx context.Context, p *program) error {
	nothing := func(s onereply.State) string {
		if s.Phase != onereply.PhaseFailed && s.SetAside == 0 {
			return "no turn has failed, and no message is set aside"
		}
		return ""
	}
	return c.changeKnown(ctx, p, c.target, nothing, func(node *client.Client) (state, error) {
		return node.Requeue(ctx, c.Bot, c.Conversation)
	})
}

// turnTarget names a turn whose reply needs an operator: nobody knows whether it was
// sent, or only a part of it was. The program can't decide between a message that comes
// twice and one that never comes. Resend takes the first risk; mark-sent is for an
// operator who has looked.
type turnTarget struct {
	target
	Turn int64 `arg:"" help:"The number of the turn, as show and its timeline give it."`
}

// resendCommand sends the turn's reply again, under the id that it had.
type resendCommand struct {
	turnTarget
	remote
}

// run sends the reply although it may have arrived before. Parts that certainly arrived
// are not sent again.
func (c *resendCommand) run(ctx context.Context, p *program) error {
	return c.change(p, func(node *client.Client) (state, error) {
		return node.Resend(ctx, c.Bot, c.Conversation, c.Turn)
	})
}

// markSentCommand marks the turn's reply as sent.
type markSentCommand struct {
	turnTarget
	remote
}

// run settles the reply without sending: somebody has seen that it arrived. The
// conversation needs nobody's attention for it any more.
func (c *markSentCommand) run(ctx context.Context, p *program) error {
	return c.change(p, func(node *client.Client) (state, error) {
		return node.MarkSent(ctx, c.Bot, c.Conversation, c.Turn)
	})
}
