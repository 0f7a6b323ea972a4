package onereply_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
)

// bus carries broadcasts between the nodes of a test.
type bus struct {
	mu      sync.Mutex
	ears    map[*onBus]func([]byte)
	said    int // broadcasts
	told    int // events in them
	longest int
	stuck   chan struct{}
}

// onBus is one node's place on a bus, and the store that all nodes share.
type onBus struct {
	store.Store
	bus  *bus
	mute bool

	listens   chan struct{} // closed once the node hears others
	listening sync.Once

	deaf, crowded atomic.Bool
	echoed        atomic.Int64
}

// Echoed implements store.Echoer.
func (s *onBus) Echoed() time.Time {
	if at := s.echoed.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

func (b *bus) join(s store.Store) store.Store {
	return &onBus{Store: s, bus: b, listens: make(chan struct{})}
}

func newBus() *bus { return &bus{ears: map[*onBus]func([]byte){}} }

// Broadcast implements [store.Broadcaster]. The first one waits until its node listens, so
// that the answers to it are heard whichever goroutine is first.
func (s *onBus) Broadcast(ctx context.Context, payload []byte) error {
	select {
	case <-s.listens:
	case <-ctx.Done():
		return ctx.Err()
	}
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stuck != nil {
		stuck := b.stuck
		b.mu.Unlock()
		select {
		case <-stuck:
		case <-ctx.Done():
		}
		b.mu.Lock()
		return errors.New("stuck")
	}
	if len(payload) > store.MaxBroadcast {
		return store.ErrTooLarge
	}
	var events struct{ Events []json.RawMessage }
	if err := json.Unmarshal(payload, &events); err != nil {
		return err
	}
	if s.crowded.Load() {
		return store.ErrCrowded
	}
	if s.mute {
		return nil
	}
	if !s.deaf.Load() {
		s.echoed.Store(time.Now().UnixNano())
	}
	b.said++
	b.longest = max(b.longest, len(payload))
	b.told += len(events.Events)
	for other, f := range b.ears {
		if other != s && !other.deaf.Load() {
			f(slices.Clone(payload))
		}
	}
	return nil
}

func (s *onBus) Broadcasts(ctx context.Context, f func([]byte)) error {
	s.bus.mu.Lock()
	s.bus.ears[s] = f
	s.bus.mu.Unlock()
	s.listening.Do(func() { close(s.listens) })
	<-ctx.Done()
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	delete(s.bus.ears, s)
	return nil
}

func (b *bus) count() (said, told int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said, b.told
}

// onABus is nodes of one bot on one store in memory, that hear each other.
func onABus(t *testing.T, count int, bot onereply.Bot) (*bus, []*onereply.App) {
	t.Helper()
	shared, b := memory.New(), newBus()
	t.Cleanup(func() { shared.Close() })
	var apps []*onereply.App
	for i := range count {
		apps = append(apps, b.node(t, shared, fmt.Sprintf("node%d", i+1), bot))
	}
	synctest.Wait()
	return b, apps
}

func (b *bus) node(t *testing.T, shared store.Store, name string, bot onereply.Bot) *onereply.App {
	t.Helper()
	return onBusWith(t, b.join(shared), name, bot, slog.DiscardHandler)
}

func onBusWith(t *testing.T, joined store.Store, name string, bot onereply.Bot, log slog.Handler) *onereply.App {
	t.Helper()
	bot.Name = "bot"
	if bot.Responder == nil {
		bot.Responder = streaming(20)
	}
	app, err := onereply.Open(t.Context(), joined, onereply.Options{Node: name, Logger: slog.New(log)}, bot)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// streaming is a model that writes so many words, one every 10 ms.
func streaming(words int) onereply.Responder {
	return onereply.ResponderFunc(func(_ context.Context, t *onereply.Turn) (onereply.Reply, error) {
		var text strings.Builder
		for i := range words {
			<-time.After(10 * time.Millisecond)
			word := fmt.Sprintf("%d ", i)
			t.Delta(word)
			text.WriteString(word)
		}
		return onereply.Reply{Text: text.String()}, nil
	})
}

func closeAll(apps []*onereply.App) {
	for _, app := range apps {
		app.Close()
	}
}

func say(t *testing.T, app *onereply.App, conversation, id string) {
	t.Helper()
	if _, err := app.Receive(t.Context(), "bot", conversation, onereply.Message{ID: id, Text: "text of " + id}); err != nil {
		t.Fatal(err)
	}
}

// read takes what there is.
func read(s *onereply.Subscription) (events []onereply.Event) {
	for {
		synctest.Wait()
		select {
		case e, ok := <-s.Events:
			if !ok {
				return events
			}
			events = append(events, e)
		default:
			return events
		}
	}
}

// shorten joins the deltas that follow each other, and lists the rest by type.
func shorten(events []onereply.Event) (got []string, deltas string) {
	for _, e := range events {
		if e.Type == "reply.delta" {
			deltas += e.Text
			if len(got) > 0 && got[len(got)-1] == e.Type {
				continue
			}
		}
		got = append(got, e.Type)
	}
	return got, deltas
}

// What happens on one node is seen on another, with what the model writes, and can
// be resumed there.
func TestEventsOfOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, apps := onABus(t, 3, onereply.Bot{})
		defer closeAll(apps)
		elsewhere := apps[1].Subscribe(onereply.EventQuery{Bot: "bot", Conversation: "c"})
		defer elsewhere.Close()
		other := apps[2].Subscribe(onereply.EventQuery{Bot: "bot", Conversation: "other"})
		defer other.Close()
		at := apps[0].Subscribe(onereply.EventQuery{})
		defer at.Close()
		rest(time.Second)
		say(t, apps[0], "c", "m")
		rest(time.Minute)
		want, text := shorten(read(at))
		events := read(elsewhere)
		got, deltas := shorten(events)
		if !slices.Equal(got, want) || len(got) < 6 || deltas != text || !strings.HasPrefix(text, "0 1 2 ") {
			t.Errorf("elsewhere %q with %q,\nwant %q with %q", got, deltas, want, text)
		}
		if unrelated := read(other); len(unrelated) != 0 {
			t.Errorf("who watches another conversation sees %v", unrelated)
		}
		for _, e := range events {
			if e.Node != "node1" {
				t.Errorf("%s is of node %q", e.Type, e.Node)
			}
		}
		if _, told := b.count(); told > 15 {
			t.Errorf("%d events were sent for %d", told, len(events))
		}
		for i, e := range events {
			again := apps[1].Subscribe(onereply.EventQuery{After: e.ID})
			if missed := read(again); len(missed) != len(events)-1-i {
				t.Errorf("after event %d there are %d, want %d", i, len(missed), len(events)-1-i)
			}
			again.Close()
		}
	})
}

