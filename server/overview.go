package server

import "net/http"

func (s *Server) getOverview(w http.ResponseWriter, r *http.Request) error {
	now, err := s.app.Overview(r.Context())
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, now)
}
