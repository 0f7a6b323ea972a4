package server

import (
	"net/http"
	"time"
	"unicode"

	"github.com/onereply/onereply"
)

// maxEventIDBytes bounds the id after which a stream goes on.
const maxEventIDBytes = 256

// getConversationEvents streams the events of one conversation. The conversation need not
// exist: a page may watch before the first message.
func (s *Server) getConversationEvents(w http.ResponseWriter, r *http.Request) error {
	after, err := readAfter(r)
	if err != nil {
		return err
	}
	return s.follow(w, r, onereply.EventQuery{
		Bot:          r.PathValue("bot"),
		Conversation: r.PathValue("conversation"),
		After:        after,
	})
}

// getEvents streams the events of all conversations, or of one bot. A bot that is not
// served here is refused: its stream would stay silent without a reason.
func (s *Server) getEvents(w http.ResponseWriter, r *http.Request) error {
	after, err := readAfter(r)
	if err != nil {
		return err
	}
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	bot, _, err := s.botsOf(callerOf(r), query.Get("bot")) // pump leaves out those of other bots
	if err != nil {
		return err
	}
	watch := onereply.EventQuery{Bot: bot, Conversation: query.Get("conversation"), After: after}
	if watch.Conversation != "" {
		if err := checkName("conversation", watch.Conversation); err != nil {
			return err
		}
	}
	return s.follow(w, r, watch)
}

// readAfter finds the id of the last event that the client has seen. The header goes
// before the query: a browser that connects again sets it and repeats the old query. The
// query is for clients that can't set headers.
func readAfter(r *http.Request) (string, error) {
	query, err := readQuery(r)
	if err != nil {
		return "", err
	}
	for _, after := range []string{r.Header.Get("Last-Event-ID"), query.Get("last_event_id"), query.Get("after")} {
		if after != "" {
			return after, checkEventID(after)
		}
	}
	return "", nil
}

// checkEventID refuses ids that no stream has sent. They end up in logs and in the
// search for the event, so their length and their characters are bounded.
func checkEventID(id string) error {
	if len(id) > maxEventIDBytes {
		return errField("Last-Event-ID", "It may have at most %d bytes.", maxEventIDBytes)
	}
	for _, c := range id {
		if c == unicode.ReplacementChar || !unicode.IsPrint(c) {
			return errField("Last-Event-ID", "It is not the id of an event.")
		}
	}
	return nil
}

// follow sends events until the client leaves, a write to it misses its deadline, or the
// server shuts down.
//
// The way of a stream: the query says which conversations and after which event; the
// place among the MaxStreams is taken; the App starts to collect events; the header goes
// out; then each event is written as it comes, and a comment at each heartbeat. A client
// that loses the stream connects again with the last id that it saw, and gets the events
// since, as far as this node still knows them. The stream is a view: the messages and
// replies themselves are in the transcript.
//
// The subscription starts before the header goes out: a client that has the header misses
// nothing that happens from then on. A HEAD request gets the header only.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, watch onereply.EventQuery) error {
	if !s.streams.enter() {
		return newProblem(kindUnavailable, "The node is closing, or has as many event streams as it may (%d).", s.options.MaxStreams)
	}
	defer s.streams.leave()
	out := newEventWriter(w, s.options.WriteTimeout, s.encoded)
	if r.Method == http.MethodHead {
		out.start()
		return nil
	}
	events, stop := s.subscribe(watch)
	defer stop()
	if out.start() && out.greet() {
		s.pump(r, out, events)
	}
	return nil
}

// pump copies events that the caller may see to the client, for as long as the caller's key
// is good. The App never waits for a client. A write that misses its deadline ends the
// stream; the client connects again, and goes on after the last event that it got.
func (s *Server) pump(r *http.Request, out *eventWriter, events <-chan onereply.Event) {
	heartbeat := time.NewTicker(s.options.Heartbeat)
	defer heartbeat.Stop()
	who := callerOf(r)
	gone, expired, stop := who.ending(time.Now())
	defer stop()
	for going := true; going; {
		select {
		case e, ok := <-events:
			if last := len(events) == 0; ok && !who.sees(e.Bot) {
				going = out.passOver(last)
			} else {
				going = ok && out.event(e, last)
			}
		case <-heartbeat.C:
			going = !s.guard.revoked(who.session) && out.beat()
		case <-r.Context().Done():
			return
		case <-s.streams.ended:
			return
		case <-gone:
			return
		case <-expired:
			return
		}
	}
}
