// Package channeltest is the suite that every channel must pass.
//
// A channel's test gives a [Platform]: the requests that the platform makes, and a fake of
// its API that behaves as the real one. The suite runs both against a real App, in virtual
// time, and looks at what a person in the chat would see. Behaviour of one platform alone
// is tested beside its channel.
//
// It is for tests only. It must never import a concrete channel, a store or cmd: a test
// says where conversations are kept.
package channeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
)

// Platform is a chat platform, as a channel meets it. Functions that are nil say that the
// platform has no such thing. Each request is as the platform signs it, and made now.
type Platform struct {
	// Kind is the account's name. New makes the channel, which calls the API with this
	// client.
	Kind string
	New  func(client *http.Client) (channel.Channel, error)
	Fake Fake

	// Address is a chat's address. nil: it has one part, the chat's name.
	Address func(chat string) channel.Address

	// Message is a message of a person. Chats have names such as 42, messages have
	// numbers.
	Message func(chat string, id int, text string) *http.Request

	// Batch is a request with several messages of one chat.
	Batch func(chat string, ids ...int) *http.Request

	// Edit and Delete change a message.
	Edit   func(chat string, id int, text string) *http.Request
	Delete func(chat string, id int) *http.Request

	// Echo is a message of the bot's own, as the platform tells of it.
	Echo func(chat string, id int, text string) *http.Request

	// EchoHasText: the platform's own id tells nothing before the send has its answer, but
	// the echo carries the text.
	EchoHasText bool

	// NotMine are events that change nothing.
	NotMine []func() *http.Request

	// Forge changes the signature of a request to a wrong one, Unsign removes it. Age makes
	// a request that was signed so long ago.
	Forge  func(r *http.Request)
	Unsign func(r *http.Request)
	Age    func(d time.Duration) *http.Request

	// Length is how the platform counts a text, and Limit is its limit.
	Length func(text string) int
	Limit  int
}

// Fake is a fake of a platform's API.
type Fake interface {
	http.Handler

	// Shown are the texts that a person sees in a chat, in order.
	Shown(chat string) []string

	// Next queues a fault for a call that sends a message: each call takes one.
	Next(f Fault)
}

// Fault is a failure of one send. The zero value: none.
type Fault struct {
	// Limited: the platform refuses it for so long. 0: it does not.
	Limited time.Duration

	// Lost: the message is shown, and the answer is lost.
	Lost bool

	// Refused: the platform refuses it for good.
	Refused bool
}

// Open opens an App with these bots. Each call of one Open is a new start of the program
// on the same store.
type Open func(ctx context.Context, o onereply.Options, bots ...onereply.Bot) (*onereply.App, error)

// Suite is what [Run] needs.
type Suite struct {
	// Platform makes a platform in which nothing has happened.
	Platform func() Platform

	// Store makes a store. It returns a function that opens an App on the store, and one
	// that closes the store.
	Store func() (open Open, closeStore func())
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if p := s.Platform(); c.needs != nil && !c.needs(p) {
				t.Skipf("%s has no such thing", p.Kind)
			}
			synctest.Test(t, func(t *testing.T) {
				w := start(t, s)
				defer w.end()
				c.check(w)
			})
		})
	}
}

// Program is an App with one account of a platform.
type Program struct {
	App     *onereply.App
	Host    *channel.Host
	Account *channel.Account
}

// Start starts a program: a bot that is reached through the channel, whose kind is also the
// account's name. The bot's name and channels are filled in. The caller ends it with Stop.
func Start(t *testing.T, open Open, node string, c channel.Channel, kind string, bot onereply.Bot) *Program {
	t.Helper()
	p := &Program{Account: channel.NewAccount(c, channel.Settings{Bot: "bot", Name: kind, TakeoverFor: time.Hour})}
	bot.Name, bot.Channels = "bot", []onereply.Channel{{Name: kind, Sender: p.Account}}
	var err error
	if p.App, err = open(t.Context(), onereply.Options{Node: node, Logger: slog.New(slog.DiscardHandler)}, bot); err != nil {
		t.Fatal(err)
	}
	p.Host = channel.NewHost(p.App, []*channel.Account{p.Account}, channel.Options{})
	p.Host.Start()
	return p
}

