package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// slowResponder takes so long, unless it is told to end.
func (l *lab) slowResponder(d time.Duration) func(context.Context, *Attempt) engine.Response {
	return l.responding(func(ctx context.Context, _ *Attempt) engine.Response {
		select {
		case <-ctx.Done():
			return engine.Response{Fault: turn.Failure}
		case <-time.After(d):
			return engine.Response{Text: "reply"}
		}
	})
}

// A node that drains lets what runs end, and takes nothing new; what it accepts stays
// for others.
func TestDrain(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Respond = l.slowResponder(5 * time.Second)
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m1")
		l.after(2 * time.Second)
		drained := make(chan error, 1)
		go func() { drained <- l.node.Drain(context.Background()) }()
		l.after(time.Second)
		if err := l.node.Ready(l.t.Context()); err == nil || err.Error() != "the node is draining" {
			l.t.Errorf("while it drains: %v", err)
		}
		if s, _ := l.node.Status(l.t.Context()); !s.Draining || s.Closed || s.Generating != 1 {
			l.t.Errorf("while it drains: %+v", s)
		}
		if len(drained) != 0 {
			l.t.Error("it has drained before the attempt ended")
		}
		l.after(3*time.Second + 2*settleEvery)
		if len(drained) != 1 || <-drained != nil {
			l.t.Error("it has not drained although nothing runs")
		}
		l.wantReplies("reply: m1 (sent)")
		l.say("m2")
		l.after(time.Minute)
		if r := l.record(); r.Phase != turn.Collecting || len(l.attempts) != 1 {
			l.t.Errorf("it took a turn: %s", r.Phase)
		}
		if err := l.node.Drain(l.t.Context()); err != nil {
			l.t.Errorf("once more: %v", err)
		}
	})
}

// When the patience of a drain is over, what runs is cut off and its lease is given
// back at once.
func TestDrainCutsOff(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Respond = l.slowResponder(50 * time.Second)
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m")
		l.after(2 * time.Second)
		why := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(l.t.Context(), 7*time.Second, why)
		defer cancel()
		began := time.Now()
		if err := l.node.Drain(ctx); err != why {
			l.t.Errorf("Drain: %v", err)
		}
		if took := time.Since(began); took < 7*time.Second || took > 7100*time.Millisecond {
			l.t.Errorf("it took %v", took)
		}
		if r := l.record(); r.Lease.Nonce != "" || r.Phase != turn.Collecting || r.Tries.Attempts != 0 {
			l.t.Errorf("the lease was not given back: %+v", r)
		}
		l.wantLogged(0, "leases could not be given back")
	})
}

// A responder that does not return holds up a drain for a moment only.
func TestDrainIsHeldUpByNobody(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Respond = l.responding(func(context.Context, *Attempt) engine.Response {
			pass(20 * time.Second)
			return engine.Response{Text: "reply"}
		})
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m")
		l.after(2 * time.Second)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		began := time.Now()
		if err := l.node.Drain(ended); !errors.Is(err, context.Canceled) {
			l.t.Errorf("Drain: %v", err)
		}
		if took := time.Since(began); took < 3*time.Second || took > 3100*time.Millisecond {
			l.t.Errorf("it took %v", took)
		}
		l.wantLogged(1, "level=WARN", "leases could not be given back")
		l.node.Stop()
		began = time.Now()
		l.node.Wait()
		if took := time.Since(began); took < 5*time.Second || took > 20*time.Second {
			l.t.Errorf("Wait took %v: it waits for the responder", took)
		}
	})
}

// A node that has stopped refuses everything, and still tells what it did.
func TestStop(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		l.say("m1")
		l.after(2 * time.Second)
		before, err := l.node.Status(l.t.Context())
		if err != nil || before.Closed || before.Draining || before.Remembered != 1 || before.At != l.node.clock.Now() {
			l.t.Errorf("before: %+v, %v", before, err)
		}
		l.node.Stop()
		l.node.Stop()
		if _, err := l.node.Submit(l.t.Context(), &engine.Request{Key: key, Op: engine.Receive, ID: "m2"}); err != ErrClosed {
			l.t.Errorf("Submit: %v", err)
		}
		if _, err := l.node.ChangePolicy(l.t.Context(), "bot", func(p turn.Policy) turn.Policy { return p }); err != ErrClosed {
			l.t.Errorf("ChangePolicy: %v", err)
		}
		if l.node.post(func(turn.Time) { l.t.Error("a task ran") }) {
			l.t.Error("a task was taken")
		}
		if err := l.node.Drain(l.t.Context()); err != nil {
			l.t.Errorf("Drain: %v", err)
		}
		after, err := l.node.Status(l.t.Context())
		if err != nil || !after.Closed || !after.Draining || after.Counters.Accepted != 1 || after.Counters.Turns["sent"] != 1 || len(after.Minutes) != 1 {
			l.t.Errorf("after: %+v, %v", after, err)
		}
	})
}

