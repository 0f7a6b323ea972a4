package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/onereply/onereply"
)

// victimLease is the lease of the turn whose process is killed.
const victimLease = 2 * time.Second

// generating is what a victim prints when its responder runs.
const generating = "generating"

// takeOver kills a process that generates, and measures how long it takes until
// a new one runs the same turn again.
func takeOver(ctx context.Context, b *bench, t *tally) error {
	if b.Victim == nil {
		t.note = "not measured: this program can't start itself here"
		return nil
	}
	folder, err := b.newFolder()
	if err != nil {
		return err
	}
	killed, err := b.killVictim(ctx, folder)
	if err != nil {
		return err
	}
	restarted := make(chan time.Time, 1)
	n, err := b.openNode(ctx, folder, victimBot(func(context.Context) {
		select {
		case restarted <- time.Now():
		default: // only the first one counts
		}
	}), nil)
	if err != nil {
		return err
	}
	err = errors.New("nobody took the turn over within three leases")
	select {
	case at := <-restarted:
		t.compare("killed while it generates", "until the model runs again", "ms", milliseconds(at.Sub(killed)), milliseconds(victimLease))
		err = nil
	case <-time.After(3 * victimLease):
	case <-ctx.Done():
		err = ctx.Err()
	}
	return errors.Join(err, n.close())
}

// killVictim starts another process, lets it generate and kills it.
func (b *bench) killVictim(ctx context.Context, folder string) (killed time.Time, err error) {
	command := b.Victim(ctx, folder)
	input, err := command.StdinPipe() // its end tells the process that we are gone
	if err != nil {
		return killed, err
	}
	defer input.Close()
	output, err := command.StdoutPipe()
	if err != nil {
		return killed, err
	}
	if err := command.Start(); err != nil {
		return killed, fmt.Errorf("start a second process: %w", err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	killed = time.Now()
	err = errors.Join(err, command.Process.Kill())
	_ = command.Wait() // it was killed, so it failed
	if err == nil && line != generating+"\n" {
		err = fmt.Errorf("the second process said %q", line)
	}
	return killed, err
}

func victimBot(run func(context.Context)) onereply.Bot {
	return onereply.Bot{
		Debounce: onereply.Zero, Lease: victimLease,
		Responder: onereply.ResponderFunc(func(ctx context.Context, _ *onereply.Turn) (onereply.Reply, error) {
			run(ctx)
			return onereply.Reply{Text: "Here I am again."}, nil
		}),
	}
}

// Victim is the process that is killed: a node whose responder never returns. It
// ends by itself when its input does.
func Victim(ctx context.Context, place Place, folder string, in io.Reader, out io.Writer) error {
	b := &bench{Options: Options{Place: place}}
	n, err := b.openNode(ctx, folder, victimBot(func(ctx context.Context) {
		fmt.Fprintln(out, generating)
		<-ctx.Done()
	}), nil)
	if err != nil {
		return err
	}
	err = n.receive(ctx, "chat-0", "m1")
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	return errors.Join(err, n.close())
}
