package server

import (
	"cmp"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/onereply/onereply"
)

// maxSeen bounds the sessions that a node can list.
const maxSeen = 1000

// seenSessions are the sessions that this node saw, for an admin to look at. Nothing else
// needs them: a cookie is checked by its signature. It may be used by many goroutines at once.
type seenSessions struct {
	mu sync.Mutex
	by map[string]seenSession // by id
}

// seenSession is a session as it was used last.
type seenSession struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	From      string        `json:"from"`
	OpenedAt  onereply.Time `json:"opened_at"`
	SeenAt    onereply.Time `json:"seen_at"`
	ExpiresAt onereply.Time `json:"expires_at"`
	Current   bool          `json:"current"`
}

// note remembers that a session was used. At maxSeen it forgets the one that was not used for
// longest.
func (s *seenSessions) note(found session, from string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]seenSession{}
	}
	id := found.id()
	if _, known := s.by[id]; !known && len(s.by) >= maxSeen {
		first := slices.MinFunc(slices.Collect(maps.Values(s.by)), func(a, b seenSession) int { return a.SeenAt.Compare(b.SeenAt.Time) })
		delete(s.by, first.ID)
	}
	s.by[id] = seenSession{
		ID: id, Name: found.key.Name, From: from,
		OpenedAt: onereply.Time{Time: found.expires.Add(-sessionTime)}, SeenAt: onereply.Time{Time: now}, ExpiresAt: onereply.Time{Time: found.expires},
	}
}

// list are the sessions that have not ended, the one that was used last first. ended reports
// those that ended before their time: they were revoked, or their key is gone.
func (s *seenSessions) list(now time.Time, ended func(seenSession) bool) []seenSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.by, func(_ string, one seenSession) bool { return !now.Before(one.ExpiresAt.Time) || ended(one) })
	return slices.SortedFunc(maps.Values(s.by), func(a, b seenSession) int {
		return cmp.Or(b.SeenAt.Compare(a.SeenAt.Time), cmp.Compare(a.ID, b.ID))
	})
}

// sessionList is the sessions that this node saw.
type sessionList struct {
	Sessions []seenSession `json:"sessions"`
}

// getSessions lists the sessions that this node saw and that have not ended.
func (s *Server) getSessions(w http.ResponseWriter, r *http.Request) error {
	held, now := s.guard.keys.held(), time.Now()
	all := s.guard.seen.list(now, func(one seenSession) bool {
		return s.guard.revoked(one.ID) || !slices.ContainsFunc(held, func(h *heldKey) bool { return h.Name == one.Name && !h.expired(now) })
	})
	for i := range all {
		all[i].Current = all[i].ID == callerOf(r).session
	}
	return respond(w, http.StatusOK, sessionList{listOf(all)})
}

// deleteSession ends a session, on all nodes, whether or not this one saw it. It succeeds where
// the session has ended, so a repeat is harmless.
func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if decoded, err := hex.DecodeString(id); err != nil || len(decoded) != 16 {
		return errField("id", "It must be the id of a session, as GET /v1/sessions has it.")
	}
	s.app.Revoke(id, time.Now().Add(sessionTime))
	who := callerOf(r)
	s.options.Logger.LogAttrs(r.Context(), slog.LevelInfo, "a session of the console was ended",
		slog.String("session", id), slog.String("by", who.by), slog.String("from", who.from))
	return respondEmpty(w)
}
