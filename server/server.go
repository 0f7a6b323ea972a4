// Package server is the HTTP API: it turns requests into calls of an [App] and
// answers them as openapi.json says, with problem documents for errors. It
// decides nothing about conversations. It must never import a store, a
// responder, a channel, the engine, the console or cmd.
//
// Read it in this order: routes.go is the whole API, one line a call; server.go
// is the way of a request to its handler; messages.go has a handler, and
// body.go and respond.go what all handlers use; problem.go is the whole error
// policy. The rest is who may call (auth.go, keys.go, caller.go, grant.go, session.go,
// session_list.go, login.go, wrongkeys.go, refusals.go), how often (rate.go) and from where
// (forwarded.go), event streams (events.go, event_writer.go, event_cache.go, stream_limit.go) and
// metrics (metrics.go, stats.go).
//
// Errors have one way: a handler returns an error and writes nothing, ServeHTTP makes a
// problem document of it, and logs it. The server keeps no state of conversations, so any
// node may get any request. It keeps only counts: of open streams, of wrong keys, of
// requests; and the sessions and refused calls that it saw lately.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/loglimit"
)

// App is the part of [onereply.App] that the API calls. Its methods may be called from
// many goroutines at once; errors that are not an [*onereply.Error] are answered with
// status 500. It is an interface so that tests of the API need no store and no engine,
// and see exactly which call a request makes. If the context ends, the call returns, but
// a change that was under way may still be stored.
type App interface {
	Receive(ctx context.Context, bot, conversation string, m onereply.Message) (onereply.Receipt, error)
	Edit(ctx context.Context, bot, conversation, id string, c onereply.Edit) (onereply.Receipt, error)
	Retract(ctx context.Context, bot, conversation, id string) (onereply.Receipt, error)
	Typing(ctx context.Context, bot, conversation string, d time.Duration) error
	Flush(ctx context.Context, bot, conversation string) (onereply.State, error)
	Pause(ctx context.Context, bot, conversation string, p onereply.Pause) (onereply.State, error)
	Resume(ctx context.Context, bot, conversation string, answerPending bool) (onereply.State, error)
	Answer(ctx context.Context, bot, conversation string, r onereply.HumanReply) (onereply.Receipt, error)
	Move(ctx context.Context, bot, conversation, to string) (onereply.State, error)
	SetAlias(ctx context.Context, bot, alias, conversation string) (onereply.NamedConversation, error)
	Alias(ctx context.Context, bot, alias string) (onereply.NamedConversation, error)
	RemoveAlias(ctx context.Context, bot, alias string) error
	Reset(ctx context.Context, bot, conversation, reason string) (onereply.State, error)
	Requeue(ctx context.Context, bot, conversation string) (onereply.State, error)
	Resend(ctx context.Context, bot, conversation string, turn int64) (onereply.State, error)
	MarkSent(ctx context.Context, bot, conversation string, turn int64) (onereply.State, error)
	ReportReply(ctx context.Context, bot, conversation string, turn int64, r onereply.ReplyReport) (onereply.Receipt, error)
	Seal(ctx context.Context, bot, conversation string, token int64) error
	State(ctx context.Context, bot, conversation string) (onereply.State, error)
	Transcript(ctx context.Context, bot, conversation string, after int64, limit int) (onereply.TranscriptPage, error)
	TranscriptBefore(ctx context.Context, bot, conversation string, before int64, limit int) (onereply.TranscriptPage, error)
	Timeline(ctx context.Context, bot, conversation string, q onereply.TimelineQuery) (onereply.Timeline, error)
	Audit(ctx context.Context, q onereply.AuditQuery) ([]onereply.AuditEntry, error)
	Overview(ctx context.Context) (onereply.Overview, error)
	Attention(ctx context.Context, q onereply.AttentionQuery) (onereply.AttentionPage, error)
	Conversations(ctx context.Context, q onereply.ConversationQuery) (onereply.ConversationPage, error)
	Forget(ctx context.Context, bot, conversation string) error
	Subscribe(q onereply.EventQuery) *onereply.Subscription
	Revoke(id string, until time.Time)
	Revoked(id string) bool
	Ready(ctx context.Context) error
	Bots() []string
	Stats() onereply.Stats
}

