package echo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/responder/echo"
)

func said(texts ...string) *onereply.Turn {
	turn := &onereply.Turn{}
	for _, text := range texts {
		turn.Messages = append(turn.Messages, onereply.PromptEntry{Text: text})
	}
	return turn
}

func TestAnswer(t *testing.T) {
	photo := said("look")
	photo.Messages = append(photo.Messages, onereply.PromptEntry{Attachments: []onereply.Attachment{{Kind: "image"}, {}}})
	tests := map[string]*onereply.Turn{
		`You said 1 thing: "hi".`:                            said("hi"),
		`You said 3 things: "hi", "are you there?", "ü".`:    said("hi", " are you there?\n", "ü"),
		`You said 2 things: "look", "[image] [attachment]".`: photo,
	}
	for want, turn := range tests {
		reply, err := echo.Responder{Delay: onereply.Zero}.Respond(t.Context(), turn)
		if err != nil || reply.Text != want {
			t.Errorf("got %q, %v, want %q", reply.Text, err, want)
		}
	}
}

func TestAnswerIsBounded(t *testing.T) {
	long := strings.Repeat("x", onereply.MaxTextBytes)
	many := make([]string, onereply.MaxPendingMessages)
	for i := range many {
		many[i] = long
	}
	reply, err := echo.Responder{Delay: onereply.Zero}.Respond(t.Context(), said(many...))
	if err != nil || len(reply.Text) > onereply.MaxReplyBytes || !strings.HasSuffix(reply.Text, "and 9999 more.") {
		t.Errorf("%d bytes, %v: …%s", len(reply.Text), err, reply.Text[max(0, len(reply.Text)-40):])
	}
}

func TestDelay(t *testing.T) {
	for delay, want := range map[time.Duration]time.Duration{0: 2 * time.Second, 8 * time.Second: 8 * time.Second, onereply.Zero: 0} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			if _, err := (echo.Responder{Delay: delay}).Respond(t.Context(), said("hi")); err != nil || time.Since(start) != want {
				t.Errorf("%v: it took %v, %v", delay, time.Since(start), err)
			}
		})
	}
}

func TestCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		superseded := errors.New("superseded")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(superseded) })
		start := time.Now()
		_, err := echo.Responder{}.Respond(ctx, said("hi"))
		if !errors.Is(err, superseded) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func ExampleResponder() {
	responder := echo.Responder{Delay: onereply.Zero}
	reply, err := responder.Respond(context.Background(), &onereply.Turn{
		Messages: []onereply.PromptEntry{{Text: "hello"}, {Text: "is my parcel on its way?"}},
	})
	fmt.Println(reply.Text, err)
	// Output: You said 2 things: "hello", "is my parcel on its way?". <nil>
}
