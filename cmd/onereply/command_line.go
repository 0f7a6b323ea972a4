package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/onereply/onereply/internal/proof/simulate"
)

// commandLine is everything that can be typed.
type commandLine struct {
	Demo    demoCommand    `cmd:"" help:"Try it: a node with a demo bot and a page to write to it. Needs nothing else."`
	Serve   serveCommand   `cmd:"" help:"Run a node."`
	Check   checkCommand   `cmd:"" help:"Check a configuration and say every mistake at once."`
	Send    sendCommand    `cmd:"" help:"Send a message to a bot."`
	Reply   replyCommand   `cmd:"" help:"Reply as a human; it closes what waits."`
	Tail    tailCommand    `cmd:"" help:"Follow what happens, live."`
	Show    showCommand    `cmd:"" help:"Show a conversation: its state and its transcript."`
	List    listCommand    `cmd:"" help:"List conversations, newest activity first."`
	Flush   flushCommand   `cmd:"" help:"End the quiet time of a conversation now."`
	Pause   pauseCommand   `cmd:"" help:"Pause a conversation: messages are kept, nothing is answered."`
	Resume  resumeCommand  `cmd:"" help:"Resume a paused conversation."`
	Requeue requeueCommand `cmd:"" help:"Try a failed turn again, and what was set aside."`
	Resend  resendCommand  `cmd:"" help:"Send a reply again whose outcome is unknown, or of which a part is missing."`

	MarkSent markSentCommand `cmd:"" help:"Mark such a reply as sent, without sending anything."`

	Delete deleteCommand `cmd:"" help:"Delete all that is stored of a conversation."`

	Doctor doctorCommand `cmd:"" help:"Examine all that a store holds, and mend what can be mended."`
	Copy   copyCommand   `cmd:"" help:"Copy a store into another, such as the embedded one into PostgreSQL."`

	Simulate simulateCommand `cmd:"" help:"Try the promise: many simulated runs, in which everything breaks."`

	Bench   benchCommand   `cmd:"" help:"Measure how fast this is on this machine, beside what the machine allows."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// runner is a command. Its fields are its flags and arguments.
type runner interface {
	run(ctx context.Context, p *program) error
}

// parse finds the command and its flags. It reports true where all is done
// already: help was printed.
func parse(p *program, args []string) (command func(context.Context) error, done bool, err error) {
	var typed commandLine
	grammar, err := kong.New(&typed,
		kong.Name("onereply"),
		kong.Description("One burst of messages, one reply, and that reply is current."),
		kong.Writers(p.stdout, p.stderr),
		kong.Vars{"faults": strings.Join(simulate.FaultNames(), ", ")},
		kong.Exit(func(int) { done = true }),
		kong.Vars{"measurements": measurementNames()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
	if err != nil {
		return nil, false, fmt.Errorf("describe the command line: %w", err)
	}
	parsed, err := grammar.Parse(args)
	if done {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, usageError{err}
	}
	chosen, ok := parsed.Selected().Target.Addr().Interface().(runner)
	if !ok {
		return nil, false, fmt.Errorf("the command %s can't be run", parsed.Command())
	}
	return func(ctx context.Context) error { return chosen.run(ctx, p) }, false, nil
}

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// report prints an error, if there is one, and returns the exit code.
func (p *program) report(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return success
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "onereply: %s\nSee onereply --help, or --help after a command.\n", err)
		return misuse
	case errors.Is(err, errReported):
		return failure
	}
	fmt.Fprintf(p.stderr, "onereply: %s\n", err)
	return failure
}

// errReported is a failure that was printed already.
var errReported = errors.New("the problems were printed")
