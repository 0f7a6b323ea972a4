package server

import (
	"net/http"

	"github.com/onereply/onereply"
)

// attention is a page of what needs somebody. NextCursor is null at the end.
type attention struct {
	Items      []attentionItem `json:"items"`
	NextCursor *string         `json:"next_cursor"`
}

type attentionItem struct {
	onereply.AttentionItem
	At    instant `json:"at"`
	Since instant `json:"since"`
}

func (s *Server) getAttention(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	bot := query.Get("bot")
	if bot != "" && !s.bots[bot] {
		return errUnknownBot(bot)
	}
	limit, err := number(query, "limit", defaultPage, 1, maxPage)
	if err != nil {
		return err
	}
	found, err := s.app.Attention(r.Context(), onereply.AttentionQuery{Bot: bot, Cursor: query.Get("cursor"), Limit: int(limit)})
	if err != nil {
		return err
	}
	out := attention{Items: make([]attentionItem, 0, len(found.Items))}
	for _, i := range found.Items {
		out.Items = append(out.Items, attentionItem{AttentionItem: i, At: instant(i.At), Since: instant(i.Since)})
	}
	if found.Next != "" {
		out.NextCursor = &found.Next
	}
	return respond(w, http.StatusOK, out)
}
