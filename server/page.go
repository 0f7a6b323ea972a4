package server

import "net/http"

// page is the route of all paths outside the API, nil where there is no page. It needs no
// key: its files hold nothing secret, and it gets its data from the API. It sets its own
// headers, the content security policy among them. The package knows nothing of the
// console: the maker of the server passes the pages in.
func (s *Server) page() *route {
	if s.options.Page == nil {
		return nil
	}
	return &route{method: http.MethodGet, pattern: "page", access: public, handle: s.getPage}
}

// getPage leaves the answer to the page's own handler. It never returns an error: the
// pages answer unknown paths themselves.
func (s *Server) getPage(w http.ResponseWriter, r *http.Request) error {
	s.options.Page.ServeHTTP(w, r)
	return nil
}