// A reader whose connection broke resumes without a gap on the node where it was.
func TestAReaderOfAnotherNodesEventsComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, apps := onABus(t, 2, onereply.Bot{})
		defer closeAll(apps)
		first := apps[1].Subscribe(onereply.EventQuery{})
		rest(time.Second)
		say(t, apps[0], "c", "m1")
		rest(200 * time.Millisecond)
		seen := read(first)
		first.Close()
		rest(5 * time.Second)
		say(t, apps[0], "c", "m2")
		rest(200 * time.Millisecond)
		again := apps[1].Subscribe(onereply.EventQuery{After: seen[len(seen)-1].ID})
		defer again.Close()
		if got := read(again); !slices.ContainsFunc(got, func(e onereply.Event) bool { return e.MessageID == "m2" }) {
			t.Errorf("it missed a message: %v", got)
		}
	})
}

// Nothing is sent of what nobody watches, and nothing any more soon after the last
// has left, or its node died.
func TestNoEventsAreSentThatNobodyWatches(t *testing.T) {
	for name, leave := range map[string]func(*onereply.Subscription, *bus, *onereply.App){
		"the reader leaves":   func(s *onereply.Subscription, _ *bus, _ *onereply.App) { s.Close() },
		"the node closes":     func(_ *onereply.Subscription, _ *bus, app *onereply.App) { app.Close() },
		"the node is cut off": func(_ *onereply.Subscription, b *bus, app *onereply.App) { b.silence(app) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, apps := onABus(t, 2, onereply.Bot{})
				defer closeAll(apps)
				local := apps[0].Subscribe(onereply.EventQuery{})
				defer local.Close()
				say(t, apps[0], "c", "m1")
				rest(10 * time.Second)
				if _, told := b.count(); told != 0 {
					t.Errorf("%d events were sent, though only a reader of the same node watches", told)
				}
				s := apps[1].Subscribe(onereply.EventQuery{})
				rest(time.Second)
				leave(s, b, apps[1])
				rest(2 * time.Minute)
				_, before := b.count()
				say(t, apps[0], "c", "m2")
				rest(3 * time.Second)
				if _, told := b.count(); told != before {
					t.Errorf("%d events were sent", told-before)
				}
			})
		})
	}
}