// What runs when a node stops is handed back before the loop ends.
func TestStopHandsBack(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Respond = l.slowResponder(time.Hour)
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m")
		l.after(2 * time.Second)
		began := time.Now()
		l.node.Stop()
		if took := time.Since(began); took > 100*time.Millisecond {
			l.t.Errorf("it took %v", took)
		}
		if r := l.record(); r.Lease.Nonce != "" {
			l.t.Errorf("the lease was not given back: %+v", r.Lease)
		}
	})
}

// A request is answered once it is durable. One whose caller leaves may be carried out
// all the same, and the error says so.
func TestSubmit(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		if got := l.say("m1"); got.Outcome != turn.Queued || got.Version != 1 || got.Due != l.node.clock.Now().Add(time.Second) {
			l.t.Errorf("%+v", got)
		}
		set(l.store, &l.store.commit, func(ctx context.Context, w store.Write) (store.Result, error) {
			pass(2 * time.Second)
			return l.store.Store.Commit(ctx, w)
		})
		why := errors.New("left")
		ctx, cancel := context.WithTimeoutCause(l.t.Context(), time.Second, why)
		defer cancel()
		_, err := l.node.Submit(ctx, &engine.Request{Key: key, Op: engine.Receive, ID: "m2", Body: store.Body{Text: "x"}})
		if !errors.Is(err, ErrAbandoned) || !errors.Is(err, why) || errors.Is(err, ErrClosed) {
			l.t.Errorf("%v", err)
		}
		l.after(2 * time.Second)
		if r := l.record(); r.Version != 2 {
			l.t.Errorf("the version is %d", r.Version)
		}
		_, err = l.node.Submit(l.t.Context(), &engine.Request{Key: key, Op: engine.Retract, ID: "none"})
		if err != nil {
			l.t.Errorf("an unknown message: %v", err)
		}
	})
}

// A request whose write is under way when the node stops is answered if the write
// comes back in time, and refused otherwise.
func TestSubmitWhileTheNodeStops(t *testing.T) {
	for takes, refused := range map[time.Duration]bool{time.Second: false, 8 * time.Second: true} {
		inLab(t, nil, func(l *lab) {
			set(l.store, &l.store.commit, func(ctx context.Context, w store.Write) (store.Result, error) {
				pass(takes)
				return l.store.Store.Commit(ctx, w)
			})
			answered := make(chan error, 1)
			go func() {
				_, err := l.node.Submit(context.Background(), &engine.Request{Key: key, Op: engine.Receive, ID: "m", Body: store.Body{Text: "x"}})
				answered <- err
			}()
			l.after(2 * takes / 3)
			l.node.Stop()
			synctest.Wait()
			if takes == time.Second {
				// Nothing of the node's own is under way, so it does not wait for the write.
				if err := <-answered; err != nil && err != ErrClosed {
					l.t.Errorf("%v", err)
				}
				return
			}
			if err := <-answered; (err == ErrClosed) != refused {
				l.t.Errorf("a write of %v: %v", takes, err)
			}
		})
	}
}

// At its end the loop runs what waits and answers it, and carries out nothing else.
func TestTheLastTasks(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		l.store.delete = func(context.Context, store.Key) error { l.t.Error("it goes on deleting"); return nil }
	}, func(l *lab) {
		ended := New(l.store, l.node.clock, l.node.options) // it has no loop
		answer := make(chan engine.Result, 1)
		ended.post(func(now turn.Time) {
			ended.engine.Submit(now, &engine.Request{Key: key, Op: engine.Forget, Ticket: answer})
		})
		ended.post(func(now turn.Time) { ended.engine.Deleted(now, key, nil) })
		ended.refuse()
		ended.Wait()
		if len(answer) != 1 {
			t.Error("a request whose write ended is not answered")
		}
		if ended.post(func(turn.Time) {}) {
			t.Error("it takes more tasks")
		}
	})
}

