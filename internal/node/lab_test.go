package node

import (
	"bytes"
	"context"
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
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// lab is a node on a store in memory, with a responder and a sender that tests
// replace, in virtual time.
type lab struct {
	t     *testing.T
	node  *Node
	store *faultStore
	began time.Time

	mu       sync.Mutex
	log      bytes.Buffer
	events   []engine.Event
	hints    []store.Key
	attempts []*Attempt
	sends    []engine.Send
}

// faultStore calls a hook, if there is one, in the place of the store. Once a node
// runs on it, set replaces hooks.
type faultStore struct {
	store.Store
	promise store.Guarantees

	mu     sync.Mutex // guards the hooks
	commit func(context.Context, store.Write) (store.Result, error)
	load   func(context.Context, store.Key) (store.Snapshot, error)
	delete func(context.Context, store.Key) error
	claim  func(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots []string) ([]store.Timer, error)
	due    func(context.Context, turn.Time, int) ([]store.Timer, error)
	now    func(context.Context) (turn.Time, error)
	expire func(ctx context.Context, entriesBefore, idsBefore turn.Time, limit int) (int, error)
	list   func(context.Context, store.Key, store.EntryQuery) ([]store.Entry, bool, error)
}

// set replaces a hook of a store that may be in use.
func set[F any](s *faultStore, hook *F, f F) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*hook = f
}

// get is a hook as it is now. The hook is called without the lock: it may wait, and set
// hooks.
func get[F any](s *faultStore, hook *F) F {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *hook
}

func (s *faultStore) Guarantees() store.Guarantees { return s.promise }

func (s *faultStore) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	if hook := get(s, &s.commit); hook != nil {
		return hook(ctx, w)
	}
	return s.Store.Commit(ctx, w)
}

func (s *faultStore) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	if hook := get(s, &s.load); hook != nil {
		return hook(ctx, key)
	}
	return s.Store.Load(ctx, key)
}

func (s *faultStore) Delete(ctx context.Context, key store.Key) error {
	if hook := get(s, &s.delete); hook != nil {
		return hook(ctx, key)
	}
	return s.Store.Delete(ctx, key)
}

func (s *faultStore) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
	if hook := get(s, &s.claim); hook != nil {
		return hook(ctx, now, limit, hold, bots)
	}
	return s.Store.Claim(ctx, now, limit, hold, bots...)
}

func (s *faultStore) Due(ctx context.Context, until turn.Time, limit int, bots ...string) ([]store.Timer, error) {
	if hook := get(s, &s.due); hook != nil {
		return hook(ctx, until, limit)
	}
	return s.Store.Due(ctx, until, limit, bots...)
}

func (s *faultStore) Now(ctx context.Context) (turn.Time, error) {
	if hook := get(s, &s.now); hook != nil {
		return hook(ctx)
	}
	return s.Store.Now(ctx)
}

func (s *faultStore) Expire(ctx context.Context, entriesBefore, idsBefore turn.Time, limit int) (int, error) {
	if hook := get(s, &s.expire); hook != nil {
		return hook(ctx, entriesBefore, idsBefore, limit)
	}
	return s.Store.Expire(ctx, entriesBefore, idsBefore, limit)
}

func (s *faultStore) Entries(ctx context.Context, key store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
	if hook := get(s, &s.list); hook != nil {
		return hook(ctx, key, q)
	}
	return s.Store.Entries(ctx, key, q)
}

// inLab runs a test in virtual time on a node of the bot "bot", whose settings and
// whose store it may change before the node starts.
func inLab(t *testing.T, change func(l *lab, o *Options), test func(l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		defer kept.Close()
		l := &lab{t: t, store: &faultStore{Store: kept, promise: kept.Guarantees()}, began: time.Now()}
		o := Options{
			Name: "node", Instance: "instance", MaxGenerations: 10, Retention: 720 * time.Hour,
			Log:  slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Tell: l.tell, Hint: l.hint, Bots: map[string]Bot{"bot": l.bot()},
		}
		if change != nil {
			change(l, &o)
		}
		clock, err := NewClock(t.Context(), l.store)
		if err != nil {
			t.Fatal(err)
		}
		l.node = New(l.store, clock, o)
		l.node.Start()
		defer l.node.Wait()
		defer l.node.Stop()
		test(l)
	})
}

// bot waits 1 s for more, is answered by "reply" at once, and its sends succeed.
func (l *lab) bot() Bot {
	return Bot{
		Bot: engine.Bot{
			Policy: turn.Policy{
				Debounce: time.Second, MaxWait: 10 * time.Second, OnNewInput: turn.Interrupt, MaxDiscards: 2, Lease: 30 * time.Second,
				MediaWait: 15 * time.Second, MaxAttempts: 3, RetryFor: time.Hour,
			},
			History: 40,
		},
		Timeout: 60 * time.Second, SendTimeout: 15 * time.Second,
		Respond: l.responding(func(context.Context, *Attempt) engine.Response { return engine.Response{Text: "reply"} }),
		Send:    l.sending(func(context.Context, engine.Send) engine.SendResult { return engine.SendResult{} }),
	}
}

