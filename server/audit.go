package server

import (
	"net/http"

	"github.com/onereply/onereply"
)

// audit is who did what, newest first.
type audit struct {
	Entries []auditEntry `json:"entries"`
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
	out := audit{Entries: make([]auditEntry, 0, len(entries))}
	for _, e := range entries {
		out.Entries = append(out.Entries, auditEntryOf(e))
	}
	return respond(w, http.StatusOK, out)
}