// A store that takes no broadcast holds up nobody, and what gathers meanwhile is
// bounded.
func TestAStuckBroadcastHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, apps := onABus(t, 2, onereply.Bot{Debounce: time.Hour, MaxWait: time.Hour})
		defer closeAll(apps)
		s := apps[1].Subscribe(onereply.EventQuery{})
		defer s.Close()
		rest(time.Second)
		release := make(chan struct{})
		b.mu.Lock()
		b.stuck = release
		b.mu.Unlock()
		began := time.Now()
		for i := range 9000 {
			say(t, apps[0], fmt.Sprint("c", i%10), fmt.Sprint("m", i))
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the messages took %v of virtual time", took)
		}
		b.mu.Lock()
		b.stuck = nil
		b.mu.Unlock()
		close(release)
		rest(time.Second)
		if _, told := b.count(); told == 0 || told > 4096 {
			t.Errorf("%d events were kept, want some, and 4096 at most", told)
		}
	})
}

// An event that is too large for any broadcast comes without its text; the next
// ones come all the same.
func TestALargeEventOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		huge := strings.Repeat("\x01", onereply.MaxReplyBytes) // six bytes each, as JSON
		_, apps := onABus(t, 2, onereply.Bot{Responder: onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
			return onereply.Reply{Text: huge}, nil
		})})
		defer closeAll(apps)
		s := apps[1].Subscribe(onereply.EventQuery{})
		defer s.Close()
		rest(time.Second)
		say(t, apps[0], "c", "m")
		rest(time.Minute)
		var seen []string
		for _, e := range read(s) {
			seen = append(seen, fmt.Sprint(e.Type, " ", len(e.Text), " ", e.TextLeftOut))
		}
		for _, want := range []string{"message.accepted 9 false", "reply.committed 0 true", "reply.sent 0 true"} {
			if !slices.Contains(seen, want) {
				t.Errorf("%q is missing: %q", want, seen)
			}
		}
	})
}

// A broadcast may hold anything.
func TestStrangeBroadcasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, apps := onABus(t, 1, onereply.Bot{})
		defer closeAll(apps)
		s := apps[0].Subscribe(onereply.EventQuery{})
		defer s.Close()
		stranger := b.join(nil).(*onBus)
		close(stranger.listens) // nobody listens there
		for _, text := range []string{
			`null`, `[]`, `{}`, `{"instance":"x"}`, `{"instance":"x","events":[null,{},{"Kind":""},7,{"Kind":"a","At":"nonsense"}]}`,
			`{"instance":"x","watches":[{"bot":"b"}],"report":{"minutes":[[1],[],null,[18446744073709551615,1,1,1,1,1,1,1,1,1]],"times":{"bounds":[1],"counts":[]}}}`,
			`{"instance":"` + strings.Repeat("x", 600) + `","report":{}}`,
		} {
			_ = stranger.Broadcast(t.Context(), []byte(text))
		}
		rest(time.Second)
		if got := read(s); len(got) != 0 {
			t.Errorf("it saw %v", got)
		}
		if _, err := apps[0].Overview(t.Context()); err != nil {
			t.Errorf("Overview: %v", err)
		}
	})
}

// Of what happens, only what somebody watches is sent.
func TestOnlyWhatIsWatchedIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, apps := onABus(t, 2, onereply.Bot{})
		defer closeAll(apps)
		s := apps[1].Subscribe(onereply.EventQuery{Bot: "bot", Conversation: "watched"})
		defer s.Close()
		rest(time.Second)
		say(t, apps[0], "other", "m")
		rest(10 * time.Second)
		if _, told := b.count(); told != 0 {
			t.Errorf("%d events of another conversation were sent", told)
		}
		say(t, apps[0], "watched", "m")
		rest(10 * time.Second)
		if _, told := b.count(); told < 6 {
			t.Errorf("%d events were sent of what is watched", told)
		}
	})
}

// A node whose last reader left says so, when the time in which that one may come
// back is over: the others do not wait until it is no longer renewed.
func TestANodeSaysThatItWatchesNothingAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, apps := onABus(t, 2, onereply.Bot{})
		defer closeAll(apps)
		apps[1].Subscribe(onereply.EventQuery{}).Close()
		rest(36 * time.Second)
		say(t, apps[0], "c", "m")
		rest(3 * time.Second)
		if _, told := b.count(); told != 0 {
			t.Errorf("%d events were sent", told)
		}
	})
}
