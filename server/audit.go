package server

import (
	"net/http"

	"github.com/onereply/onereply"
)

// audit is a list of the operators' calls, newest first: which call, when, and by whom.
// It has no next page: see [onereply.App.Audit] for how many actions are kept.
type audit struct {
	Entries []onereply.AuditEntry `json:"entries"`
}

// getAudit answers for one conversation, or for all. Its route has no names in the path
// where all are meant, and the query is then for all.
func (s *Server) getAudit(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	limit, err := number(query, "limit", defaultPage, 1, maxPage)
	if err != nil {
		return err
	}
	entries, err := s.app.Audit(r.Context(), onereply.AuditQuery{
		Bot: r.PathValue("bot"), Conversation: r.PathValue("conversation"), Limit: int(limit),
	})
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, audit{Entries: listOf(entries)})
}
