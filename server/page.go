package server

import "net/http"

// page is the route of everything outside the API, nil where there is no
// page. It needs no key: its files hold nothing that is secret, and what it
// shows comes from the API. Headers, the content security policy among them,
// are the page's own.
func (s *Server) page() *route {
	if s.options.Page == nil {
		return nil
	}
	return &route{method: http.MethodGet, pattern: "page", access: public, handle: s.getPage}
}

func (s *Server) getPage(w http.ResponseWriter, r *http.Request) error {
	s.options.Page.ServeHTTP(w, r)
	return nil
}
