package node

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A write that fails is told to the caller, logged, and makes the node unready.
func TestAWriteThatFails(t *testing.T) {
	for _, fault := range []error{fmt.Errorf("%w: full", store.ErrNotApplied), store.ErrUnknown} {
		inLab(t, nil, func(l *lab) {
			set(l.store, &l.store.commit, func(ctx context.Context, w store.Write) (store.Result, error) {
				if at, ok := ctx.Deadline(); !ok || time.Until(at) != storeTimeout {
					l.t.Errorf("the store has %v", time.Until(at))
				}
				return store.Result{}, fault
			})
			_, err := l.node.Submit(l.t.Context(), &engine.Request{Key: key, Op: engine.Receive, ID: "m", Body: store.Body{Text: "x"}})
			if !errors.Is(err, engine.ErrUnavailable) {
				l.t.Errorf("%v", err)
			}
			if err := l.node.Ready(l.t.Context()); !errors.Is(err, fault) {
				l.t.Errorf("Ready: %v", err)
			}
			lines := l.logged("level=ERROR", "a write failed", "bot=bot", "conversation=c", "turn=", "token=",
				fmt.Sprint("not_applied=", errors.Is(fault, store.ErrNotApplied)))
			if len(lines) != 1 {
				l.t.Errorf("the log has %q", lines)
			}
			set(l.store, &l.store.commit, nil)
			l.after(time.Second)
			l.say("m2")
			if err := l.node.Ready(l.t.Context()); err != nil {
				l.t.Errorf("after a write that succeeded: %v", err)
			}
		})
	}
}

// laterStore answers commits by a call.
type laterStore struct {
	*faultStore
	later int
}

func (s *laterStore) CommitLater(w *store.Write, done func(store.Result, error)) {
	s.later++
	go func() {
		pass(100 * time.Millisecond)
		done(s.Store.Commit(context.Background(), *w))
	}()
}

// A store that answers commits by a call is used so, and the node waits for what is
// under way there.
func TestCommitLater(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		s := &laterStore{faultStore: l.store}
		set(l.store, &l.store.commit, func(context.Context, store.Write) (store.Result, error) {
			l.t.Error("it was written twice")
			return store.Result{}, store.ErrNotApplied
		})
		clock, _ := NewClock(l.t.Context(), s)
		o := l.node.options
		o.Name, o.Instance = "later", "later"
		n := New(s, clock, o)
		n.Start()
		r := engine.Request{Key: key, Op: engine.Receive, ID: "m", Body: store.Body{Text: "x"}}
		if got, err := n.Submit(l.t.Context(), &r); err != nil || got.Version != 1 || s.later != 1 {
			l.t.Errorf("%+v, %v after %d", got, err, s.later)
		}
		go func() {
			r := engine.Request{Key: key, Op: engine.Receive, ID: "m2", Body: store.Body{Text: "x"}}
			_, _ = n.Submit(context.Background(), &r)
		}()
		synctest.Wait()
		n.Stop()
		n.Wait()
		if r := l.record(); r.Version != 2 {
			l.t.Error("Wait did not wait for the write")
		}
	})
}

// A read that fails is logged by what it means for the operator.
func TestAReadThatFails(t *testing.T) {
	for want, fault := range map[string]error{
		"a newer version of the program wrote this conversation": store.ErrNewerSchema,
		"what is stored of this conversation can't be read":      store.ErrCorrupt,
		"a read failed": errAway,
	} {
		inLab(t, nil, func(l *lab) {
			set(l.store, &l.store.load, func(ctx context.Context, _ store.Key) (store.Snapshot, error) {
				if at, ok := ctx.Deadline(); !ok || time.Until(at) != storeTimeout {
					l.t.Errorf("the store has %v", time.Until(at))
				}
				return store.Snapshot{}, fault
			})
			_, err := l.node.Submit(l.t.Context(), &engine.Request{Key: key, Op: engine.Retract, ID: "m"})
			if !errors.Is(err, fault) {
				l.t.Errorf("%v", err)
			}
			l.wantLogged(1, "level=ERROR msg=\""+want, "bot=bot", "conversation=c", fault.Error())
		})
	}
}

