package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onereply/onereply/console"
	"github.com/onereply/onereply/server/config"
)

// serveCommand runs a node.
type serveCommand struct {
	Config string `default:"onereply.yaml" placeholder:"FILE" help:"The configuration (default: ${default})."`
	Listen string `placeholder:"ADDRESS" help:"host:port to listen on, instead of the configuration's; port 0 takes a free one."`
	Store  string `placeholder:"URL" help:"The store of the conversations, instead of the configuration's."`
	Node   string `placeholder:"NAME" help:"The node's name in leases and logs, instead of the configuration's."`
	logFlags
}

// run prints every mistake of the configuration, or runs the node until it is told to
// stop.
func (c *serveCommand) run(ctx context.Context, p *program) error {
	settings, err := readConfig(c.Config, p.env, config.Overrides{Listen: c.Listen, Store: c.Store, Node: c.Node})
	var problems config.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(p.stderr, problems.Error())
		return errReported
	}
	if err != nil {
		return err
	}
	return runNode(ctx, settings, frontend{pages: servePages()}, c.logger(p.stderr), func(url string) {
		fmt.Fprintf(p.stdout, "Listening on %s (console: %s%s)\n", url, url, console.Prefix)
	})
}
