// Command library is a whole bot: it reads lines as the messages of one chat,
// and prints the replies. It is an example, and nothing may import it.
//
// A program that uses the library opens a store, opens an App on it with its bots,
// and hands in messages. Receive returns as soon as a message is stored; the App
// answers on goroutines of its own, and the reply comes later, through the bot's
// Sender. Lines that are typed in quick succession get one reply together. After an
// error of Receive, a channel delivers the message again with the same ID: an ID is
// taken once.
//
// At the end the program drains the App and closes it, and then closes the store.
// Deferred calls run from the last to the first, so the App ends before its store.
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
		Name: "support",
		Responder: onereply.ResponderFunc(func(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
			// Ask your model with t.Chat(); ctx ends when the attempt is superseded.
			return onereply.Reply{Text: "You said: " + strings.ReplaceAll(t.Text(), "\n", " / ")}, ctx.Err()
		}),
		Sender: onereply.SenderFunc(func(_ context.Context, d *onereply.Delivery) error {
			fmt.Printf("%s answers %v: %s\n", d.ID, d.Covers, d.Text)
			return nil
		}),
	})
	if err != nil {
		return err
	}
	defer app.Close() // cuts off what still runs, and gives it back

	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		message := onereply.Message{Text: lines.Text()} // and the ID that your channel gave it
		if _, err := app.Receive(ctx, "support", "chat-17", message); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 25*time.Second)
	defer cancel()
	return app.Drain(ctx) // lets running turns end; what waits is answered by the next start
}
