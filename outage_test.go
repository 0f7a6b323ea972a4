package onereply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// slow is a store each of whose writes takes some time.
type slow struct {
	store.Store
	takes time.Duration
}

func (s *slow) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	<-time.After(s.takes)
	return s.Store.Commit(ctx, w)
}

var errAway = errors.New("connection refused")

// line is one node's connection to a store: it can be cut, for all or for the
// answers only, and be frozen with whoever uses it.
type line struct {
	store.Store
	cut   atomic.Bool // nothing arrives
	muted atomic.Bool // what arrives is carried out, its answer is lost
}

func (l *line) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	if l.cut.Load() {
		return store.Snapshot{}, errAway
	}
	return l.Store.Load(ctx, key)
}

func (l *line) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	if l.cut.Load() {
		return store.Result{}, fmt.Errorf("%w: %w", store.ErrNotApplied, errAway)
	}
	result, err := l.Store.Commit(ctx, w)
	if l.muted.Load() {
		return store.Result{}, store.ErrUnknown
	}
	return result, err
}

func (l *line) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
	if l.cut.Load() {
		return nil, errAway
	}
	return l.Store.Claim(ctx, now, limit, hold, bots...)
}

func (l *line) Entries(ctx context.Context, key store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
	if l.cut.Load() {
		return nil, false, errAway
	}
	return l.Store.Entries(ctx, key, q)
}

func (l *line) Delete(ctx context.Context, key store.Key) error {
	if l.cut.Load() {
		return errAway
	}
	return l.Store.Delete(ctx, key)
}

func (l *line) Now(ctx context.Context) (turn.Time, error) {
	if l.cut.Load() {
		return 0, errAway
	}
	return l.Store.Now(ctx)
}

// While the store is away every call says so, and nothing is half done; what
// was accepted before is answered after.
func TestTheStoreGoesAwayAndComesBack(t *testing.T) {
	for _, away := range []time.Duration{time.Second, 10 * time.Second, 2 * time.Minute} {
		for _, at := range []time.Duration{0, 3 * time.Second, 6500 * time.Millisecond} {
			t.Run(fmt.Sprint(at, " for ", away), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &line{Store: memory.New()}
					w := newWorld(t, settings{store: l, model: 5 * time.Second})
					defer w.close()
					w.say(0, "m")
					w.until(at)
					l.cut.Store(true)
					app := w.nodes[0]
					calls := map[string]error{"forget": app.Forget(t.Context(), "bot", "other"), "ready": nil}
					_, calls["receive"] = app.Receive(t.Context(), "bot", "c", onereply.Message{ID: "n", Text: "hi"})
					_, calls["pause"] = app.Pause(t.Context(), "bot", "c", onereply.Pause{})
					_, calls["answer"] = app.Answer(t.Context(), "bot", "c", onereply.HumanReply{Text: "hello"})
					_, calls["state"] = app.State(t.Context(), "bot", "c")
					_, calls["transcript"] = app.Transcript(t.Context(), "bot", "c", 0, 0)
					for name, err := range calls {
						var refused *onereply.Error
						if name != "ready" && (!errors.As(err, &refused) || refused.Code != onereply.CodeUnavailable || !errors.Is(err, errAway)) {
							t.Errorf("%s: %v, want unavailable", name, err)
						}
					}
					if app.Ready(t.Context()) == nil {
						t.Error("the node says that it is ready")
					}
					time.Sleep(away)
					l.cut.Store(false)
					w.say(0, "n")
					rest(2 * time.Minute)
					if err := w.verdict(); err != nil {
						t.Error(err)
					}
					w.wantPhase(onereply.PhaseIdle)
				})
			})
		}
	}
}

// Writes whose answers are lost are settled by reading again.
func TestAnswersOfTheStoreAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{Store: memory.New()}
		w := newWorld(t, settings{store: l, model: 5 * time.Second})
		defer w.close()
		l.muted.Store(true)
		for i := range 5 {
			w.say(0, fmt.Sprint("m", i))
			time.Sleep(2 * time.Second)
		}
		rest(time.Minute)
		if err := w.verdict(); err != nil {
			t.Error(err)
		}
	})
}