// Options are the settings of a [Server]. The zero value of each field means its default.
// The limits stand here and not in the configuration of a node: they protect the process,
// and no operator has to choose them. Tests make them short.
type Options struct {
	Keys         *Keys        // bearer keys; nil, or none of them: everybody may use the API
	LoopbackOnly bool         // as long as there are no keys, refuse requests whose Host is not this machine: against DNS rebinding
	Logger       *slog.Logger // default: nothing is logged
	Version      string       // of the program, for metrics
	Page         http.Handler // gets GET and HEAD of every path outside the API; nil: none
	Channels     Channels     // takes what chat platforms send; nil: nothing does
	Demo         Demo         // the settings of a demo that can be changed while it runs; nil: none

	Settings // those that can be changed while the server runs

	BodyTimeout  time.Duration // a request's body must have arrived by then; default 15s
	CallTimeout  time.Duration // one call of the App; default 30s
	WriteTimeout time.Duration // an answer, or one event, must be taken by then; default 15s
	Heartbeat    time.Duration // pause between the comments that keep an event stream open; default 15s
	MaxStreams   int           // event streams at once; default 1000
}

// Settings are settings of a [Server] that [Server.Configure] replaces while it runs.
type Settings struct {
	// Rates are the bounds of each bot, by name.
	Rates map[string]BotRates

	// TrustedProxies are the networks of proxies that are believed when they name the
	// client, in X-Forwarded-For or Forwarded.
	TrustedProxies []netip.Prefix
}

// withDefaults fills in the fields that are not set. New calls it once, so that the rest
// of the package sees no zero values.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	duration := func(d *time.Duration, fallback time.Duration) {
		if *d == 0 {
			*d = fallback
		}
	}
	duration(&o.BodyTimeout, 15*time.Second)
	duration(&o.CallTimeout, 30*time.Second)
	duration(&o.WriteTimeout, 15*time.Second)
	duration(&o.Heartbeat, 15*time.Second)
	if o.MaxStreams == 0 {
		o.MaxStreams = 1000
	}
	return o
}

// Server is the API as an [http.Handler]. It starts no goroutine of its own. It may be
// used by many goroutines at once. All fields but the settings are fixed by New; the counts
// in them guard themselves.
type Server struct {
	app       App
	options   Options
	bots      map[string]bool
	router    router
	guard     guard
	refused   *refusals
	settings  atomic.Pointer[Settings]
	rates     rates
	streams   *streams
	encoded   *eventCache
	unserved  loglimit.Limit // lines about requests that were answered with 503
	metrics   *metrics
	subscribe subscribe
}

// subscribe starts to watch events. The caller must call stop in the end. The channel is
// closed when the node closes, or after stop. A slow client is not cut off: see
// [onereply.Subscription].
type subscribe func(onereply.EventQuery) (events <-chan onereply.Event, stop func())

// New makes a Server. The bots of app must not change afterwards. A request for any other
// bot is answered with 404 without a call of the App.
func New(app App, options Options) *Server {
	options = options.withDefaults()
	s := &Server{
		app:      app,
		options:  options,
		bots:     map[string]bool{},
		guard:    newGuard(options.Keys, app.Revoked, options.LoopbackOnly, options.Logger),
		refused:  &refusals{log: options.Logger},
		streams:  newStreams(options.MaxStreams),
		encoded:  newEventCache(),
		unserved: loglimit.Limit{Lines: unservedLines},
		subscribe: func(watch onereply.EventQuery) (<-chan onereply.Event, func()) {
			subscription := app.Subscribe(watch)
			return subscription.Events, subscription.Close
		},
	}
	s.Configure(options.Settings)
	for _, bot := range app.Bots() {
		s.bots[bot] = true
	}
	s.metrics = newMetrics(app, options.Channels, s.streams, &s.guard.wrong.count, options.Version)
	s.router = newRouter(s.routes(), s.page())
	return s
}

// Configure replaces the settings, for each request from now on. The counts of the rates
// stay.
func (s *Server) Configure(now Settings) { s.settings.Store(&now) }

