// Command library is a whole bot on the library: it reads lines from the
// standard input as the messages of one conversation, and prints the replies.
// It is an example, and nothing may import it.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/sqlite"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	conversations, err := sqlite.Open("bot.db", sqlite.Options{})
	if err != nil {
		return err
	}
	defer conversations.Close() // after the App

	app, err := onereply.Open(ctx, conversations, onereply.Options{}, onereply.Bot{
		Name:      "support",
		Responder: onereply.ResponderFunc(respond),
		Sender:    onereply.SenderFunc(send),
	})
	if err != nil {
		return err
	}
	defer app.Close()

	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		receipt, err := app.Receive(ctx, "support", "chat-17", onereply.Message{Text: lines.Text()})
		if err != nil {
			return err
		}
		fmt.Println(receipt.Outcome, "version", receipt.Version)
	}
	return drain(ctx, app)
}

// respond asks your model. Its context ends when the attempt is superseded.
func respond(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
	return onereply.Reply{Text: "You said: " + strings.ReplaceAll(t.Text(), "\n", " / ")}, ctx.Err()
}

// send brings the reply to the person. An error that is no SendError means that
// nobody knows whether it arrived.
func send(_ context.Context, d *onereply.Delivery) error {
	fmt.Printf("%s answers %v: %s\n", d.ID, d.Covers, d.Text)
	return nil
}

// drain lets running turns end. What still waits by then is in the store, and
// is answered by the next start.
func drain(ctx context.Context, app *onereply.App) error {
	ctx, cancel := context.WithTimeout(ctx, 25*time.Second)
	defer cancel()
	return app.Drain(ctx)
}