// A node that is cut off in the middle of a turn is followed by another within
// a lease and a second, and what it does when it comes back changes nothing.
func TestTakeOver(t *testing.T) {
	const lease = 5 * time.Second
	for _, phase := range []string{"generating", "sending"} {
		t.Run(phase, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := memory.New()
				l := &line{Store: shared}
				bot := onereply.Bot{Lease: lease, UnknownSend: onereply.UnknownResend, Responder: saying("m")}
				first := bot
				first.Responder = onereply.ResponderFunc(func(ctx context.Context, _ *onereply.Turn) (onereply.Reply, error) {
					if phase == "generating" {
						l.cut.Store(true)
						time.Sleep(time.Minute) // it ignores ctx
					}
					return onereply.Reply{Text: "m"}, nil
				})
				first.Sender = onereply.SenderFunc(func(ctx context.Context, _ *onereply.Delivery) error {
					l.cut.Store(true)
					return errors.New("lost")
				})
				w := newWorld(t, settings{store: l, bot: first})
				defer w.close()
				w.say(0, "m")
				other := newWorld(t, settings{store: shared, bot: bot})
				defer other.close()
				w.until(1500*time.Millisecond + lease + time.Second)
				other.wantReplies("m")
				l.cut.Store(false)
				rest(5 * time.Minute)
				other.wantReplies("m")
				other.wantPhase(onereply.PhaseIdle)
			})
		})
	}
}

// A node whose wall clock is wrong goes by the store's.
func TestAWrongWallClock(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			shared := memory.New()
			w := newWorld(t, settings{store: &shifted{Store: shared, by: off}, nodes: 2, model: 3 * time.Second})
			defer w.close()
			w.say(0, "m1")
			w.until(time.Second)
			w.say(1, "m2")
			w.until(20 * time.Second)
			if err := w.verdict(); err != nil {
				t.Error(err)
			}
			if s := w.state(0); s.Phase != onereply.PhaseIdle {
				t.Errorf("off by %v: %+v", off, s)
			}
			page, err := w.nodes[1].Transcript(t.Context(), "bot", "c", 0, 0)
			if err != nil || page.Entries[0].At.Sub(w.start) != off {
				t.Errorf("accepted at %v, want by the store's clock: %v", page.Entries[0].At, err)
			}
		})
	}
}

// shifted is a store whose clock differs from this node's.
type shifted struct {
	store.Store
	by time.Duration
}

func (s *shifted) Now(ctx context.Context) (turn.Time, error) {
	now, err := s.Store.Now(ctx)
	return now.Add(s.by), err
}

// What is older than the retention goes; what waits stays.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{retention: time.Hour})
		defer w.close()
		w.say(0, "m")
		rest(30 * time.Minute)
		if _, err := w.nodes[0].Pause(t.Context(), "bot", "c", onereply.Pause{}); err != nil {
			t.Fatal(err)
		}
		w.say(0, "n")
		rest(25 * time.Minute)
		w.wantTranscript("text of m (answered)", "m (sent)", "text of n (pending)")
		rest(20 * time.Minute)
		w.wantTranscript("text of n (pending)")
		r, err := w.nodes[0].Receive(t.Context(), "bot", "c", onereply.Message{ID: "n", Text: "again"})
		if err != nil || !r.Duplicate {
			t.Errorf("a repeat of what waits: %+v, %v", r, err)
		}
	})
}

// blind is a store that gives no due timers.
type blind struct {
	store.Store
	is atomic.Bool
}

func (b *blind) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
	if b.is.Load() {
		return nil, errors.New("permission denied for table timers")
	}
	return b.Store.Claim(ctx, now, limit, hold, bots...)
}

// A node that can't claim timers is not ready: it would not take over what others
// leave. A single failure is nothing.
func TestANodeThatCantClaimIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &blind{Store: memory.New()}
		w := newWorld(t, settings{store: b, model: time.Second})
		defer w.close()
		ready := func() error { return w.nodes[0].Ready(t.Context()) }
		rest(10 * time.Second)
		b.is.Store(true)
		rest(time.Second)
		if err := ready(); err != nil {
			t.Errorf("after one second: %v", err)
		}
		rest(4 * time.Second)
		w.say(0, "m") // that writes succeed says nothing about claims
		rest(10 * time.Second)
		if err := ready(); err == nil || !strings.Contains(err.Error(), "due timers") || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("Ready: got %v, want what can't be done, and why", err)
		}
		o, err := w.nodes[0].Overview(t.Context())
		if err != nil || !strings.Contains(o.Nodes[0].Store, "claim") {
			t.Errorf("Overview: %+v, %v; want that the store gives no timers", o.Nodes, err)
		}
		b.is.Store(false)
		rest(time.Second)
		if err := ready(); err != nil {
			t.Errorf("once it is well again: %v", err)
		}
	})
}
