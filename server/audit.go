package server

import (
	"net/http"

	"github.com/onereply/onereply"
)

// audit is a list of the operators' calls, newest first: which call, when, and by whom.
// It has no next page: see [onereply.App.Audit] for how many actions are kept. The list of
// all conversations also has the calls that this node refused.
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
	who, conversation := callerOf(r), r.PathValue("conversation")
	bot, some := who.bots(r.PathValue("bot"))
	entries, err := s.app.Audit(r.Context(), onereply.AuditQuery{Bot: bot, Bots: some, Conversation: conversation, Limit: int(limit)})
	if err != nil {
		return err
	}
	if conversation == "" {
		entries = s.refused.among(entries, who, int(limit))
	}
	return respond(w, http.StatusOK, audit{Entries: listOf(entries)})
}
