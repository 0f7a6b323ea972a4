package channel

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/loglimit"
)

// Host receives the events of the accounts of one node and hands them to the App. It must
// be made by [NewHost]. Its methods may be called from many goroutines.
type Host struct {
	app       App
	options   Options
	accounts  map[[2]string]*Account
	forged    loglimit.Limit
	ctx       context.Context
	stop      context.CancelFunc
	running   sync.WaitGroup
	starting  sync.Once
	nonceBase string
}

// Options are the settings of a [Host]. The zero value is usable.
type Options struct {
	Logger *slog.Logger // default: none

	// PublicURL is the address by which platforms reach this node, such as
	// https://bot.example.com: some sign the address that they call. "": the address of the
	// request itself.
	PublicURL string

	// Duty is how long one node may poll before it has to ask again. Others ask every third
	// of it, so after a crash one of them polls within 4/3 of it. Default 15s.
	Duty time.Duration

	// Retry is the pause after a failed Poll or Open before the next try. It doubles with
	// each failure, up to 1 minute. Default 1s.
	Retry time.Duration
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Duty == 0 {
		o.Duty = 15 * time.Second
	}
	if o.Retry == 0 {
		o.Retry = time.Second
	}
	return o
}

// NewHost connects accounts with an App, which must have their bots. It does nothing until
// it is started.
func NewHost(app App, accounts []*Account, o Options) *Host {
	h := &Host{app: app, options: o.withDefaults(), accounts: map[[2]string]*Account{}, forged: loglimit.Limit{Lines: 1}, nonceBase: rand.Text()}
	h.ctx, h.stop = context.WithCancel(context.Background())
	for _, a := range accounts {
		a.app.Store(&app)
		h.accounts[[2]string{a.bot, a.name}] = a
	}
	return h
}

// Start opens the channels that are an [Opener] and polls those that are a [Poller]. It
// does not wait for either.
func (h *Host) Start() {
	h.starting.Do(func() {
		for _, a := range h.accounts {
			if opener, ok := a.channel.(Opener); ok {
				h.running.Go(func() { h.open(a, opener) })
			}
			if poller, ok := a.channel.(Poller); ok {
				h.running.Go(func() { h.poll(a, poller) })
			}
		}
	})
}

// Close stops polling, so that another node can take over at once, and waits until the
// goroutines of the host have ended. Requests are answered until the App closes. It may be
// called more than once.
func (h *Host) Close() {
	h.stop()
	h.running.Wait()
}

// open calls Open until it succeeds or the host closes.
func (h *Host) open(a *Account, opener Opener) {
	for pause := h.options.Retry; ; pause = min(2*pause, time.Minute) {
		ctx, cancel := context.WithTimeout(h.ctx, 30*time.Second)
		err := opener.Open(ctx)
		cancel()
		if err == nil || h.ctx.Err() != nil {
			return
		}
		a.status.failed(err)
		h.logOf(a).Warn("the channel's platform did not tell what the channel needs; this is tried again", "err", err)
		if !wait(h.ctx, pause) {
			return
		}
	}
}

// wait reports false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (h *Host) logOf(a *Account) *slog.Logger {
	return h.options.Logger.With("bot", a.bot, "channel", a.name)
}

// Path is where requests of an account's platform come in: /channels/, the bot and the
// account's name.
func Path(bot, name string) string {
	kind, more, two := strings.Cut(name, "/")
	path := "/channels/" + url.PathEscape(bot) + "/" + url.PathEscape(kind)
	if two {
		path += "/" + url.PathEscape(more)
	}
	return path
}

// Receive answers a request of a platform to an account. It reports false, and has not
// answered, where there is no such account.
//
// The answers: 401 if the signature does not match, 413 if the body is too long, 400 if it
// can't be read, 503 if the messages could not be stored, so that the platform sends them
// again, and otherwise [Batch].Answer.
func (h *Host) Receive(w http.ResponseWriter, r *http.Request, bot, name string) bool {
	a := h.accounts[[2]string{bot, name}]
	if a == nil {
		return false
	}
	answer := h.answer(a, r)
	if answer.ContentType != "" {
		w.Header().Set("Content-Type", answer.ContentType)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if answer.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
	return true
}

// say is an answer for a person who looks at the platform's log of failures.
func say(status int, text string) Answer {
	return Answer{Status: status, ContentType: "text/plain; charset=utf-8", Body: []byte(text + "\n")}
}

func (h *Host) answer(a *Account, r *http.Request) Answer {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, MaxBodyBytes))
	if err == nil && int64(len(body)) < r.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		a.status.misread(err)
		return say(http.StatusRequestEntityTooLarge, "The body is too large.")
	}
	if err != nil {
		a.status.misread(err)
		return say(http.StatusBadRequest, "The body ended too early.")
	}
	request := &Request{Method: r.Method, URL: h.publicURL(r), Header: r.Header, Body: body, At: time.Now()}
	if err := a.channel.Check(r.Context(), request); err != nil {
		a.status.forge(err)
		if total := h.forged.Add(time.Now(), 1); total > 0 {
			h.logOf(a).Warn("a request to a channel was not made by its platform, or its secret is not the configured one", "err", err, "so_far", total)
		}
		return say(http.StatusUnauthorized, "The signature does not match.")
	}
	a.status.verified()
	batch, err := a.channel.Parse(request)
	if err != nil {
		a.status.misread(err)
		h.logOf(a).Warn("a request to a channel can't be read", "err", err)
		return say(http.StatusBadRequest, "The body can't be read.")
	}
	if err := h.take(r.Context(), a, batch); err != nil {
		h.logOf(a).Warn("messages of a channel could not be stored; the platform is asked to send them again", "err", err)
		return say(http.StatusServiceUnavailable, "Not available for now; try again.")
	}
	if batch.Answer != nil {
		return *batch.Answer
	}
	return Answer{Status: http.StatusOK}
}

// publicURL is the request's address as its platform called it.
func (h *Host) publicURL(r *http.Request) *url.URL {
	address := *r.URL
	address.Host, address.Scheme = r.Host, "http"
	if r.TLS != nil {
		address.Scheme = "https"
	}
	if base, err := url.Parse(h.options.PublicURL); err == nil && h.options.PublicURL != "" {
		address.Scheme, address.Host = base.Scheme, base.Host
		address.Path = base.Path + address.Path
		if address.RawPath != "" {
			address.RawPath = base.EscapedPath() + address.RawPath
		}
	}
	return &address
}
