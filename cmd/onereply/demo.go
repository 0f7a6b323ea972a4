package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/onereply/onereply/console"
	"github.com/onereply/onereply/server/config"
)

// demoConfig is the configuration of the demo's node. Its conversations end with the
// command, so there is nothing to drain. The hard cap is short, so that somebody who
// types without a pause sees it work. The echo responder needs no key and no network.
const demoConfig = `
drain: 0s
bots:
  demo:
    max_wait: 4s
    responder:
      kind: echo
`

// demoCommand runs a node that needs nothing else, with a page on which anybody can try
// it. It is a node like that of serve, with the same engine and a store on the disk;
// only its configuration, its responder, its pages and its log level are its own.
type demoCommand struct {
	Channel string `enum:",telegram,whatsapp,slack" default:"" placeholder:"KIND" help:"Show the way of one burst on a fake of this chat platform: telegram, whatsapp or slack."`
	Listen  string `default:"127.0.0.1:0" placeholder:"ADDRESS" help:"host:port on this machine; port 0 takes a free one (default: ${default})."`
	Store   string `placeholder:"URL" help:"Keep the conversations there, such as sqlite:./demo.db (default: a temporary file)."`
}

// run refuses addresses that other machines reach: the demo has no keys, so anybody
// there could use it. The log starts at warnings, so that the line with the address is
// all that a person sees. The temporary store is removed last, after the node closed it.
func (c *demoCommand) run(ctx context.Context, p *program) error {
	if !config.Loopback(c.Listen) {
		return usageError{fmt.Errorf("the demo has no API keys, so it listens on this machine only: give --listen 127.0.0.1:PORT, not %s", c.Listen)}
	}
	store, remove, err := c.store()
	if err != nil {
		return err
	}
	defer remove()
	overrides := config.Overrides{Listen: c.Listen, Store: store}
	text, announce := demoConfig, func(url string) {
		fmt.Fprintf(p.stdout, "Open %s/ and click send as fast as you can. The console is at %s%s. Ctrl+C ends the demo.\n", url, url, console.Prefix)
	}
	if c.Channel != "" {
		shown, own, err := startChannelDemo(c.Channel, p.stdout)
		if err != nil {
			return err
		}
		defer shown.close()
		text, announce = own, func(url string) { go shown.play(ctx, url) }
	}
	settings, err := config.Parse("demo", []byte(text), p.env, overrides)
	if err != nil {
		return usageError{err}
	}
	log := logFlags{Level: "warn", Format: "text"}.logger(p.stderr)
	return runNode(ctx, settings, nil, frontend{pages: demoPages(), demo: &demo{}}, log, announce)
}

// store is the URL of the demo's store, and a function that removes it. A store that the
// person named is kept. The temporary one is a file and not memory, so the demo runs on
// the kind of store that a node has by default.
func (c *demoCommand) store() (url string, remove func(), err error) {
	if c.Store != "" {
		return c.Store, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "onereply-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	// A folder that can't be removed is left to the system, as all temporary files are.
	return "sqlite:" + filepath.Join(folder, "onereply.db"), func() { _ = os.RemoveAll(folder) }, nil
}
