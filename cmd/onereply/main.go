// Command onereply runs a node that answers each burst of messages with one
// current reply, and talks to a running one.
//
// It is the only package that knows concrete stores, responders and channels:
// wire.go puts them together, and nothing may import it.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/onereply/onereply/server/config"
)

func main() {
	os.Exit(run(interruptible(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}

// Exit codes.
const (
	success = 0
	failure = 1
	misuse  = 2 // wrong usage of the command line
)

// interruptible returns a context that ends at the first SIGINT or SIGTERM. A
// second one ends the process at once.
func interruptible() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(failure)
	}()
	return ctx
}

// program is the outside world of a command: tests replace all of it.
type program struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	env    config.Lookup
}

// run carries out one command line and returns the exit code. When ctx ends, the command
// stops in order.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env config.Lookup) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, env: env}
	command, done, err := parse(p, args)
	if err == nil && !done {
		err = command(ctx)
	}
	return p.report(err)
}