// Stop ends the program: what it has not finished is left as it is.
func (p *Program) Stop() {
	p.Host.Close()
	p.App.Close()
}

// The times of the suite's bot.
const (
	debounce = time.Second
	model    = 2 * time.Second
)

// world is one App with one account on a platform.
type world struct {
	*testing.T
	Platform

	*Program
	open  Open
	began time.Time
	close func()

	mu    sync.Mutex
	seen  []string // by the model: the texts of each attempt that ended
	reply func(texts []string) string
}

func start(t *testing.T, s Suite) *world {
	w := &world{T: t, Platform: s.Platform(), began: time.Now()}
	w.open, w.close = s.Store()
	w.reply = func(texts []string) string { return "re: " + strings.Join(texts, " | ") }
	w.up()
	return w
}

// up starts the program.
func (w *world) up() {
	w.Helper()
	ch, err := w.New(Client(w.Fake))
	if err != nil {
		w.Fatal(err)
	}
	w.Program = Start(w.T, w.open, "node", ch, w.Kind, onereply.Bot{Responder: onereply.ResponderFunc(w.respond), Debounce: debounce})
}

func (w *world) end() {
	w.Stop()
	w.close()
}

// respond is the model: it takes its time, and names what it saw.
func (w *world) respond(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
	select {
	case <-ctx.Done():
		return onereply.Reply{}, ctx.Err()
	case <-time.After(model):
	}
	var texts []string
	for _, m := range t.Messages {
		texts = append(texts, m.Text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, strings.Join(texts, " | "))
	return onereply.Reply{Text: w.reply(texts)}, nil
}

// comes is a request that must be answered with success.
func (w *world) comes(r *http.Request) {
	w.Helper()
	if got := w.post(r); got.Code != http.StatusOK {
		w.Fatalf("answered %d: %s", got.Code, got.Body)
	}
}

// isRefused is a request that must not be answered with success, nor store anything.
func (w *world) isRefused(r *http.Request, status int) {
	w.Helper()
	got := w.post(r)
	if status != 0 && got.Code != status || got.Code/100 == 2 {
		w.Errorf("answered %d: %s", got.Code, got.Body)
	}
	w.rest(time.Minute)
	w.wantShown("42")
}

func (w *world) post(r *http.Request) *httptest.ResponseRecorder {
	w.Helper()
	got := httptest.NewRecorder()
	if !w.Host.Receive(got, r, "bot", w.Kind) {
		w.Fatal("there is no such account")
	}
	return got
}

// rest lets time pass.
func (w *world) rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantShown compares what the person sees.
func (w *world) wantShown(chat string, want ...string) {
	w.Helper()
	got := w.Fake.Shown(chat)
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
		w.Errorf("after %v the chat shows %q, want %q", time.Since(w.began), got, want)
	}
}

// state is the conversation's.
func (w *world) state(chat string) onereply.State {
	w.Helper()
	to := channel.Address{chat}
	if w.Address != nil {
		to = w.Address(chat)
	}
	s, err := w.App.State(w.Context(), "bot", to.Key(w.Kind))
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// Client is a client whose requests all go to the handler, without a network, so that it
// works in virtual time.
func Client(h http.Handler) *http.Client { return &http.Client{Transport: transport{h}} }

// transport hands requests to a handler, without a network.
type transport struct{ handler http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	type result struct {
		response *http.Response
		err      error
	}
	done := make(chan result, 1)
	served := r.Clone(r.Context())
	served.Body = io.NopCloser(strings.NewReader(string(body)))
	served.RequestURI = (&url.URL{Path: r.URL.Path, RawQuery: r.URL.RawQuery}).RequestURI()
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- result{err: fmt.Errorf("the connection was lost: %v", p)}
			}
		}()
		answer := httptest.NewRecorder()
		t.handler.ServeHTTP(answer, served)
		done <- result{response: answer.Result()}
	}()
	select {
	case got := <-done:
		return got.response, got.err
	case <-r.Context().Done():
		return nil, errors.Join(errors.New("no answer"), context.Cause(r.Context()))
	}
}
