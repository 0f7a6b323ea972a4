package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// words are the arguments of a command that takes a text. A text from the standard input
// is kept out of the shell's history, and may have line breaks.
type words struct {
	Text []string `arg:"" help:"The text; several words are joined with spaces. A single - reads it from the standard input."`
}

// read gives the text. Of a text from the standard input the last line break is removed,
// which most programs add.
func (w words) read(p *program) (string, error) {
	if len(w.Text) != 1 || w.Text[0] != "-" {
		return strings.Join(w.Text, " "), nil
	}
	// One byte more than a message may have shows the node that it is too long.
	text, err := io.ReadAll(io.LimitReader(p.stdin, onereply.MaxTextBytes+1))
	if err != nil {
		return "", fmt.Errorf("read the text: %w", err)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

// sendCommand sends a message, as a channel would. With an id, the command can be
// repeated after an error without sending the message twice.
type sendCommand struct {
	target
	words
	ID   string `name:"id" placeholder:"ID" help:"The message's id; a repeat of it changes nothing. Without it, the node makes one."`
	Name string `placeholder:"NAME" help:"The sender's name."`
	remote
}

// run hands in a message. It prints once the message is durable; the reply comes later,
// and tail shows it. A message without a name has no sender at all, as from a channel
// that knows none.
func (c *sendCommand) run(ctx context.Context, p *program) error {
	return c.talk(p, c.words, func(node *client.Client, text string) (receipt, error) {
		message := client.Message{ID: c.ID, Text: text}
		if c.Name != "" {
			message.Sender = &onereply.Person{Name: c.Name}
		}
		return node.Send(ctx, c.Bot, c.Conversation, message)
	})
}

// replyCommand replies as a human. It works whether the conversation is paused or not,
// and all messages that wait are closed by it, unless a flag says otherwise.
type replyCommand struct {
	target
	words
	ID       string        `placeholder:"ID" help:"The reply's id: it is sent once, however often the command is repeated with it."`
	Beside   bool          `help:"Close nothing, such as a notification: the bot still answers waiting messages."`
	Sent     bool          `help:"Only record it: you have sent it elsewhere."`
	PauseFor time.Duration `placeholder:"DURATION" help:"Keep the bot silent for so long afterwards, such as 30m."`
	remote
}

// run hands in a human's reply. Without an id, after an error look at the transcript
// before you repeat it.
func (c *replyCommand) run(ctx context.Context, p *program) error {
	return c.talk(p, c.words, func(node *client.Client, text string) (receipt, error) {
		return node.Reply(ctx, c.Bot, c.Conversation, onereply.HumanReply{
			ID: c.ID, Text: text, Beside: c.Beside, Sent: c.Sent, PauseFor: c.PauseFor,
		})
	})
}

// receipt is a node's acknowledgement.
type receipt = client.Document[onereply.Receipt]

// talk hands in a text and prints the acknowledgement. The text is read before the call,
// so the time-out of the call does not count the typing.
func (r remote) talk(p *program, w words, handIn func(node *client.Client, text string) (receipt, error)) error {
	text, err := w.read(p)
	if err != nil {
		return err
	}
	node, err := r.client(p)
	if err != nil {
		return err
	}
	got, err := handIn(node, text)
	if err != nil {
		return err
	}
	if r.JSON {
		return p.printJSON(got)
	}
	return p.printReceipt(got.Value)
}

// deleteCommand removes a conversation for good: its state, its texts and its ids.
type deleteCommand struct {
	target
	Yes bool `help:"Confirm: a deleted conversation can't be brought back."`
	remote
}

// run deletes only with --yes: a mistyped name can't be undone.
func (c *deleteCommand) run(ctx context.Context, p *program) error {
	if !c.Yes {
		return usageError{errors.New("delete removes the conversation for good; say --yes to do it")}
	}
	node, err := c.client(p)
	if err != nil {
		return err
	}
	if err := node.Forget(ctx, c.Bot, c.Conversation); err != nil {
		return err
	}
	if c.JSON {
		return p.printJSON(map[string]bool{"deleted": true})
	}
	_, err = fmt.Fprintf(p.stdout, "deleted %s\n", conversationName(c.Bot, c.Conversation))
	return err
}
