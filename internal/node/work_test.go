package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A burst becomes one attempt and one send, which know what they are about.
func TestABurst(t *testing.T) {
	var deadline, sendDeadline time.Duration
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Respond = l.responding(func(ctx context.Context, a *Attempt) engine.Response {
			at, _ := ctx.Deadline()
			deadline = time.Until(at)
			pass(100 * time.Millisecond)
			a.Spend(30)
			a.Delta("re")
			pass(100 * time.Millisecond)
			a.Spend(12)
			a.Delta("ply")
			return engine.Response{Text: "reply"}
		})
		b.Send = l.sending(func(ctx context.Context, _ engine.Send) engine.SendResult {
			at, _ := ctx.Deadline()
			sendDeadline = time.Until(at)
			return engine.SendResult{}
		})
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m1")
		l.after(500 * time.Millisecond)
		l.say("m2")
		l.after(10 * time.Second)
		l.wantReplies("reply: m1 m2 (sent)")
		if len(l.attempts) != 1 || len(l.sends) != 1 || deadline != 60*time.Second || sendDeadline != 15*time.Second {
			t.Fatalf("%d attempts within %v, %d sends within %v", len(l.attempts), deadline, len(l.sends), sendDeadline)
		}
		a, s := l.attempts[0], l.sends[0]
		if a.Key != key || a.Turn != 1 || a.Start.Attempt != 1 || a.Through != 2 || a.Lease.Token == 0 || strings.Join(a.Prompt.IDs(), " ") != "m1 m2" {
			t.Errorf("the attempt is %+v", a.Start)
		}
		if s.Key != key || s.Entry == nil || s.Entry.Text != "reply" || s.Lease.Nonce != a.Lease.Nonce {
			t.Errorf("the send is %+v", s)
		}
		deltas := l.eventsOf(engine.Delta)
		if len(deltas) != 2 || deltas[0].Text != "re" || deltas[1].Text != "ply" {
			t.Fatalf("deltas %+v", deltas)
		}
		first := deltas[0]
		want := engine.Event{Key: key, Node: "node", ReplyID: "c/1", Text: "re", Notice: turn.Notice{
			Kind: engine.Delta, At: turn.At(l.began.Add(1600 * time.Millisecond)), Turn: 1, Attempt: 1, Token: a.Lease.Token, Version: 2, Through: 2,
		}}
		if fmt.Sprint(first) != fmt.Sprint(want) {
			t.Errorf("a delta is %+v, want %+v", first, want)
		}
		committed := l.eventsOf(turn.KindReplyCommitted)
		if len(committed) != 1 || committed[0].FirstByte != first.At || committed[0].Node != "node" {
			t.Errorf("committed %+v", committed)
		}
		l.wantLogged(1, "level=DEBUG", "attempt started", "messages=2", "turn=1", "attempt=1", fmt.Sprint("token=", a.Lease.Token), "bot=bot", "conversation=c")
		l.wantLogged(0, "attempt failed")
		l.node.work.mu.Lock()
		defer l.node.work.mu.Unlock()
		if left := len(l.node.work.stops); left != 0 {
			t.Errorf("%d attempts and sends are remembered that have ended", left)
		}
	})
}

// What the model spent on an attempt that is thrown away is counted, and its deltas
// end with it.
func TestAnAttemptThatIsInterrupted(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Respond = l.responding(func(ctx context.Context, a *Attempt) engine.Response {
			a.Spend(42)
			select {
			case <-ctx.Done():
				a.Delta("too late")
				return engine.Response{Fault: turn.Failure, Reason: "cancelled"}
			case <-time.After(5 * time.Second):
				return engine.Response{Text: "reply"}
			}
		})
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m1")
		l.after(2 * time.Second)
		l.say("m2")
		l.after(time.Minute)
		l.wantReplies("reply: m1 m2 (sent)")
		if s, err := l.node.Status(l.t.Context()); err != nil || s.Counters.DiscardedTokens != 42 || s.Counters.Discards != 1 {
			t.Errorf("%+v, %v", s.Counters, err)
		}
		if deltas := l.eventsOf(engine.Delta); len(deltas) != 0 {
			t.Errorf("deltas %+v", deltas)
		}
		l.wantLogged(0, "attempt failed")
		l.wantLogged(1, "level=INFO", "msg=reply.discarded", "reason=superseded", "saw=1", "newest=2")
	})
}

