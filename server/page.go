package server

import "net/http"

// pagePolicy lets a page use files of its own origin only: no inline script, no
// frame around it.
const pagePolicy = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// page is the route of everything outside the API, nil where there is no
// page. It needs no key: its files hold nothing that is secret, and what it
// shows comes from the API.
func (s *Server) page() *route {
	if s.options.Page == nil {
		return nil
	}
	return &route{method: http.MethodGet, pattern: "page", open: true, handle: s.getPage}
}

func (s *Server) getPage(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	s.options.Page.ServeHTTP(w, r)
	return nil
}