// A write that meets a record which can't be read is no failure of the store.
func TestAWriteThatMeetsAnUnreadableRecord(t *testing.T) {
	for want, fault := range map[string]error{
		"a newer version of the program wrote this conversation": store.ErrNewerSchema,
		"what is stored of this conversation can't be read":      store.ErrCorrupt,
	} {
		inLab(t, nil, func(l *lab) {
			set(l.store, &l.store.commit, func(context.Context, store.Write) (store.Result, error) {
				return store.Result{}, fmt.Errorf("%w: %w", store.ErrNotApplied, fault)
			})
			_, err := l.node.Submit(l.t.Context(), &engine.Request{Key: key, Op: engine.Receive, ID: "m", Body: store.Body{Text: "x"}})
			if !errors.Is(err, fault) {
				l.t.Errorf("%v", err)
			}
			if err := l.node.Ready(l.t.Context()); err != nil {
				l.t.Errorf("Ready: %v", err)
			}
			l.wantLogged(1, "level=ERROR msg=\""+want, "bot=bot", "conversation=c", fault.Error())
		})
	}
}

// A prompt that can't be read is tried again, and logged.
func TestAPromptThatCantBeRead(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		set(l.store, &l.store.list, func(context.Context, store.Key, store.EntryQuery) ([]store.Entry, bool, error) {
			return nil, false, errAway
		})
		l.say("m")
		l.after(1500 * time.Millisecond)
		l.wantLogged(1, "level=ERROR", "the prompt could not be read", errAway.Error())
		set(l.store, &l.store.list, nil)
		l.after(time.Minute)
		l.wantReplies("reply: m (sent)")
	})
}

// A deletion that fails is logged and told to the caller; one that succeeds removes
// everything.
func TestDeletions(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		l.say("m")
		set(l.store, &l.store.delete, func(ctx context.Context, _ store.Key) error {
			if at, ok := ctx.Deadline(); !ok || time.Until(at) != storeTimeout {
				l.t.Errorf("the store has %v", time.Until(at))
			}
			return errAway
		})
		if _, err := l.node.Submit(l.t.Context(), &engine.Request{Key: key, Op: engine.Forget}); !errors.Is(err, engine.ErrUnavailable) {
			l.t.Errorf("%v", err)
		}
		l.wantLogged(1, "level=ERROR", "a conversation could not be deleted", "bot=bot", "conversation=c", errAway.Error())
		set(l.store, &l.store.delete, nil)
		l.submit(engine.Request{Op: engine.Forget})
		if r := l.record(); r.Exists() {
			l.t.Errorf("it is still there: %+v", r)
		}
		l.wantLogged(1, "a conversation could not be deleted")
	})
}

// A timer that another node left is claimed, also where it is of a conversation that
// this node never saw.
func TestClaims(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Policy.Debounce = 3 * time.Second
		o.Bots["bot"] = b
		l.leftBehind(*o, time.Second)
	}, func(l *lab) {
		l.until(3*time.Second - time.Millisecond)
		if len(l.attempts) != 0 {
			l.t.Error("it began before it was due")
		}
		l.until(3500 * time.Millisecond)
		l.wantReplies("reply: m (sent)")
	})
}

// While a node stops, what the store can no longer do is no failure of the store.
func TestClaimsThatTheEndCutsOff(t *testing.T) {
	inLab(t, func(l *lab, _ *Options) {
		l.store.claim = func(ctx context.Context, _ turn.Time, _ int, _ time.Duration, _ []string) ([]store.Timer, error) {
			if at, ok := ctx.Deadline(); !ok || time.Until(at) != storeTimeout {
				l.t.Errorf("the store has %v", time.Until(at))
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}, func(l *lab) {
		l.after(time.Second)
		l.node.Stop()
		l.node.Wait()
		l.wantLogged(0, "due timers could not be claimed")
		if l.node.health.claimErr != nil {
			l.t.Error("it counts as a failure")
		}
	})
}
