package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/onereply/onereply/internal/client"
	"github.com/onereply/onereply/internal/proof/simulate"
)

// commandLine is the grammar of the command line: one field for each command, in the
// order of the help. Tags hold all that kong needs: names, defaults and help. Flags that
// several commands share are embedded structs, such as remote and target.
type commandLine struct {
	Demo    demoCommand    `cmd:"" help:"Try it: a node with a demo bot, and a page on which you write to it. Needs nothing else."`
	Serve   serveCommand   `cmd:"" help:"Run a node."`
	Check   checkCommand   `cmd:"" help:"Check a configuration and name every mistake in it."`
	Send    sendCommand    `cmd:"" help:"Send a message to a bot."`
	Reply   replyCommand   `cmd:"" help:"Reply as a human, and close all waiting messages, unless told otherwise."`
	Tail    tailCommand    `cmd:"" help:"Follow the events as they happen."`
	Show    showCommand    `cmd:"" help:"Show a conversation: its state and its transcript."`
	List    listCommand    `cmd:"" help:"List conversations, newest activity first."`
	Flush   flushCommand   `cmd:"" help:"End the quiet time of a conversation now."`
	Pause   pauseCommand   `cmd:"" help:"Pause a conversation: messages are kept, nothing is answered."`
	Resume  resumeCommand  `cmd:"" help:"Resume a paused conversation."`
	Reset   resetCommand   `cmd:"" help:"Begin afresh: close waiting messages, and forget what was said for later turns."`
	Move    moveCommand    `cmd:"" help:"Give a conversation another key; the old one goes on leading there."`
	Alias   aliasCommand   `cmd:"" help:"Show where a name leads, have it lead to a conversation, or free it."`
	Requeue requeueCommand `cmd:"" help:"Try a failed turn again, and messages that were set aside."`
	Resend  resendCommand  `cmd:"" help:"Send a reply again whose outcome is unknown, or of which only a part was sent."`

	MarkSent markSentCommand `cmd:"" help:"Mark such a reply as sent. Sends nothing."`

	Channel channelCommand `cmd:"" help:"See how a bot's chat platforms stand, and connect them."`

	Delete deleteCommand `cmd:"" help:"Delete a conversation with everything stored of it."`

	Doctor doctorCommand `cmd:"" help:"Examine everything in a store, and mend what can be mended without guessing."`
	Copy   copyCommand   `cmd:"" help:"Copy a store into another, such as the embedded one into PostgreSQL."`

	Simulate simulateCommand `cmd:"" help:"Test the promise in many simulated runs in which everything breaks."`

	Bench   benchCommand   `cmd:"" help:"Measure this program's speed on this machine, beside the machine's own limits."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// runner is a command. Its fields are its flags and arguments. An error of run is
// printed by report; a mistake in the flags is a usageError.
type runner interface {
	run(ctx context.Context, p *program) error
}

// parse finds the command and its flags. done is true where help was printed, and nothing
// is left to do. kong would end the process after help, and a test with it; the Exit
// option sets done instead. A mistake of the caller is a usageError, and any other error
// is a fault in the grammar. The variables put lists that other packages own into the
// help, so that the help can't become wrong.
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
		return nil, false, usageError{unknownCommand(err)}
	}
	chosen, ok := parsed.Selected().Target.Addr().Interface().(runner)
	if !ok {
		return nil, false, fmt.Errorf("the command %s can't be run", parsed.Command())
	}
	return func(ctx context.Context) error { return chosen.run(ctx, p) }, false, nil
}

// unknownCommand says of a first argument that is no command that it is none. kong calls
// it unexpected, as it does with one too many.
func unknownCommand(err error) error {
	var wrong *kong.ParseError
	rest, unexpected := strings.CutPrefix(err.Error(), "unexpected argument ")
	if unexpected && errors.As(err, &wrong) && wrong.Context.Selected() == nil {
		return fmt.Errorf("there is no command %s", rest)
	}
	return err
}

// usageError is a mistake in the command line: the exit code is 2, and the text is
// followed by a hint at the help.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// report prints an error, if there is one, and returns the exit code. Each error that the
// command has not printed itself is printed here and nowhere else, so all look alike.
//
// A node's refusal is made one line: its text is the server's, and must not look like
// several of ours.
func (p *program) report(err error) int {
	var usage usageError
	var refusal *client.Error
	switch {
	case err == nil:
		return success
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "onereply: %s\nSee onereply --help, or --help after a command.\n", err)
		return misuse
	case errors.Is(err, errReported):
		return failure
	case errors.As(err, &refusal):
		fmt.Fprintf(p.stderr, "onereply: %s\n", line(err.Error()))
		return failure
	}
	fmt.Fprintf(p.stderr, "onereply: %s\n", err)
	return failure
}

// errReported makes the exit code 1 for problems that the command has printed itself,
// such as the findings of the doctor.
var errReported = errors.New("the problems were printed")
