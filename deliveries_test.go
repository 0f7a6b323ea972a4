package onereply_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

// receiver is a sender whose first sends go wrong as told, one after the other;
// it notes each part that it was given.
type receiver struct {
	can   onereply.Capabilities
	wrong []func(ctx context.Context) error
	tries []string // "part 0, try 1: text"; read it in a state of rest
	took  []time.Time
}

func (r *receiver) Capabilities() onereply.Capabilities { return r.can }

func (r *receiver) Send(ctx context.Context, d *onereply.Delivery) error {
	r.tries = append(r.tries, fmt.Sprintf("part %d, try %d: %s", d.Part, d.Try, d.Text))
	r.took = append(r.took, time.Now())
	if len(r.wrong) == 0 {
		return nil
	}
	wrong := r.wrong[0]
	r.wrong = r.wrong[1:]
	return wrong(ctx)
}

// giving is a send that ends with an error.
func giving(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func delivered(context.Context) error { return nil }

// parts answers every turn in several messages.
func parts(texts ...string) onereply.Responder {
	return onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
		return onereply.Reply{Parts: texts}, nil
	})
}

// How a send may go wrong, what is tried, and what the transcript says in the
// end.
func TestSenders(t *testing.T) {
	later := giving(onereply.NotDeliveredError(errors.New("busy")))
	refused := giving(onereply.RefusedError(errors.New("no such chat")))
	unknown := giving(errors.New("connection lost"))
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	tests := map[string]struct {
		wrong  []func(context.Context) error
		rule   onereply.UnknownSend
		can    onereply.Capabilities
		tries  []string
		status onereply.Status
	}{
		"all goes well": {tries: []string{"part 0, try 1: one", "part 1, try 1: two"}, status: onereply.StatusSent},
		"certainly not delivered": {
			wrong: []func(context.Context) error{delivered, later, later}, status: onereply.StatusSent,
			tries: []string{"part 0, try 1: one", "part 1, try 1: two", "part 1, try 2: two", "part 1, try 3: two"},
		},
		"refused": {
			wrong: []func(context.Context) error{refused}, status: onereply.StatusUndelivered,
			tries: []string{"part 0, try 1: one"},
		},
		"refused half way": {
			wrong: []func(context.Context) error{delivered, refused}, status: onereply.StatusPartial,
			tries: []string{"part 0, try 1: one", "part 1, try 1: two"},
		},
		"unknown, of a receiver that can't tell": {
			wrong: []func(context.Context) error{unknown}, status: onereply.StatusUnknown,
			tries: []string{"part 0, try 1: one"},
		},
		"unknown, of one that can": {
			wrong: []func(context.Context) error{unknown}, can: onereply.Capabilities{RecognisesRepeats: true}, status: onereply.StatusSent,
			tries: []string{"part 0, try 1: one", "part 0, try 2: one", "part 1, try 1: two"},
		},
		"unknown, to be held all the same": {
			wrong: []func(context.Context) error{unknown}, can: onereply.Capabilities{RecognisesRepeats: true}, rule: onereply.UnknownHold,
			tries: []string{"part 0, try 1: one"}, status: onereply.StatusUnknown,
		},
		"unknown, to be sent again all the same": {
			wrong: []func(context.Context) error{unknown}, rule: onereply.UnknownResend, status: onereply.StatusSent,
			tries: []string{"part 0, try 1: one", "part 0, try 2: one", "part 1, try 1: two"},
		},
		"a panic":               {wrong: []func(context.Context) error{func(context.Context) error { panic("oops") }}, tries: []string{"part 0, try 1: one"}, status: onereply.StatusUnknown},
		"a time-out":            {wrong: []func(context.Context) error{hangs}, tries: []string{"part 0, try 1: one"}, status: onereply.StatusUnknown},
		"an ignored ctx":        {wrong: []func(context.Context) error{func(context.Context) error { <-time.After(time.Hour); return nil }}, tries: []string{"part 0, try 1: one"}, status: onereply.StatusUnknown},
		"an error without text": {wrong: []func(context.Context) error{giving(&onereply.SendError{NotDelivered: true, Permanent: true})}, tries: []string{"part 0, try 1: one"}, status: onereply.StatusUndelivered},
		"all parts in one": {
			can: onereply.Capabilities{AllParts: true}, tries: []string{"part -1, try 1: one\ntwo"}, status: onereply.StatusSent,
		},
		"parts that are cut": {
			can:   onereply.Capabilities{Split: func(text string) []string { return strings.SplitAfter(text, "n") }},
			tries: []string{"part 0, try 1: on", "part 1, try 1: e", "part 2, try 1: two"}, status: onereply.StatusSent,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{can: test.can, wrong: test.wrong}
				w := newWorld(t, settings{bot: onereply.Bot{Responder: parts("one", "two"), Sender: r, UnknownSend: test.rule}})
				defer w.close()
				w.say(0, "m")
				rest(2 * time.Minute)
				if !slices.Equal(r.tries, test.tries) {
					t.Errorf("tried %q, want %q", r.tries, test.tries)
				}
				page, err := w.nodes[0].Transcript(t.Context(), "bot", "c", 1, 1)
				if err != nil || len(page.Entries) != 1 || page.Entries[0].Status != test.status {
					t.Errorf("the reply is %+v, %v; want %s", page.Entries, err, test.status)
				}
				if s := w.state(0); s.Lease != nil || s.Phase == onereply.PhaseSending {
					t.Errorf("it is not over: %+v", s)
				}
			})
		})
	}
}