// An attempt that takes too long fails, after just so long.
func TestAnAttemptThatTakesTooLong(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Timeout, b.Policy.MaxAttempts = 5*time.Second, 1
		b.Respond = l.responding(func(ctx context.Context, _ *Attempt) engine.Response {
			<-ctx.Done()
			return engine.Response{Fault: turn.Rejected, Reason: "whatever"}
		})
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m")
		l.until(6*time.Second - time.Millisecond)
		if got := l.record().Phase; got != turn.Generating {
			t.Errorf("just before its time is over the conversation is %s", got)
		}
		l.after(time.Millisecond)
		if r := l.record(); r.Phase != turn.Failed || r.Tries.LastError != "failed: no answer within 5s" {
			t.Errorf("it is %s: %s", r.Phase, r.Tries.LastError)
		}
		l.wantLogged(1, "level=WARN", "attempt failed", "no answer within 5s")
	})
}

// A responder that does not return is left behind, and one that panics fails its
// attempt only.
func TestBadResponders(t *testing.T) {
	tests := map[string]struct {
		respond func(context.Context, *Attempt) engine.Response
		after   time.Duration
		reason  string
		logged  string
	}{
		"panics": {
			func(context.Context, *Attempt) engine.Response { panic("boom") }, time.Second,
			"failed: the responder panicked: boom", `msg="the responder panicked"`,
		},
		"does not return": {
			func(context.Context, *Attempt) engine.Response {
				pass(time.Hour)
				return engine.Response{Text: "x"}
			}, 16 * time.Second,
			"failed: no answer within 5s", "the responder did not return when its context ended",
		},
		"returns a fault late": {
			func(context.Context, *Attempt) engine.Response {
				pass(10 * time.Second)
				return engine.Response{Fault: turn.Failure}
			}, 11 * time.Second,
			"failed: no answer within 5s", "attempt failed",
		},
		"gives a fault": {
			func(context.Context, *Attempt) engine.Response {
				return engine.Response{Fault: turn.Failure, Reason: "no"}
			}, time.Second,
			"no", "attempt failed",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(l *lab, o *Options) {
				b := o.Bots["bot"]
				b.Timeout, b.Policy.MaxAttempts = 5*time.Second, 1
				b.Respond = l.responding(test.respond)
				o.Bots["bot"] = b
			}, func(l *lab) {
				l.say("m")
				l.until(test.after - time.Millisecond)
				if got := l.record().Phase; got == turn.Failed {
					t.Error("it failed too early")
				}
				l.after(time.Millisecond)
				if r := l.record(); r.Phase != turn.Failed || r.Tries.LastError != test.reason {
					t.Errorf("it is %s: %s", r.Phase, r.Tries.LastError)
				}
				l.wantLogged(1, test.logged)
			})
		})
	}
}

// A text that comes after the time is over, but before the responder is left behind,
// is still a reply.
func TestATextThatComesLate(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Timeout = 5 * time.Second
		b.Respond = l.responding(func(context.Context, *Attempt) engine.Response {
			pass(14 * time.Second)
			return engine.Response{Text: "late"}
		})
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m")
		l.after(time.Minute)
		l.wantReplies("late: m (sent)")
		l.wantLogged(0, "attempt failed")
	})
}

// A bot without a sender has its replies in the transcript only, as sent.
func TestABotWithoutASender(t *testing.T) {
	inLab(t, func(_ *lab, o *Options) {
		b := o.Bots["bot"]
		b.Send = nil
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m")
		l.after(2 * time.Second)
		l.wantReplies("reply: m (sent)")
	})
}

