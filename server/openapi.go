package server

import (
	_ "embed"
	"net/http"
)

// description is the API for programs: OpenAPI 3.1, written by hand.
//
//go:embed openapi.json
var description []byte

// getDescription answers with the description. It needs no key: a person reads it before
// having one. Tests hold it to the routes.
func (s *Server) getDescription(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(description) // an error means that the client is gone
	return nil
}