// A receiver that names the moment is not asked before it; one that fails for
// too long is given up.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{wrong: []func(context.Context) error{giving(&onereply.SendError{NotDelivered: true, RetryAfter: 5 * time.Minute, Err: errors.New("slow down")})}}
		w := newWorld(t, settings{bot: onereply.Bot{Responder: saying("hello"), Sender: r}})
		defer w.close()
		w.say(0, "m")
		rest(10 * time.Minute)
		if len(r.took) != 2 || r.took[1].Sub(r.took[0]) < 5*time.Minute {
			t.Errorf("tried at %v", r.took)
		}
		w.wantTranscript("text of m (answered)", "hello (sent)")
	})
	synctest.Test(t, func(t *testing.T) {
		later := slices.Repeat([]func(context.Context) error{giving(onereply.NotDeliveredError(errors.New("busy")))}, 1000)
		w := newWorld(t, settings{bot: onereply.Bot{Responder: saying("hello"), Sender: &receiver{wrong: later}, RetryFor: time.Hour}})
		defer w.close()
		w.say(0, "m")
		rest(2 * time.Hour)
		w.wantPhase(onereply.PhaseFailed)
		w.wantTranscript("text of m (pending)", "hello (undelivered)")
	})
}

// A reply that certainly reached nobody and was overtaken is withdrawn, and its
// messages are answered afresh.
func TestAnOvertakenReplyIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{wrong: []func(context.Context) error{giving(onereply.NotDeliveredError(errors.New("busy")))}}
		w := newWorld(t, settings{model: time.Second, bot: onereply.Bot{Sender: r}})
		defer w.close()
		w.say(0, "m")
		w.until(2700 * time.Millisecond) // the first try has failed
		w.say(0, "n")
		rest(time.Minute)
		if want := []string{"part 0, try 1: m", "part 0, try 1: m n"}; !slices.Equal(r.tries, want) {
			t.Errorf("tried %q, want %q", r.tries, want)
		}
		w.wantTranscript("text of m (answered)", "m (withdrawn)", "text of n (answered)", "m n (sent)")
	})
}

// Without a sender, replies go to the transcript.
func TestWithoutASender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		defer w.close()
		app, err := onereply.Open(t.Context(), w.store, onereply.Options{}, onereply.Bot{Name: "silent", Responder: saying("hello")})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		if _, err := app.Receive(t.Context(), "silent", "c", onereply.Message{Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		rest(time.Minute)
		page, err := app.Transcript(t.Context(), "silent", "c", 0, 0)
		if err != nil || len(page.Entries) != 2 || page.Entries[1].Status != onereply.StatusSent {
			t.Errorf("the transcript: %+v, %v", page.Entries, err)
		}
	})
}
