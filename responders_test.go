package onereply_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

// What a responder may do wrong on its first run; on the second it answers. The
// person gets that one answer, and nothing of the first.
func TestResponders(t *testing.T) {
	type answer struct {
		reply onereply.Reply
		err   error
	}
	give := func(r onereply.Reply, err error) func(context.Context) answer {
		return func(context.Context) answer { return answer{r, err} }
	}
	tests := map[string]func(ctx context.Context) answer{
		"panics":             func(context.Context) answer { panic("oops") },
		"fails":              give(onereply.Reply{}, errors.New("no idea")),
		"fails without why":  give(onereply.Reply{}, &onereply.ResponderError{Kind: onereply.ResponderFailed}),
		"is unavailable":     give(onereply.Reply{}, &onereply.ResponderError{Kind: onereply.ResponderUnavailable, Err: errors.New("down")}),
		"spent its quota":    give(onereply.Reply{}, &onereply.ResponderError{Kind: onereply.ResponderQuotaSpent, Err: errors.New("pay")}),
		"answers nothing":    give(onereply.Reply{}, nil),
		"answers blanks":     give(onereply.Reply{Text: " \n", Parts: []string{"", "\t"}}, nil),
		"answers too much":   give(onereply.Reply{Text: strings.Repeat("x", onereply.MaxReplyBytes+1)}, nil),
		"hides too much":     give(onereply.Reply{Text: "x", Parts: []string{strings.Repeat("x", onereply.MaxReplyBytes+1)}}, nil),
		"in too many parts":  give(onereply.Reply{Parts: strings.Split(strings.Repeat("x", onereply.MaxParts+1), "")}, nil),
		"returns too late":   func(ctx context.Context) answer { <-ctx.Done(); return answer{err: ctx.Err()} },
		"returns after long": func(context.Context) answer { <-time.After(65 * time.Second); return answer{err: errors.New("late")} },
		"ignores its ctx": func(context.Context) answer {
			rest(10 * time.Minute)
			return answer{reply: onereply.Reply{Text: "late"}}
		},
	}
	for name, first := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int32
				w := newWorld(t, settings{bot: onereply.Bot{Responder: onereply.ResponderFunc(
					func(ctx context.Context, turn *onereply.Turn) (onereply.Reply, error) {
						if runs.Add(1) == 1 {
							got := first(ctx)
							return got.reply, got.err
						}
						return onereply.Reply{Text: turn.Messages[0].ID}, nil
					})}})
				defer w.close()
				w.say(0, "m")
				rest(20 * time.Minute)
				if err := w.verdict(); err != nil || runs.Load() != 2 {
					t.Errorf("%d runs: %v", runs.Load(), err)
				}
				w.wantPhase(onereply.PhaseIdle)
			})
		})
	}
}

func TestInvalidUTF8IsMadeValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{bot: onereply.Bot{Responder: saying("caf\xe9")}})
		defer w.close()
		w.say(0, "m")
		rest(time.Minute)
		w.wantReplies("caf\uFFFD")
	})
}

func fail(err error) onereply.Responder {
	return onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
		return onereply.Reply{}, err
	})
}

// A turn that fails for good is visible, sends the fallback, and starts again
// with all that waits when it is requeued or somebody writes.
func TestTurnsThatFail(t *testing.T) {
	faults := map[string]error{
		"each attempt":  errors.New("no idea"),
		"a bad request": &onereply.ResponderError{Kind: onereply.ResponderBadRequest, Err: errors.New("no idea")},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, settings{bot: onereply.Bot{Responder: fail(fault), Fallback: "Sorry."}})
				defer w.close()
				w.say(0, "m")
				rest(time.Minute)
				w.wantReplies("Sorry.")
				w.wantPhase(onereply.PhaseFailed)
				if s := w.state(0); !strings.Contains(s.LastError, "no idea") || s.Pending != 1 {
					t.Errorf("the state shows %q, %d that wait", s.LastError, s.Pending)
				}
				if s, err := w.nodes[0].Requeue(t.Context(), "bot", "c"); err != nil || s.Phase != onereply.PhaseCollecting {
					t.Errorf("requeued: %+v, %v", s, err)
				}
				rest(time.Minute)
				w.wantReplies("Sorry.") // once until a turn succeeds
				w.wantTranscript("text of m (pending)", "Sorry. (sent)")
			})
		})
	}
}

func TestAResponderThatHasNothingToSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{bot: onereply.Bot{Responder: onereply.ResponderFunc(
			func(context.Context, *onereply.Turn) (onereply.Reply, error) {
				return onereply.Reply{Silent: true}, nil
			})}})
		defer w.close()
		w.say(0, "m")
		rest(time.Minute)
		w.wantReplies()
		w.wantPhase(onereply.PhaseIdle)
		w.wantTranscript("text of m (closed)", " (no_reply)")
	})
}

// What a responder streams after it was told to end is shown to nobody.
func TestDeltasEndWithTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		w := newWorld(t, settings{bot: onereply.Bot{Responder: onereply.ResponderFunc(
			func(ctx context.Context, turn *onereply.Turn) (onereply.Reply, error) {
				if runs.Add(1) == 1 {
					turn.Delta("early")
					<-ctx.Done()
					turn.Delta("too late")
					return onereply.Reply{}, ctx.Err()
				}
				return onereply.Reply{Text: "m n"}, nil
			})}})
		defer w.close()
		events := w.nodes[0].Subscribe(onereply.EventQuery{})
		w.say(0, "m")
		time.Sleep(2 * time.Second)
		w.say(0, "n")
		rest(time.Minute)
		w.close()
		var deltas []string
		for e := range events.Events {
			if e.Type == "reply.delta" {
				deltas = append(deltas, e.Text)
			}
		}
		if len(deltas) != 1 || deltas[0] != "early" {
			t.Errorf("deltas %q, want the first only", deltas)
		}
	})
}

// A seal holds against newer input, and is refused where that came first.
func TestSeal(t *testing.T) {
	for name, early := range map[string]bool{"in time": true, "too late": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sealed []error
				w := newWorld(t, settings{bot: onereply.Bot{OnNewInput: onereply.ModeDiscard, Responder: onereply.ResponderFunc(
					func(ctx context.Context, turn *onereply.Turn) (onereply.Reply, error) {
						if early {
							sealed = append(sealed, turn.Seal(ctx))
						}
						time.Sleep(5 * time.Second)
						if !early {
							sealed = append(sealed, turn.Seal(ctx))
						}
						var ids []string
						for _, m := range turn.Messages {
							ids = append(ids, m.ID)
						}
						return onereply.Reply{Text: strings.Join(ids, " ")}, nil
					})}})
				defer w.close()
				w.say(0, "m")
				time.Sleep(3 * time.Second)
				w.say(0, "n")
				rest(time.Minute)
				var refused *onereply.Error
				if got := errors.As(sealed[0], &refused) && refused.Code == onereply.CodeConflict; got == early {
					t.Errorf("the first seal: %v", sealed[0])
				}
				if sealed[len(sealed)-1] != nil {
					t.Errorf("the last seal: %v", sealed[len(sealed)-1])
				}
				if err := w.verdict(); err != nil {
					t.Error(err)
				}
				if early {
					w.wantReplies("m", "n")
				} else {
					w.wantReplies("m n")
				}
			})
		})
	}
}