// EndStreams ends all event streams, and refuses new ones. Give it to
// [http.Server.RegisterOnShutdown]: a shutdown waits for streams otherwise. It may be
// called more than once. The streams' clients connect again, to another node if there is
// one.
func (s *Server) EndStreams() { s.streams.end() }

// ServeHTTP answers one request, in this order: deadlines, route, caller, handler; then
// the problem document if there was an error, and the metrics. A handler that panics is
// answered with status 500, and the server goes on. A stream moves the deadline for
// writing with each event. The panic at the end drops the connection: the client sees a
// broken answer, where it would otherwise take the half for the whole.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	out := &recorder{ResponseWriter: w}
	if client := clientOf(r, s.settings.Load().TrustedProxies); client != "" {
		r.RemoteAddr = client // from here on nobody needs the proxy's
	}
	s.setDeadlines(out, r, began)
	found, err := s.router.find(r.Method, r.URL.EscapedPath())
	if err == nil {
		err = recovered(func() error { return s.serve(out, r, found) })
	}
	half := isPanic(err) && out.started
	if err != nil {
		s.fail(out, r, found.route, err)
	}
	s.observe(out, r, found.route, time.Since(began))
	if half {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
}

// serve checks who calls and which bot is meant, and lets the route answer. The call of
// the App ends when the client leaves, or after the CallTimeout; event streams set their
// own deadlines. The caller comes first: without a key nobody learns which bots there
// are. The names of the path come next, so that no handler sees one that a store would
// refuse.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, found match) error {
	if found.route.byGrant { // a grant is about the names
		if err := found.bind(r); err != nil {
			return err
		}
	}
	who, err := s.guard.check(r, found.route)
	if err != nil {
		_ = found.bind(r) // for the audit; the caller learns nothing of it
		return err
	}
	if err := found.bind(r); err != nil {
		return err
	}
	if bot := r.PathValue("bot"); bot != "" && found.route.access != signed {
		if err := s.checkBot(who, bot); err != nil {
			return err
		}
	}
	r = withCaller(r, who)
	if found.route.counted {
		if err := s.checkRate(who, r.PathValue("bot"), r.PathValue("conversation")); err != nil {
			return err
		}
	}
	if found.route.stream {
		return found.route.handle(w, r)
	}
	ctx := r.Context()
	if found.route.audited {
		ctx = onereply.WithActor(ctx, onereply.Actor{By: who.by, From: who.from})
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	return found.route.handle(w, r.WithContext(ctx))
}

// checkBot refuses a bot that the caller may not use, or that is not served here.
func (s *Server) checkBot(who caller, bot string) error {
	if err := who.checkBot(bot); err != nil {
		return err
	}
	if !s.bots[bot] {
		return errUnknownBot(bot)
	}
	return nil
}

// botsOf selects the bots of a list, as [caller.bots] does, and refuses one that was asked for
// as checkBot does.
func (s *Server) botsOf(who caller, asked string) (one string, some []string, err error) {
	if asked != "" {
		if err := s.checkBot(who, asked); err != nil {
			return "", nil, err
		}
	}
	one, some = who.bots(asked)
	return one, some, nil
}

// noteRefused tells the audit of a call that was refused. Somebody may have made
// up the names of the path, so only a bot that is served here is named.
func (s *Server) noteRefused(r *http.Request, found *route, p *problem) {
	bot := r.PathValue("bot")
	if !s.bots[bot] {
		bot = ""
	}
	s.refused.note(r, found, p, bot, time.Now())
}

// setDeadlines bounds how long a client may take to send its body and to receive the
// answer, so that a slow one can't keep a goroutine for ever. If no handler reads the
// body, net/http does, within the same deadline. The deadline for writing is the sum of
// the three: the answer begins only after the body was read and the App was called.
func (s *Server) setDeadlines(w http.ResponseWriter, r *http.Request, now time.Time) {
	control := http.NewResponseController(w)
	if r.ContentLength != 0 {
		_ = control.SetReadDeadline(now.Add(s.options.BodyTimeout))
	}
	// An error means that the writer has no deadlines: it is no network connection.
	_ = control.SetWriteDeadline(now.Add(s.options.BodyTimeout + s.options.CallTimeout + s.options.WriteTimeout))
}
