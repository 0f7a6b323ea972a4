package server

import (
	"net/http"

	"github.com/onereply/onereply"
)

// attention is a page of conversations that need a person. NextCursor is null on the
// last page.
type attention struct {
	Items      []onereply.AttentionItem `json:"items"`
	NextCursor *string                  `json:"next_cursor"`
}

// getAttention lists conversations that need a person, of one bot or of all: failed
// turns, replies with an unknown outcome, work that is overdue. [onereply.AttentionKind]
// has all reasons. The bot is in the query, as in the calls that are about all
// conversations.
func (s *Server) getAttention(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	bot, some, err := s.botsOf(callerOf(r), query.Get("bot"))
	if err != nil {
		return err
	}
	limit, err := number(query, "limit", defaultPage, 1, maxPage)
	if err != nil {
		return err
	}
	found, err := s.app.Attention(r.Context(), onereply.AttentionQuery{Bot: bot, Bots: some, Cursor: query.Get("cursor"), Limit: int(limit)})
	if err != nil {
		return err
	}
	out := attention{Items: listOf(found.Items)}
	if found.Next != "" {
		out.NextCursor = &found.Next
	}
	return respond(w, http.StatusOK, out)
}
