package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// respond answers with JSON. A handler calls it last: after it, nothing can be answered
// any more.
func respond(w http.ResponseWriter, status int, body any) error {
	return writeBody(w, status, "application/json", body)
}

// writeBody encodes before it writes: a value that can't be encoded is answered with 500,
// and not with half a document. No answer may be cached, and browsers must not guess a
// type. The line break at the end is for people who call from a terminal.
func writeBody(w http.ResponseWriter, status int, contentType string, body any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// An error here means that the client is gone: nobody is left to tell.
	_, _ = w.Write(append(encoded, '\n'))
	return nil
}

// listOf makes an empty list of nil: the API writes [] and not null. A client may then
// loop over the list without a check.
func listOf[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// respondEmpty answers that the call succeeded and has nothing to say.
func respondEmpty(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// observe counts the request and logs it at debug level. A request that succeeded is
// worth no line by default: on a busy node such lines would hide all others.
func (s *Server) observe(w *recorder, r *http.Request, found *route, took time.Duration) {
	if w.status == 0 {
		w.status = http.StatusOK // net/http answers so where a handler wrote nothing
	}
	s.metrics.count(r.Method, found, w.status, took)
	if s.options.Logger.Enabled(r.Context(), slog.LevelDebug) {
		s.options.Logger.LogAttrs(r.Context(), slog.LevelDebug, "request",
			append(about(r, found), slog.Int("status", w.status), slog.Duration("took", took))...)
	}
}

// logFailure logs an error. One that is not the client's fault is logged above debug
// level. The levels: debug for mistakes of clients, which may be many; warning for 503,
// of which some lines a second are left out and counted; error for all other failures of
// the server.
func (s *Server) logFailure(r *http.Request, found *route, status int, err error) {
	level, text := slog.LevelDebug, "request refused"
	attributes := append(about(r, found), slog.Int("status", status), slog.Any("err", err))
	switch {
	case status == http.StatusServiceUnavailable:
		level, text = slog.LevelWarn, "request not served; the client is asked to try again later"
		total := s.unserved.Add(time.Now(), 1)
		if total == 0 {
			return
		}
		if total > 1 {
			attributes = append(attributes, slog.Uint64("not_logged_before", total-1))
		}
	case status >= http.StatusInternalServerError:
		level, text = slog.LevelError, "request failed"
	}
	s.options.Logger.LogAttrs(r.Context(), level, text, attributes...)
}

// unservedLines is how many requests that were answered with 503 are logged in a second.
// While the store is out of reach there are thousands, and the log may be on the disk
// that is full.
const unservedLines = 10

// about are the attributes that name a request in the log. None of them is the text of a
// message: a log may be kept for longer than the transcripts.
func about(r *http.Request, found *route) []slog.Attr {
	return []slog.Attr{
		slog.String("method", r.Method),
		slog.String("route", patternOf(found)),
		slog.String("bot", r.PathValue("bot")),
		slog.String("conversation", r.PathValue("conversation")),
	}
}

// patternOf names a route in logs and metrics. The path itself would make a label for
// each conversation. The word none stands for requests that fit no route.
func patternOf(found *route) string {
	if found == nil {
		return "none"
	}
	return found.pattern
}
