// Command onereply runs a node that answers each burst of messages with one
// current reply, and talks to a running one.
//
// It is the only package that knows concrete stores, responders and channels:
// wire.go puts them together, and nothing may import it. It decides nothing about
// conversations: the library and the server do that.
//
// A command goes through these steps. main makes a context that a signal ends. run
// gives the arguments to parse, which finds the command in the grammar of
// command_line.go and fills in its flags. The command's run method does the work, and
// report turns its error into a text and an exit code. Each command is a type, and
// commands that are alike share a file. There are four kinds:
//
//	serve.go, demo.go              run a node; node.go starts and stops it, in order,
//	                               reload.go reads its configuration again, and
//	                               connections.go bounds its connections
//	talk.go, control.go, show.go,  call a running node over HTTP, through internal/client;
//	list.go, tail.go               remote.go has their flags, print.go and timeline.go
//	                               what they print
//	doctor.go, copy.go             work on a store itself, through internal/maintenance
//	check.go, simulate.go,         need neither a node nor a store that people use
//	bench.go, version.go
//
// Results go to the standard output; errors, logs and progress go to the standard error.
// So a result can be piped to another program. Texts that other people wrote are never
// printed as they are: see screen and line in print.go.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/onereply/onereply/server/config"
)

// main hands the process to run: its arguments, its files, its environment and its end.
// Tests call run with others.
func main() {
	os.Exit(run(interruptible(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}

// Exit codes. A command that found something wrong, such as the doctor or check, fails
// too, so that a script can act on it.
const (
	success = 0
	failure = 1
	misuse  = 2 // wrong usage of the command line
)

// interruptible returns a context that ends at the first SIGINT or SIGTERM. A
// second one ends the process at once, without the drain: somebody who presses Ctrl+C
// twice does not want to wait.
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

// program is the outside world of a command: tests replace all of it. A command reads and
// prints through this alone; besides it there are only the files that its flags name.
type program struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	env    config.Lookup
}

// run carries out one command line and returns the exit code. When ctx ends, the command
// stops in order. It returns only once the command has ended all that it started, so a
// test can run it many times in one process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env config.Lookup) int {
	p := &program{stdin: stdin, stdout: screen{stdout}, stderr: screen{stderr}, env: env}
	command, done, err := parse(p, args)
	if err == nil && !done {
		err = command(ctx)
	}
	return p.report(err)
}
