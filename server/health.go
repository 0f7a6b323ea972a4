package server

import "net/http"

// getHealth says that the process answers: nothing else is looked at, so that
// a store that is out of reach never gets a healthy node killed.
func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) error {
	return respond(w, http.StatusOK, map[string]string{"status": "ok"})
}

// getReady says whether the node should be sent requests.
func (s *Server) getReady(w http.ResponseWriter, r *http.Request) error {
	if err := s.app.Ready(r.Context()); err != nil {
		return unavailable(err)
	}
	return respond(w, http.StatusOK, map[string]string{"status": "ready"})
}
