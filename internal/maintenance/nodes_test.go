package maintenance_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/maintenance"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
)

// A doctor finds nothing in what real nodes do, at any moment of it: bursts,
// edits, deletions, pauses, people who reply, models and channels that fail.
func TestLifeIsWell(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live(t, rand.New(rand.NewPCG(seed, 1)), func(d time.Duration) { time.Sleep(d) })
			})
		})
	}
}

func live(t *testing.T, random *rand.Rand, pass func(time.Duration)) {
	kept := memory.New()
	defer kept.Close()
	app, err := onereply.Open(t.Context(), kept, onereply.Options{Logger: slog.New(slog.DiscardHandler)}, onereply.Bot{
		Name: "support", Debounce: time.Second, MaxWait: 5 * time.Second, OnNewInput: onereply.ModeDiscard,
		Responder: onereply.ResponderFunc(func(ctx context.Context, turn *onereply.Turn) (onereply.Reply, error) {
			pass(2 * time.Second)
			if turn.Attempt%3 == 1 && turn.Number%4 == 0 {
				return onereply.Reply{}, errors.New("the model fails now and then")
			}
			return onereply.Reply{Text: "You said: " + turn.Text()}, nil
		}),
		Sender: onereply.SenderFunc(func(ctx context.Context, d *onereply.Delivery) error {
			pass(time.Second)
			return nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	for i := range 300 {
		act(t, app, random, i)
		pass(time.Duration(random.IntN(1500)) * time.Millisecond)
		if i%10 == 9 {
			expectWell(t, kept)
		}
	}
	synctest.Wait()
	expectWell(t, kept)
}

// act is something that people do. What is refused is refused: they are not
// always right.
func act(t *testing.T, app *onereply.App, random *rand.Rand, i int) {
	ctx, c, edited := t.Context(), fmt.Sprint("c", random.IntN(3)), fmt.Sprint("edited ", i)
	recent := fmt.Sprint("m", max(0, i-random.IntN(8)))
	switch random.IntN(12) {
	case 0:
		app.Edit(ctx, "support", c, recent, onereply.Edit{Text: &edited})
	case 1:
		app.Retract(ctx, "support", c, recent)
	case 2:
		app.Pause(ctx, "support", c, onereply.Pause{Reason: "a human has it"})
	case 3, 4:
		app.Resume(ctx, "support", c, random.IntN(2) == 0)
	case 5:
		app.Answer(ctx, "support", c, onereply.HumanReply{Text: "a person replies"})
	case 6:
		app.Requeue(ctx, "support", c)
	case 7:
		switch random.IntN(3) { // a fresh start, or another name
		case 0:
			app.Reset(ctx, "support", c, "")
		case 1:
			app.SetAlias(ctx, "support", fmt.Sprint("also ", c), c)
		default:
			app.Move(ctx, "support", c, fmt.Sprint(c, " moved ", random.IntN(2)))
		}
	default:
		app.Receive(ctx, "support", c, onereply.Message{ID: fmt.Sprint("m", i), Text: fmt.Sprint("text ", i)})
	}
}

func expectWell(t *testing.T, kept store.Store) {
	t.Helper()
	doctor := maintenance.Doctor{Store: kept, Found: func(f maintenance.Finding) { t.Errorf("%+v", f) }}
	if sums, err := doctor.Run(t.Context()); err != nil || sums.Conversations == 0 {
		t.Fatalf("got %+v, %v", sums, err)
	}
}
