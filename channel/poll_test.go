package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/store/memory"
)

// queue is a platform from which messages are fetched. It gives what is not done, again
// and again.
type queue struct {
	mu      sync.Mutex
	waiting []string
	brought map[string]int
	polls   int // under way
	most    int
	fail    error
}

func (q *queue) Capabilities() channel.Capabilities { return channel.Capabilities{Limit: 100} }

func (q *queue) Check(context.Context, *channel.Request) error { return channel.ErrForged }

func (q *queue) Parse(*channel.Request) (channel.Batch, error) { return channel.Batch{}, nil }

func (q *queue) Send(context.Context, *channel.Part) (channel.Sent, error) {
	return channel.Sent{}, nil
}

func (q *queue) Poll(ctx context.Context, deliver func(context.Context, channel.Batch) error) error {
	q.count(1)
	defer q.count(-1)
	for {
		q.mu.Lock()
		waiting, fail := append([]string(nil), q.waiting...), q.fail
		q.mu.Unlock()
		if fail != nil {
			return fail
		}
		var batch channel.Batch
		for _, id := range waiting {
			batch.Events = append(batch.Events, channel.Message{Chat: channel.Chat{To: channel.Address{"c"}}, Message: onereply.Message{ID: id, Text: id}})
		}
		if len(waiting) > 0 {
			if err := deliver(ctx, batch); err != nil {
				return err
			}
			q.mu.Lock()
			q.waiting = q.waiting[len(waiting):]
			for _, id := range waiting {
				q.brought[id]++
			}
			q.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (q *queue) count(by int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.polls += by
	q.most = max(q.most, q.polls)
}

func (q *queue) push(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, id)
}

// polling is a few nodes that share a store and a platform.
type polling struct {
	*testing.T
	kept  *memory.Store
	queue *queue
	mu    sync.Mutex
	seen  []string
}

// node is one program.
type node struct {
	app     *onereply.App
	host    *channel.Host
	account *channel.Account
}

func (p *polling) start(name string) *node {
	account := channel.NewAccount(p.queue, channel.Settings{Bot: "bot", Name: "queue"})
	responder := onereply.ResponderFunc(func(_ context.Context, t *onereply.Turn) (onereply.Reply, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, m := range t.Messages {
			p.seen = append(p.seen, m.ID)
		}
		return onereply.Reply{Text: "re"}, nil
	})
	app, err := onereply.Open(p.Context(), p.kept, onereply.Options{Node: name, Logger: slog.New(slog.DiscardHandler)}, onereply.Bot{
		Name: "bot", Responder: responder, Channels: []onereply.Channel{{Name: "queue", Sender: account}},
	})
	if err != nil {
		p.Fatal(err)
	}
	n := &node{app: app, account: account, host: channel.NewHost(app, []*channel.Account{account}, channel.Options{})}
	n.host.Start()
	return n
}

func inPolling(t *testing.T, f func(p *polling)) {
	synctest.Test(t, func(t *testing.T) {
		p := &polling{T: t, kept: memory.New(), queue: &queue{brought: map[string]int{}}}
		defer p.kept.Close()
		f(p)
		if p.queue.most > 1 {
			t.Errorf("%d polled at once", p.queue.most)
		}
	})
}

func (p *polling) rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (p *polling) wantSeen(want ...string) {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Join(p.seen, " ") != strings.Join(want, " ") {
		p.Errorf("the model saw %q, want %q", p.seen, want)
	}
}

// One node polls. When it stops in order, the other one goes on within a third of the
// duty's time. Neither loses a message nor answers one twice.
func TestOneNodePolls(t *testing.T) {
	inPolling(t, func(p *polling) {
		first := p.start("first")
		p.rest(time.Second)
		second := p.start("second")
		var want []string
		for i := range 5 {
			id := fmt.Sprint("a", i)
			p.queue.push(id)
			want = append(want, id)
			p.rest(time.Minute)
		}
		if !first.account.Status().Polling || second.account.Status().Polling {
			t.Error("the second node polls")
		}
		first.host.Close()
		first.app.Close()
		p.queue.push("b")
		p.rest(10 * time.Second)
		p.wantSeen(append(want, "b")...)
		second.host.Close()
		second.app.Close()
	})
}

// A poll that fails is tried again, with pauses, and says so.
func TestPollsGoOn(t *testing.T) {
	inPolling(t, func(p *polling) {
		p.queue.fail = &channel.PauseError{For: 20 * time.Second, Err: errors.New("too many requests")}
		n := p.start("node")
		p.rest(time.Second)
		if s := n.account.Status(); s.LastError != "too many requests" {
			t.Errorf("status %+v", s)
		}
		p.queue.mu.Lock()
		p.queue.fail = nil
		p.queue.mu.Unlock()
		p.queue.push("a")
		p.rest(15 * time.Second)
		p.wantSeen()
		p.rest(15 * time.Second)
		p.wantSeen("a")
		n.host.Close()
		n.app.Close()
	})
}

// A message that comes again under two names of its chat is a repeat.
func TestAlso(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		defer kept.Close()
		p := &polling{T: t, kept: kept, queue: &queue{brought: map[string]int{}}}
		both := &twoNames{queue: p.queue}
		account := channel.NewAccount(both, channel.Settings{Bot: "bot", Name: "queue"})
		app, err := onereply.Open(t.Context(), kept, onereply.Options{Logger: slog.New(slog.DiscardHandler)}, onereply.Bot{
			Name: "bot", Responder: onereply.ResponderFunc(func(_ context.Context, turn *onereply.Turn) (onereply.Reply, error) {
				for _, m := range turn.Messages {
					p.seen = append(p.seen, m.ID)
				}
				return onereply.Reply{Text: "re"}, nil
			}), Channels: []onereply.Channel{{Name: "queue", Sender: account}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		host := channel.NewHost(app, []*channel.Account{account}, channel.Options{})
		for _, body := range []string{"phone=a", "phone+id=b", "id=a", "id=c"} {
			r, _ := http.NewRequest("POST", "/", strings.NewReader(body))
			if got := answered(host, r); got != http.StatusOK {
				t.Fatalf("%s: %d", body, got)
			}
		}
		p.rest(time.Minute)
		p.wantSeen("a", "b", "c")
	})
}

// twoNames is a platform whose chats have a phone number, an id, or both. A body is the
// names, and the id of a message.
type twoNames struct{ *queue }

func (*twoNames) Check(context.Context, *channel.Request) error { return nil }

func (*twoNames) Parse(r *channel.Request) (channel.Batch, error) {
	names, id, _ := strings.Cut(string(r.Body), "=")
	var chat channel.Chat
	for i, name := range strings.Split(names, "+") {
		if i == 0 {
			chat.To = channel.Address{name}
		} else {
			chat.Also = append(chat.Also, channel.Address{name})
		}
	}
	return channel.Batch{Events: []channel.Event{channel.Message{Chat: chat, Message: onereply.Message{ID: id, Text: id}}}}, nil
}

// answered is the status of a host's answer.
func answered(h *channel.Host, r *http.Request) int {
	w := httptest.NewRecorder()
	if !h.Receive(w, r, "bot", "queue") {
		return 0
	}
	return w.Code
}