// Who waits for a node to be quiet waits no longer than for its end.
func TestSettleEndsWithItsNode(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Respond = func(ctx context.Context, _ *Attempt) engine.Response {
			<-ctx.Done()
			return engine.Response{Fault: turn.Failure}
		}
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m")
		l.after(2 * time.Second) // an attempt runs: it is not quiet
		limited, cancel := context.WithTimeout(l.t.Context(), time.Second)
		defer cancel()
		if l.node.settle(limited) {
			t.Error("quiet, although an attempt runs")
		}
		settled := make(chan bool, 1)
		go func() { settled <- l.node.settle(context.Background()) }()
		synctest.Wait() // it waits for the next look
		l.node.stop(ErrClosed)
		synctest.Wait()
		if len(settled) != 1 || !<-settled {
			t.Error("it waits for a node that has ended")
		}
	})
}

// What the loop answers while it ends reaches the caller, who waits for that.
func TestAnswersOfTheLastMoment(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		l.say("m")
		l.after(2 * time.Second)
		release := make(chan struct{})
		l.node.post(func(turn.Time) { <-release })
		answered := make(chan error, 1)
		go func() {
			_, err := l.node.Submit(context.Background(), &engine.Request{Key: key, Op: engine.Typing})
			answered <- err
		}()
		synctest.Wait()
		l.node.stop(ErrClosed)
		synctest.Wait()
		if len(answered) != 0 {
			l.t.Error("it was refused although the loop has not ended")
		}
		close(release)
		if err := <-answered; err != nil {
			l.t.Errorf("%v", err)
		}
	})
}

// Conversations are read a bounded number at a time.
func TestConversationsAreReadAFewAtATime(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		var mu sync.Mutex
		reading, most, all := 0, 0, 0
		set(l.store, &l.store.load, func(ctx context.Context, key store.Key) (store.Snapshot, error) {
			mu.Lock()
			reading, all = reading+1, all+1
			most = max(most, reading)
			mu.Unlock()
			pass(time.Second)
			mu.Lock()
			reading--
			mu.Unlock()
			return l.store.Store.Load(ctx, key)
		})
		for i := range 200 {
			go func() {
				r := engine.Request{Key: store.Key{Bot: "bot", Conversation: fmt.Sprint(i)}, Op: engine.Retract, ID: "none"}
				_, _ = l.node.Submit(context.Background(), &r)
			}()
		}
		l.after(10 * time.Second)
		if most != 64 || all != 200 {
			l.t.Errorf("%d of %d at once", most, all)
		}
	})
}

func TestReady(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		if err := l.node.Ready(l.t.Context()); err != nil {
			l.t.Errorf("a node that is well: %v", err)
		}
		want := func(text string) {
			l.t.Helper()
			if err := l.node.Ready(l.t.Context()); err == nil || !strings.HasPrefix(err.Error(), text) || !errors.Is(err, errAway) {
				l.t.Errorf("%v, want %s", err, text)
			}
		}
		set(l.store, &l.store.now, func(context.Context) (turn.Time, error) { return 0, errAway })
		want("the store is out of reach")
		set(l.store, &l.store.now, nil)
		l.node.health.wrote(errAway)
		want("the store does not take writes")
		if s, _ := l.node.Status(l.t.Context()); !slices.Equal(s.Problems, []string{"does not take writes"}) {
			l.t.Errorf("problems %q", s.Problems)
		}
		l.node.health.wrote(nil)
		set(l.store, &l.store.claim, func(context.Context, turn.Time, int, time.Duration, []string) ([]store.Timer, error) {
			return nil, errAway
		})
		l.after(5 * time.Second)
		want("due timers can't be claimed from the store")
		if s, _ := l.node.Status(l.t.Context()); !slices.Equal(s.Problems, []string{"due timers can't be claimed"}) {
			l.t.Errorf("problems %q", s.Problems)
		}
		if n := len(l.logged("due timers could not be claimed")); n < 4 || n > 6 {
			l.t.Errorf("%d lines in 5 s", n)
		}
	})
}