// What a sender says of a send reaches the record.
func TestSends(t *testing.T) {
	tests := map[string]struct {
		send   func(context.Context, engine.Send) engine.SendResult
		resend bool
		status string
		sends  int
		logged []string
	}{
		"succeeds": {func(context.Context, engine.Send) engine.SendResult { return engine.SendResult{} }, false, "sent", 1, nil},
		"is refused for good": {
			func(context.Context, engine.Send) engine.SendResult {
				return engine.SendResult{Err: "gone", Certain: true, ForGood: true}
			},
			false, "undelivered", 1, []string{"a send failed", "certain=true", "for_good=true", "err=gone"},
		},
		"is unknown and held": {
			func(context.Context, engine.Send) engine.SendResult { return engine.SendResult{Err: "time-out"} },
			false, "unknown", 1, []string{"a send failed", "certain=false", "for_good=false", "err=time-out"},
		},
		"panics": {
			func(context.Context, engine.Send) engine.SendResult { panic("boom") },
			false, "unknown", 1, []string{"a send failed", "certain=false", "the sender panicked: boom"},
		},
		"takes too long": {
			func(ctx context.Context, _ engine.Send) engine.SendResult {
				<-ctx.Done()
				return engine.SendResult{Err: "cut"}
			},
			false, "unknown", 1, []string{"a send failed", "certain=false", "err=cut"},
		},
		"does not return": {
			func(context.Context, engine.Send) engine.SendResult {
				pass(time.Hour)
				return engine.SendResult{}
			},
			false, "unknown", 1, []string{"the sender did not return when its context ended"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(l *lab, o *Options) {
				b := o.Bots["bot"]
				b.Send, b.Policy.ResendUnknown = l.sending(test.send), test.resend
				o.Bots["bot"] = b
			}, func(l *lab) {
				l.say("m")
				l.after(2 * time.Minute)
				l.wantReplies("reply: m (" + test.status + ")")
				if len(l.sends) != test.sends {
					t.Errorf("%d sends", len(l.sends))
				}
				if test.logged != nil {
					l.wantLogged(1, test.logged...)
				} else {
					l.wantLogged(0, "a send failed")
				}
			})
		})
	}
}

// A send has the bot's time, whatever its lease has left, since that is renewed. None is
// begun where the lease is over: then certainly nothing was delivered.
func TestASendBeginsBeforeItsLeaseEnds(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		now := l.node.clock.Now()
		entry := &store.Entry{Body: store.Body{Text: "reply", Parts: []string{"reply"}}}
		base := engine.Send{Key: key, Lease: turn.Lease{Nonce: "n"}, Reply: turn.Reply{Seq: 2, Done: 3}, Entry: entry}
		var left time.Duration
		calls := 0
		bot := l.node.options.Bots["bot"]
		bot.Send = func(ctx context.Context, s engine.Send) engine.SendResult {
			calls++
			at, _ := ctx.Deadline()
			left = time.Until(at)
			return engine.SendResult{Err: "e", Certain: true, ForGood: true, After: 7}
		}
		l.node.options.Bots["bot"] = bot
		send := func(until time.Duration, ctx context.Context) engine.SendResult {
			s := base
			s.Until = now.Add(until)
			return l.node.deliver(ctx, s, l.node.log)
		}
		want := engine.SendResult{Key: key, Nonce: "n", Part: 3, Entry: entry, Err: "e", Certain: true, ForGood: true, After: 7}
		if got := send(2*time.Second, l.t.Context()); got != want || calls != 1 || left != 15*time.Second {
			t.Errorf("%+v after %d calls with %v left", got, calls, left)
		}
		if send(time.Hour, l.t.Context()); left != 15*time.Second {
			t.Errorf("with a long lease it has %v", left)
		}
		if send(time.Millisecond, l.t.Context()); calls != 3 {
			t.Error("with a little time left it was not tried")
		}
		want = engine.SendResult{Key: key, Nonce: "n", Part: 3, Entry: entry, NotSent: true}
		ended, cancel := context.WithCancel(l.t.Context())
		cancel()
		for name, got := range map[string]engine.SendResult{
			"the time is over": send(0, l.t.Context()), "it is long over": send(-time.Second, l.t.Context()), "its context has ended": send(time.Hour, ended),
		} {
			if got != want || calls != 3 {
				t.Errorf("%s: %+v after %d calls", name, got, calls)
			}
		}
	})
}

