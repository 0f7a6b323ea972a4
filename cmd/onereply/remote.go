package main

import (
	"github.com/onereply/onereply/internal/client"
)

// defaultServer is the address of a node with the default configuration, so that on the
// node's own machine the commands need no flag.
const defaultServer = "http://127.0.0.1:8080"

// remote are the flags of commands that talk to a running node. Each such command embeds
// it. With JSON a command prints what the node answered, with fields that this
// program may not know.
type remote struct {
	Server string `placeholder:"URL" help:"The node to talk to (default: ONEREPLY_SERVER, else http://127.0.0.1:8080)."`
	APIKey string `name:"api-key" placeholder:"KEY" help:"One of its API keys (default: ONEREPLY_API_KEY; other users of this machine can see a flag)."`
	JSON   bool   `name:"json" help:"Print what the node answers as JSON."`
}

// client makes a client of the node. It connects with the first call, so an error here
// is a mistake in the URL.
func (r remote) client(p *program) (*client.Client, error) {
	server := p.either(r.Server, "ONEREPLY_SERVER")
	if server == "" {
		server = defaultServer
	}
	node, err := client.New(server, p.either(r.APIKey, "ONEREPLY_API_KEY"))
	if err != nil {
		return nil, usageError{err}
	}
	return node, nil
}

// either is the flag, or the environment variable where the flag is absent. The
// environment suits keys: other users of the machine can list flags.
func (p *program) either(flag, variable string) string {
	if flag != "" {
		return flag
	}
	value, _ := p.env(variable)
	return value
}

// target is the conversation that a command is about. Its two arguments stand before all
// others.
type target struct {
	Bot          string `arg:"" help:"The bot's name."`
	Conversation string `arg:"" help:"The conversation's key."`
}