// The settings of a node reach its engine: what it claims, and how many attempts run at
// once.
func TestOptionsReachTheEngine(t *testing.T) {
	type call struct {
		limit int
		hold  time.Duration
		bots  string
	}
	var calls []call
	var at []turn.Time
	inLab(t, func(l *lab, o *Options) {
		o.MaxGenerations = 3
		b := o.Bots["bot"]
		b.Respond = l.slowResponder(time.Minute)
		o.Bots["bot"], o.Bots["other"] = b, b
		l.store.claim = func(_ context.Context, now turn.Time, limit int, hold time.Duration, bots []string) ([]store.Timer, error) {
			calls, at = append(calls, call{limit, hold, fmt.Sprint(bots)}), append(at, now)
			return nil, nil
		}
	}, func(l *lab) {
		l.after(time.Second)
		if len(calls) < 2 || calls[0] != (call{2, 5 * time.Second, "[bot other]"}) || at[0] != turn.At(l.began) || at[1] <= at[0] {
			l.t.Errorf("claims %+v at %v", calls, at)
		}
		for i := range 5 {
			r := engine.Request{Key: store.Key{Bot: "bot", Conversation: fmt.Sprint(i)}, Op: engine.Receive, ID: "m", Body: store.Body{Text: "x"}}
			if _, err := l.node.Submit(l.t.Context(), &r); err != nil {
				l.t.Error(err)
			}
		}
		l.after(5 * time.Second)
		if s, _ := l.node.Status(l.t.Context()); s.Generating != 2 {
			l.t.Errorf("%d attempts run, one place is the other bot's", s.Generating)
		}
	})
}

// A changed policy holds from the next step on.
func TestChangePolicy(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		got, err := l.node.ChangePolicy(l.t.Context(), "bot", func(p turn.Policy) turn.Policy {
			p.Debounce = 5 * time.Second
			return p
		})
		if err != nil || got.Debounce != 5*time.Second || got.MaxWait != 10*time.Second {
			l.t.Errorf("%+v, %v", got, err)
		}
		if r := l.say("m"); r.Due != l.node.clock.Now().Add(5*time.Second) {
			l.t.Errorf("due %v", r.Due)
		}
		ended, cancel := context.WithCancelCause(l.t.Context())
		cancel(errAway)
		if _, err := l.node.ChangePolicy(ended, "bot", func(p turn.Policy) turn.Policy { return p }); err != nil && err != errAway {
			l.t.Errorf("%v", err)
		}
	})
}

func TestIgnoredInputsAreCounted(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		l.node.Ignore()
		if s, _ := l.node.Status(l.t.Context()); s.Counters.Ignored != 1 || s.Counters.Total.Ignored != 1 {
			l.t.Errorf("%+v", s.Counters)
		}
	})
}

// A node that takes over a lease, or hears a hint, acts at once.
func TestHints(t *testing.T) {
	inLab(t, func(l *lab, o *Options) {
		b := o.Bots["bot"]
		b.Respond = l.slowResponder(20 * time.Second)
		o.Bots["bot"] = b
	}, func(l *lab) {
		l.say("m1")
		l.after(2 * time.Second)
		// Another node takes a message in.
		other, _ := l.other(l.node.options, nil)
		defer other.Wait()
		defer other.Stop()
		r := engine.Request{Key: key, Op: engine.Receive, ID: "m2", Body: store.Body{Text: "x"}}
		if _, err := other.Submit(l.t.Context(), &r); err != nil {
			l.t.Error(err)
		}
		synctest.Wait()
		if !slices.Equal(l.hints, []store.Key{key}) {
			l.t.Errorf("hints %v", l.hints)
		}
		if l.record().Tries.Discards != 0 {
			l.t.Error("it was discarded before the holder could know")
		}
		l.node.Hinted(key)
		l.after(time.Millisecond)
		if l.record().Tries.Discards != 1 {
			l.t.Error("the holder did not look at once")
		}
	})
}

// On a store that no other process has open, what was under way before is taken over
// at once; elsewhere only when its lease ends.
func TestWhatWasUnderWayBefore(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		inLab(t, func(l *lab, o *Options) {
			l.leftBehind(*o, 5*time.Second)
			l.store.promise.Exclusive = exclusive
		}, func(l *lab) {
			l.after(time.Second)
			if taken := len(l.attempts) > 0; taken != exclusive {
				l.t.Errorf("exclusive %v: taken over %v", exclusive, taken)
			}
			l.after(time.Minute)
			l.wantReplies("reply: m (sent)")
			l.wantLogged(0, "what was under way before")
		})
	}
}

// A node that can't read what was under way says so, and goes on.
func TestWhatWasUnderWayCantBeRead(t *testing.T) {
	inLab(t, func(l *lab, _ *Options) {
		l.store.promise.Exclusive = true
		l.store.due = func(context.Context, turn.Time, int) ([]store.Timer, error) { return nil, errAway }
	}, func(l *lab) {
		l.after(time.Second)
		l.wantLogged(1, "level=ERROR", "the work of the process before this one could not be read", errAway.Error())
	})
}

