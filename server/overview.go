package server

import "net/http"

// getOverview answers with the figures of all nodes together. Only those are in it that
// hear each other through the store.
func (s *Server) getOverview(w http.ResponseWriter, r *http.Request) error {
	now, err := s.app.Overview(r.Context())
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, now)
}
