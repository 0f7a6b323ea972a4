package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// moveCommand gives a conversation another key, such as a group that became a supergroup.
// The old key goes on leading there.
type moveCommand struct {
	target
	To string `arg:"" help:"The new key."`
	remote
}

// run moves it, and prints its state under the new key.
func (c *moveCommand) run(ctx context.Context, p *program) error {
	return c.change(p, func(node *client.Client) (state, error) {
		return node.Move(ctx, c.Bot, c.Conversation, c.To)
	})
}

// aliasCommand shows where a name leads, has it lead to a conversation, or frees it.
type aliasCommand struct {
	Bot          string `arg:"" help:"The bot's name."`
	Alias        string `arg:"" help:"The name."`
	Conversation string `arg:"" optional:"" help:"The conversation to which it is to lead. Without it, the command shows where it leads."`
	Remove       bool   `help:"Free the name."`
	remote
}

// run prints where the name leads after it.
func (c *aliasCommand) run(ctx context.Context, p *program) error {
	if c.Remove && c.Conversation != "" {
		return usageError{errors.New("name a conversation or say --remove, not both")}
	}
	node, err := c.client(p)
	if err != nil {
		return err
	}
	if c.Remove {
		if err := node.RemoveAlias(ctx, c.Bot, c.Alias); err != nil {
			return err
		}
		if c.JSON {
			return p.printJSON(map[string]bool{"removed": true})
		}
		_, err = fmt.Fprintf(p.stdout, "%s leads nowhere\n", conversationName(c.Bot, c.Alias))
		return err
	}
	var got client.Document[onereply.NamedConversation]
	if c.Conversation == "" {
		got, err = node.Alias(ctx, c.Bot, c.Alias)
	} else {
		got, err = node.SetAlias(ctx, c.Bot, c.Alias, c.Conversation)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return p.printJSON(got)
	}
	_, err = fmt.Fprintf(p.stdout, "%s leads to %s\n", conversationName(c.Bot, c.Alias), conversationName(c.Bot, got.Value.Conversation))
	return err
}