// What happened is handed on with where it happened, and logged as far as an operator
// wants to know.
func TestTell(t *testing.T) {
	levels := map[turn.Kind]slog.Level{
		turn.KindTurnFailed: slog.LevelWarn, turn.KindReplyFailed: slog.LevelWarn,
		turn.KindReplyDiscarded: slog.LevelInfo, turn.KindLeaseLost: slog.LevelInfo, turn.KindTurnRequeued: slog.LevelInfo,
		turn.KindReplyResent: slog.LevelInfo, turn.KindReplyMarked: slog.LevelInfo,
		turn.KindMessageAccepted: slog.LevelDebug, turn.KindReplySent: slog.LevelDebug, turn.KindTurnStarted: slog.LevelDebug,
	}
	inLab(t, nil, func(l *lab) {
		for kind, level := range levels {
			l.node.tell(&engine.Event{Key: key, Notice: turn.Notice{Kind: kind, Turn: 2, Token: 3, Version: 5, Through: 4, Reason: "because", Holder: "holder"}})
			node := "node"
			if kind == turn.KindLeaseLost {
				node = "holder"
			}
			if got := l.eventsOf(kind); len(got) != 1 || got[0].Node != node || got[0].Version != 5 {
				l.t.Errorf("%s: %+v", kind, got)
			}
			texts := []string{"msg=" + string(kind), "level=" + level.String(), "bot=bot", "conversation=c", "turn=2", "token=3"}
			switch level {
			case slog.LevelWarn:
				texts = append(texts, "reason=because")
			case slog.LevelInfo:
				texts = append(texts, "reason=because", "saw=4", "newest=5")
			default:
				texts = append(texts, "version=5")
			}
			l.wantLogged(1, texts...)
		}
	})
}

// Ids of writes differ, also between nodes.
func TestOpsAreUnique(t *testing.T) {
	seen := map[store.Op]bool{}
	for range 3 {
		next := newOps()
		for range 300 {
			op := next()
			if seen[op] || op.IsZero() {
				t.Fatalf("%v was given out twice", op)
			}
			seen[op] = true
		}
	}
	if first, second := random(), random(); first == second {
		t.Error("two random numbers are the same")
	}
}

// Tasks run in order of arrival, and none once the queue is closed.
func TestTasks(t *testing.T) {
	tasks := newTasks()
	var ran []int
	for i := range 3 {
		if !tasks.add(func(turn.Time) { ran = append(ran, i) }) {
			t.Error("a task was refused")
		}
	}
	if len(tasks.arrived) != 1 {
		t.Error("the loop was not woken")
	}
	for _, task := range tasks.takeAll(false) {
		task(0)
	}
	if len(tasks.takeAll(false)) != 0 || !slices.Equal(ran, []int{0, 1, 2}) {
		t.Errorf("%v ran", ran)
	}
	tasks.add(func(turn.Time) {})
	if left := tasks.takeAll(true); len(left) != 1 || tasks.add(func(turn.Time) {}) {
		t.Errorf("%d tasks were left, and more are taken", len(left))
	}
}

// An idle node wakes only to look for due timers.
func TestAnIdleNodeSleeps(t *testing.T) {
	claims := 0
	inLab(t, func(l *lab, _ *Options) {
		l.store.claim = func(context.Context, turn.Time, int, time.Duration, []string) ([]store.Timer, error) {
			claims++
			return nil, nil
		}
	}, func(l *lab) {
		l.after(time.Minute)
		if claims < 120 || claims > 200 {
			l.t.Errorf("%d claims in a minute", claims)
		}
	})
}

// A timer that fires too early, because the store's clock was set back a little, is armed
// again.
func TestATimerThatFiresTooEarly(t *testing.T) {
	claims := 0
	inLab(t, func(l *lab, _ *Options) {
		l.store.promise.Exclusive = false // so that its clock is followed
		l.store.now = func(context.Context) (turn.Time, error) {
			now := turn.At(time.Now())
			if time.Since(l.began) > 15*time.Second {
				now = now.Add(-300 * time.Millisecond)
			}
			return now, nil
		}
		l.store.claim = func(context.Context, turn.Time, int, time.Duration, []string) ([]store.Timer, error) {
			claims++
			return nil, nil
		}
	}, func(l *lab) {
		l.after(time.Minute)
		if claims < 120 {
			l.t.Errorf("%d claims in a minute", claims)
		}
	})
}
