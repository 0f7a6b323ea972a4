package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/onereply/onereply/console"
	"github.com/onereply/onereply/server/config"
)

// serveCommand runs a node. Its flags are for the settings that differ from node to node
// when all nodes share one configuration file: the address, the store and the name.
type serveCommand struct {
	Config string `default:"onereply.yaml" placeholder:"FILE" help:"The configuration (default: ${default})."`
	Listen string `placeholder:"ADDRESS" help:"host:port to listen on, instead of the configuration's; port 0 takes a free one."`
	Store  string `placeholder:"URL" help:"The store of the conversations, instead of the configuration's."`
	Node   string `placeholder:"NAME" help:"The node's name in leases and logs, instead of the configuration's."`
	logFlags
}

// run reads the configuration now, and again when it changes. It prints every mistake of
// the first reading, or runs the node until it is told to stop. The address is printed once the node listens, and not before: a program that
// started the node waits for this line, and with port 0 it learns the port from it.
// The mistakes are printed without a prefix, one on each line with its place in the
// file, so that an editor can lead there.
func (c *serveCommand) run(ctx context.Context, p *program) error {
	flags := config.Overrides{Listen: c.Listen, Store: c.Store, Node: c.Node}
	if err := flags.Validate(); err != nil {
		return usageError{err}
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	from := &source{file: c.Config, hangups: hangups, read: func() (config.Config, error) {
		return readConfig(c.Config, p.env, flags)
	}}
	from.seen, _ = os.Stat(c.Config) // a file that is not there is told by read
	settings, err := from.read()
	var problems config.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(p.stderr, problems.Error())
		return errReported
	}
	if err != nil {
		return err
	}
	return runNode(ctx, settings, from, frontend{pages: servePages()}, c.logger(p.stderr), func(url string) {
		fmt.Fprintf(p.stdout, "Listening on %s (console: %s%s)\n", url, url, console.Prefix)
	})
}
