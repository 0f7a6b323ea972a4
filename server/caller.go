package server

import (
	"net"
	"net/http"
)

// caller is who sent a request.
type caller struct {
	by   string // the label of the key
	from string // the address that the connection came from
}

// anonymousLabel stands for a key where none was asked for.
const anonymousLabel = "anonymous"

func anonymous(r *http.Request) caller { return caller{by: anonymousLabel, from: addressOf(r)} }

// addressOf is the address of the other end, which is a proxy's where there is
// one: what a header says of others could be anybody's invention.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
