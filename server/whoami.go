package server

import (
	"net/http"

	"github.com/onereply/onereply"
)

// whoAmI is what a key opens. AllBots tells a key that is for all bots, also for those that
// are added later, from one that is for those that there are.
type whoAmI struct {
	Name      string        `json:"name"`
	Bots      []string      `json:"bots"`
	AllBots   bool          `json:"all_bots"`
	Can       []Right       `json:"can"`
	ExpiresAt onereply.Time `json:"expires_at"`
}

// getWhoAmI tells the caller what it may do, so that a page need not offer the rest. Without
// keys everybody may do everything.
func (s *Server) getWhoAmI(w http.ResponseWriter, r *http.Request) error {
	who := callerOf(r)
	out := whoAmI{Name: who.by, Bots: s.app.Bots(), AllBots: true, Can: Rights()}
	if key := who.key; key != nil {
		if key.Bots != nil {
			out.Bots, out.AllBots = key.Bots, false
		}
		if key.Can != nil {
			out.Can = key.Can
		}
		out.ExpiresAt.Time = key.Expires
	}
	return respond(w, http.StatusOK, out)
}
