package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// words are a text on the command line.
type words struct {
	Text []string `arg:"" help:"The text; several words are joined with spaces. A single - reads it from the standard input."`
}

// read gives the text.
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

// sendCommand sends a message, as a channel would.
type sendCommand struct {
	target
	words
	ID   string `name:"id" placeholder:"ID" help:"The message's id; a repeat of it changes nothing. Without it, the node makes one."`
	Name string `placeholder:"NAME" help:"The sender's name."`
	remote
}

func (c *sendCommand) run(ctx context.Context, p *program) error {
	text, err := c.words.read(p)
	if err != nil {
		return err
	}
	node, err := c.client(p)
	if err != nil {
		return err
	}
	message := client.Message{ID: c.ID, Text: text}
	if c.Name != "" {
		message.Sender = &onereply.Person{Name: c.Name}
	}
	receipt, err := node.Send(ctx, c.Bot, c.Conversation, message)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.printJSON(receipt)
	}
	return p.printReceipt(receipt.Value)
}

// replyCommand replies as a human.
type replyCommand struct {
	target
	words
	remote
}

func (c *replyCommand) run(ctx context.Context, p *program) error {
	text, err := c.words.read(p)
	if err != nil {
		return err
	}
	node, err := c.client(p)
	if err != nil {
		return err
	}
	receipt, err := node.Reply(ctx, c.Bot, c.Conversation, text)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.printJSON(receipt)
	}
	return p.printReceipt(receipt.Value)
}

// deleteCommand removes a conversation for good.
type deleteCommand struct {
	target
	Yes bool `help:"Do it: nothing of the conversation can be brought back."`
	remote
}

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
	_, err = fmt.Fprintf(p.stdout, "deleted %s\n", named(c.Bot, c.Conversation))
	return err
}
