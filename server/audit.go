package server

import (
	"net/http"

	"github.com/onereply/onereply"
)

// audit is a list of the operators' calls, newest first: which call, when, and by whom.
type audit struct {
	Entries []onereply.AuditEntry `json:"entries"`
}

// getAudit answers for one conversation, or for all.
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
