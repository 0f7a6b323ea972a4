package node

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
)

// People are shown that a turn is being written, at its start and every four seconds,
// until the responder has returned. A signal that fails changes nothing.
func TestTyping(t *testing.T) {
	for _, typing := range []bool{true, false} {
		var at []time.Duration
		inLab(t, func(l *lab, o *Options) {
			b := o.Bots["bot"]
			b.Typing = typing
			b.Respond = l.responding(func(context.Context, *Attempt) engine.Response {
				pass(10 * time.Second)
				return engine.Response{Text: "reply"}
			})
			b.Signal = func(ctx context.Context, s Signal) error {
				if end, _ := ctx.Deadline(); time.Until(end) != 5*time.Second {
					l.t.Errorf("a signal may take %v", time.Until(end))
				}
				if s.Key != key || s.Kind != "typing" || s.Turn != 1 || s.Message != "m" {
					l.t.Errorf("signal %+v", s)
				}
				at = append(at, time.Since(l.began))
				return errAway
			}
			o.Bots["bot"] = b
		}, func(l *lab) {
			l.say("m")
			l.until(time.Minute)
			var want []time.Duration
			if typing {
				want = []time.Duration{time.Second, 5 * time.Second, 9 * time.Second}
			}
			if !slices.Equal(at, want) {
				l.t.Errorf("signals at %v, want %v", at, want)
			}
			l.wantLogged(len(want), "level=DEBUG", "a signal was not given", errAway.Error())
			l.wantReplies("reply: m (sent)")
		})
	}
}

// A signal that the end of the turn cuts off is no failure.
func TestTypingEndsWithTheTurn(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Typing = true
		b.Respond = l.responding(func(context.Context, *Attempt) engine.Response {
			pass(time.Second)
			return engine.Response{Text: "reply"}
		})
		b.Signal = func(ctx context.Context, _ Signal) error { <-ctx.Done(); return ctx.Err() }
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m")
		l.until(time.Minute)
		l.wantLogged(0, "a signal was not given")
		l.wantReplies("reply: m (sent)")
	})
}
