package onereply_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/memory"
)

// A whole bot: where conversations live, who answers, who delivers. Three
// messages in a row are one prompt, and get one reply.
func ExampleOpen() {
	ctx := context.Background()
	conversations := memory.New() // or a store that lasts, from store/sqlite
	defer conversations.Close()

	done := make(chan bool)
	app, err := onereply.Open(ctx, conversations, onereply.Options{}, onereply.Bot{
		Name:     "support",
		Debounce: 50 * time.Millisecond,
		Responder: onereply.ResponderFunc(func(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
			return onereply.Reply{Text: "You said: " + strings.ReplaceAll(t.Text(), "\n", " ")}, nil // ask a model here
		}),
		Sender: onereply.SenderFunc(func(ctx context.Context, d *onereply.Delivery) error {
			fmt.Println(d.Text)
			fmt.Println("It answers", d.Covers)
			close(done)
			return nil
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close()

	for id, text := range []string{"hi", "my order is late", "number 4711"} {
		if _, err := app.Receive(ctx, "support", "alice", onereply.Message{ID: fmt.Sprint("m", id+1), Text: text}); err != nil {
			log.Fatal(err)
		}
	}
	<-done
	// Output:
	// You said: hi my order is late number 4711
	// It answers [m1 m2 m3]
}

// A webhook that is delivered twice is one message: the second is acknowledged
// like the first, so that the provider stops, and changes nothing.
func ExampleApp_Receive() {
	ctx := context.Background()
	app := open(onereply.Bot{Name: "support", Responder: saying("Hello!")})
	defer app.Close()

	for range 2 {
		receipt, err := app.Receive(ctx, "support", "alice", onereply.Message{ID: "wamid.1", Text: "hi"})
		fmt.Println(receipt.Outcome, receipt.Version, err)
	}
	// Output:
	// queued 1 <nil>
	// duplicate 1 <nil>
}

// A streamed answer is shown while it is written, to whoever watches. It is a
// reply only once it is committed; a client drops what it showed when the event
// reply.discarded comes instead.
func ExampleTurn_Delta() {
	ctx := context.Background()
	app := open(onereply.Bot{
		Name: "support",
		Responder: onereply.ResponderFunc(func(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
			var reply strings.Builder
			for _, piece := range []string{"Your order ", "is on ", "its way."} { // a model's stream
				t.Delta(piece)
				reply.WriteString(piece)
			}
			return onereply.Reply{Text: reply.String()}, nil
		}),
	})
	defer app.Close()

	events := app.Subscribe(onereply.EventQuery{Bot: "support", Conversation: "alice"})
	defer events.Close()
	app.Receive(ctx, "support", "alice", onereply.Message{Text: "where is it?"})

	for e := range events.Events {
		switch e.Type {
		case "reply.delta":
			fmt.Printf("… %q\n", e.Text)
		case "reply.committed":
			fmt.Println("=", e.Text)
			return
		}
	}
	// Output:
	// … "Your order "
	// … "is on "
	// … "its way."
	// = Your order is on its way.
}

// An agent seals its attempt before it does what can't be undone. From then on
// newer messages wait for the next reply; where they came first, the seal is
// refused, and nothing was done.
func ExampleTurn_Seal() {
	ctx := context.Background()
	done := make(chan bool)
	app := open(onereply.Bot{
		Name:       "shop",
		OnNewInput: onereply.ModeDiscard,
		Responder: onereply.ResponderFunc(func(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
			if err := t.Seal(ctx); err != nil {
				return onereply.Reply{}, err // overtaken: the next attempt sees everything
			}
			fmt.Println("charging the card, once")
			return onereply.Reply{Text: "Thank you, it is ordered."}, nil
		}),
		Sender: onereply.SenderFunc(func(ctx context.Context, d *onereply.Delivery) error {
			fmt.Println(d.Text)
			close(done)
			return nil
		}),
	})
	defer app.Close()

	app.Receive(ctx, "shop", "alice", onereply.Message{Text: "I take two"})
	<-done
	// Output:
	// charging the card, once
	// Thank you, it is ordered.
}

// chat is a channel on which each sentence is a message of its own, and which
// shows a message that is sent twice once.
type chat struct{ shown chan string }

func (c *chat) Capabilities() onereply.Capabilities {
	return onereply.Capabilities{RecognisesRepeats: true, Split: c.split}
}

func (c *chat) split(text string) []string {
	var parts []string
	for _, sentence := range strings.SplitAfter(text, ". ") {
		parts = append(parts, strings.TrimSpace(sentence))
	}
	return parts
}

// Send says what it knows: an error that is certain is tried again with
// back-off, one that is refused is not, and of any other nobody knows whether
// the person has seen the message.
func (c *chat) Send(ctx context.Context, d *onereply.Delivery) error {
	if d.Part == 1 && d.Try == 1 {
		return onereply.NotDeliveredError(errors.New("429 too many requests"))
	}
	c.shown <- fmt.Sprintf("%d of %d, try %d: %s", d.Part+1, len(d.Parts), d.Try, d.Text)
	return nil
}

// A sender says what its channel can do, and what became of a send. The parts
// of a reply arrive in order, each once.
func ExampleCapableSender() {
	ctx := context.Background()
	channel := &chat{shown: make(chan string)}
	app := open(onereply.Bot{Name: "support", Responder: saying("It left today. It arrives on Monday."), Sender: channel})
	defer app.Close()

	app.Receive(ctx, "support", "alice", onereply.Message{Text: "where is it?"})
	fmt.Println(<-channel.shown)
	fmt.Println(<-channel.shown)
	// Output:
	// 1 of 2, try 1: It left today.
	// 2 of 2, try 2: It arrives on Monday.
}

// A person takes over: the bot says nothing more, messages are kept, and what
// the person writes settles them. Then the bot goes on.
func ExampleApp_Pause() {
	ctx := context.Background()
	said := make(chan string)
	app := open(onereply.Bot{
		Name:      "support",
		Responder: saying("I am only a bot."),
		Sender: onereply.SenderFunc(func(ctx context.Context, d *onereply.Delivery) error {
			said <- d.Text
			return nil
		}),
	})
	defer app.Close()

	state, _ := app.Pause(ctx, "support", "alice", onereply.Pause{Reason: "Bob is on it"})
	fmt.Println(state.Phase)
	receipt, _ := app.Receive(ctx, "support", "alice", onereply.Message{Text: "is anybody there?"})
	fmt.Println(receipt.Outcome)
	app.Answer(ctx, "support", "alice", onereply.HumanReply{Text: "Bob here, how can I help?"})
	fmt.Println(<-said)

	app.Resume(ctx, "support", "alice", true)
	app.Receive(ctx, "support", "alice", onereply.Message{Text: "thank you!"})
	fmt.Println(<-said)
	// Output:
	// paused
	// paused
	// Bob here, how can I help?
	// I am only a bot.
}

// open starts an App with one bot, on a store in memory, that does not wait
// long. It is here to keep the examples short.
func open(bot onereply.Bot) *onereply.App {
	bot.Debounce = 20 * time.Millisecond
	app, err := onereply.Open(context.Background(), memory.New(), onereply.Options{}, bot)
	if err != nil {
		log.Fatal(err)
	}
	return app
}

// saying is a model that always says the same.
func saying(text string) onereply.Responder {
	return onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
		return onereply.Reply{Text: text}, nil
	})
}
