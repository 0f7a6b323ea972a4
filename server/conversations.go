package server

import (
	"net/http"

	"github.com/onereply/onereply"
)

// getState answers with the state of one conversation; 404 where nothing was ever
// received.
func (s *Server) getState(w http.ResponseWriter, r *http.Request) error {
	now, err := s.app.State(r.Context(), r.PathValue("bot"), r.PathValue("conversation"))
	return respondState(w, http.StatusOK, now, err)
}

// deleteConversation deletes everything stored of a conversation, its message ids
// included: a provider that delivers one again starts it anew. A running attempt is
// discarded. The call succeeds where nothing is stored, so a repeat is harmless.
func (s *Server) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	if err := s.app.Forget(r.Context(), r.PathValue("bot"), r.PathValue("conversation")); err != nil {
		return err
	}
	return respondEmpty(w)
}

// transcript is one page of a transcript. Next is the after, or the before, of the next
// page; null on the last one. Entries of a page are in the order of the conversation in
// both directions.
type transcript struct {
	Entries []onereply.Entry `json:"entries"`
	Next    *int64           `json:"next"`
}

// getTranscript answers with one page of messages and replies. It may end before its limit,
// where its texts are long. What follows may be entries that nobody is shown: then the last
// page is empty.
func (s *Server) getTranscript(w http.ResponseWriter, r *http.Request) error {
	page, err := readPage(r)
	if err != nil {
		return err
	}
	read, from := s.app.Transcript, page.after
	if page.last {
		read, from = s.app.TranscriptBefore, page.before
	}
	got, err := read(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), from, page.limit)
	if err != nil {
		return err
	}
	out := transcript{Entries: listOf(got.Entries)}
	switch {
	case !got.More:
	case page.last:
		out.Next = &got.Entries[0].Seq
	default:
		out.Next = &got.Entries[len(got.Entries)-1].Seq
	}
	return respond(w, http.StatusOK, out)
}

// getTimeline answers with the steps of the last turns, or of one. They explain why a
// reply came when it did, or why none came.
func (s *Server) getTimeline(w http.ResponseWriter, r *http.Request) error {
	query, err := readTimeline(r)
	if err != nil {
		return err
	}
	got, err := s.app.Timeline(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), query)
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, got)
}

// conversations is one page of a list. NextCursor is null on the last page.
type conversations struct {
	Conversations []onereply.State `json:"conversations"`
	NextCursor    *string          `json:"next_cursor"`
}

// getConversations lists conversations, newest activity first. The cursor is the App's
// own; a page must be asked for with the same filters as the one before.
func (s *Server) getConversations(w http.ResponseWriter, r *http.Request) error {
	query, err := readList(r)
	if err != nil {
		return err
	}
	list, err := s.app.Conversations(r.Context(), query)
	if err != nil {
		return err
	}
	out := conversations{Conversations: listOf(list.Conversations)}
	if list.Next != "" {
		out.NextCursor = &list.Next
	}
	return respond(w, http.StatusOK, out)
}
