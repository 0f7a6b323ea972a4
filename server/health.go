package server

import "net/http"

// getHealth says that the process answers. It looks at nothing else: a supervisor must
// not kill a healthy node because the store is out of reach.
func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) error {
	return respond(w, http.StatusOK, map[string]string{"status": "ok"})
}

// getReady says whether the node should be sent requests. A load balancer asks this: a
// node that is closing, or can't reach the store, gets no new requests, and goes on with
// its work.
func (s *Server) getReady(w http.ResponseWriter, r *http.Request) error {
	if err := s.app.Ready(r.Context()); err != nil {
		return unavailable(err)
	}
	return respond(w, http.StatusOK, map[string]string{"status": "ready"})
}
