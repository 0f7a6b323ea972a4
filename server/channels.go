package server

import "net/http"

// Channels takes the requests of chat platforms. It must check that they are genuine: the
// API does not.
type Channels interface {
	// Receive answers a request to a channel of a bot. It reports false, and has not
	// answered, where there is no such channel. The channel's name is its kind, or kind/name.
	Receive(w http.ResponseWriter, r *http.Request, bot, name string) bool
}

// serveChannel passes a request to its channel. The answer is the same for an unknown bot
// and for an unknown channel, so that nobody can find out names of bots.
func (s *Server) serveChannel(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("kind")
	if more := r.PathValue("name"); more != "" {
		name += "/" + more
	}
	if s.options.Channels != nil && s.options.Channels.Receive(w, r, r.PathValue("bot"), name) {
		return nil
	}
	return newProblem(kindNotFound, "There is no such channel.")
}