func (l *lab) responding(f func(context.Context, *Attempt) engine.Response) func(context.Context, *Attempt) engine.Response {
	return func(ctx context.Context, a *Attempt) engine.Response {
		l.mu.Lock()
		l.attempts = append(l.attempts, a)
		l.mu.Unlock()
		return f(ctx, a)
	}
}

func (l *lab) sending(f func(context.Context, engine.Send) engine.SendResult) func(context.Context, engine.Send) engine.SendResult {
	return func(ctx context.Context, s engine.Send) engine.SendResult {
		l.mu.Lock()
		l.sends = append(l.sends, s)
		l.mu.Unlock()
		return f(ctx, s)
	}
}

// Write implements io.Writer for the log.
func (l *lab) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(text)
}

func (l *lab) tell(e *engine.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, *e)
}

func (l *lab) hint(key store.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hints = append(l.hints, key)
}

// logged is the lines of the log that have all these texts.
func (l *lab) logged(texts ...string) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.log.String()) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (l *lab) wantLogged(count int, texts ...string) {
	l.t.Helper()
	if lines := l.logged(texts...); len(lines) != count {
		l.t.Errorf("%d lines have %q, want %d: %q", len(lines), texts, count, lines)
	}
}

// eventsOf is the events of a kind.
func (l *lab) eventsOf(kind turn.Kind) (events []engine.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

func (l *lab) submit(r engine.Request) engine.Result {
	l.t.Helper()
	r.Key = key
	result, err := l.node.Submit(l.t.Context(), &r)
	if err != nil {
		l.t.Errorf("request %d: %v", r.Op, err)
	}
	return result
}

// say sends a message.
func (l *lab) say(id string) engine.Result {
	l.t.Helper()
	return l.submit(engine.Request{Op: engine.Receive, ID: id, Body: store.Body{Text: "text of " + id}})
}

func (l *lab) record() turn.Record {
	l.t.Helper()
	snapshot, err := l.store.Store.Load(l.t.Context(), key)
	if err != nil {
		l.t.Fatal(err)
	}
	return snapshot.Record
}

// replies is the replies in the transcript, as "text: covers (status)".
func (l *lab) replies() (lines []string) {
	l.t.Helper()
	entries, _, err := l.store.Store.Entries(l.t.Context(), key, store.EntryQuery{})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Kind == store.Reply {
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", e.Text, strings.Join(e.Covers, " "), e.Status))
		}
	}
	return lines
}

func (l *lab) wantReplies(want ...string) {
	l.t.Helper()
	if got := l.replies(); !slices.Equal(got, want) {
		l.t.Errorf("replies %q, want %q", got, want)
	}
}

// until waits for a moment of the virtual time, and for all that happens up to it.
func (l *lab) until(d time.Duration) {
	l.after(d - time.Since(l.began))
}

// after waits, and for all that happens meanwhile.
func (l *lab) after(d time.Duration) {
	l.handOver()
	pass(d)
	synctest.Wait()
}

// handOver orders what the test did so far before what the node's hooks, responder and
// sender do from now on, which take these locks first. A sleep alone orders nothing:
// synctest.Wait orders what they did before what the test does next, not the reverse.
func (l *lab) handOver() {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
}

// other is a node of another name on a store of its own, over the same conversations,
// that runs already.
func (l *lab) other(o Options, change func(*Options)) (*Node, *faultStore) {
	l.t.Helper()
	s := &faultStore{Store: l.store.Store, promise: l.store.promise}
	clock, err := NewClock(l.t.Context(), s)
	if err != nil {
		l.t.Fatal(err)
	}
	o.Name, o.Instance = "other", "other"
	if change != nil {
		change(&o)
	}
	n := New(s, clock, o)
	n.Start()
	return n, s
}

// leftBehind is what a node leaves that accepted a message, and was lost after so long.
func (l *lab) leftBehind(o Options, after time.Duration) {
	l.t.Helper()
	o.Bots = map[string]Bot{"bot": o.Bots["bot"]}
	b := o.Bots["bot"]
	b.Respond = func(ctx context.Context, _ *Attempt) engine.Response {
		<-ctx.Done()
		return engine.Response{Fault: turn.Failure}
	}
	o.Bots["bot"] = b
	n, s := l.other(o, nil)
	r := engine.Request{Key: key, Op: engine.Receive, ID: "m", Body: store.Body{Text: "text of m"}}
	if _, err := n.Submit(l.t.Context(), &r); err != nil {
		l.t.Fatal(err)
	}
	l.after(after)
	set(s, &s.commit, func(context.Context, store.Write) (store.Result, error) { return store.Result{}, store.ErrNotApplied })
	n.Stop()
	n.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.Reset()
	l.events, l.hints = nil, nil
}

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) }
