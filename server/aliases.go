package server

import (
	"net/http"
)

// putAlias has a name lead to a conversation from now on. It succeeds where it leads there
// already, so a repeat is harmless.
func (s *Server) putAlias(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Conversation string `json:"conversation"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	got, err := s.app.SetAlias(r.Context(), r.PathValue("bot"), r.PathValue("alias"), body.Conversation)
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, got)
}

// getAlias tells where a name leads; 404 where it is no alias.
func (s *Server) getAlias(w http.ResponseWriter, r *http.Request) error {
	got, err := s.app.Alias(r.Context(), r.PathValue("bot"), r.PathValue("alias"))
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, got)
}

// deleteAlias frees a name. The call succeeds where it is no alias, so a repeat is
// harmless.
func (s *Server) deleteAlias(w http.ResponseWriter, r *http.Request) error {
	if err := s.app.RemoveAlias(r.Context(), r.PathValue("bot"), r.PathValue("alias")); err != nil {
		return err
	}
	return respondEmpty(w)
}

// postMove gives a conversation another key. The old one becomes an alias.
func (s *Server) postMove(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		To string `json:"to"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	now, err := s.app.Move(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), body.To)
	return respondState(w, http.StatusAccepted, now, err)
}