// A reply that another node committed is read before it is sent; where that fails,
// certainly nothing was delivered.
func TestAReplyThatMustBeRead(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		l.say("m")
		l.after(2 * time.Second)
		s := l.sends[0]
		s.Entry, s.Until = nil, l.node.clock.Now().Add(time.Minute)
		if got := l.node.deliver(l.t.Context(), s, l.node.log); got.Err != "" || got.Entry == nil || got.Entry.Text != "reply" || got.Key != key || got.Nonce == "" {
			t.Errorf("it is read: %+v", got)
		}
		if last := l.sends[1]; last.Entry == nil || last.Entry.Text != "reply" {
			t.Errorf("the sender was given %+v", last)
		}
		set(l.store, &l.store.list, func(context.Context, store.Key, store.EntryQuery) ([]store.Entry, bool, error) {
			return nil, false, errAway
		})
		got := l.node.deliver(l.t.Context(), s, l.node.log)
		if !got.Certain || got.ForGood || got.NotSent || got.Entry != nil || got.Err != "the reply could not be read: "+errAway.Error() {
			t.Errorf("it can't be read: %+v", got)
		}
		ended, cancel := context.WithCancel(l.t.Context())
		cancel()
		if got = l.node.deliver(ended, s, l.node.log); !got.NotSent {
			t.Errorf("it can't be read because the send was stopped: %+v", got)
		}
	})
}

// Stopping ends what runs under a nonce, and nothing else.
func TestRunning(t *testing.T) {
	r := newRunning()
	a, stopA := context.WithCancelCause(t.Context())
	b, stopB := context.WithCancelCause(t.Context())
	r.add("a", stopA)
	r.add("b", stopB)
	why := errors.New("why")
	r.stop("c", why)
	r.stop("a", why)
	if context.Cause(a) != why || b.Err() != nil {
		t.Errorf("a: %v, b: %v", context.Cause(a), context.Cause(b))
	}
	r.remove("b")
	r.stop("b", why)
	if b.Err() != nil || len(r.stops) != 1 {
		t.Errorf("b was removed, and stopped all the same: %v", r.stops)
	}
	stopB(nil)
}

func TestResults(t *testing.T) {
	cause, tooLong := errors.New("superseded"), fmt.Errorf("%w within 1s", errNoAnswer)
	text := engine.Response{Text: "t"}
	fault := engine.Response{Fault: turn.Outage, Reason: "r", After: 5}
	for name, test := range map[string]struct {
		given      engine.Response
		err, cause error
		want       engine.Response
	}{
		"a text":                     {text, nil, nil, text},
		"a text after the end":       {text, nil, cause, text},
		"a fault":                    {fault, nil, nil, fault},
		"a fault because of the end": {fault, nil, cause, engine.Response{Fault: turn.Failure, Reason: "failed: superseded"}},
		"a fault because of time":    {fault, nil, tooLong, engine.Response{Fault: turn.Failure, Reason: "failed: no answer within 1s"}},
		"a panic":                    {text, cause, nil, engine.Response{Fault: turn.Failure, Reason: "failed: superseded"}},
		"a panic after the end":      {text, errAway, cause, engine.Response{Fault: turn.Failure, Reason: "failed: superseded"}},
	} {
		if got := AttemptResult(test.given, test.err, test.cause); fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	if stopped(nil) || stopped(tooLong) || !stopped(cause) {
		t.Error("a responder that took too long was not told to end, one that was superseded was")
	}
}

// What an attempt is told of while it runs: why it should end.
func TestAnAttemptLearnsWhyItEnds(t *testing.T) {
	var causes []string
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Respond = l.responding(func(ctx context.Context, _ *Attempt) engine.Response {
			<-ctx.Done()
			causes = append(causes, context.Cause(ctx).Error())
			return engine.Response{Fault: turn.Failure}
		})
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m1")
		l.after(2 * time.Second)
		l.say("m2")
		l.after(2 * time.Second)
		l.submit(engine.Request{Op: engine.Pause})
		l.after(time.Second)
		if want := []string{turn.Superseded, turn.WasPaused}; !slices.Equal(causes, want) {
			t.Errorf("causes %q, want %q", causes, want)
		}
	})
}
