package server

import (
	"net"
	"net/http"
)

// caller is the sender of a request. Audited calls record both fields, so that an
// operator can find the key and the machine.
type caller struct {
	by   string // the label of the key
	from string // the address that the connection came from
}

// anonymousLabel stands for the label of a key in calls that need none.
const anonymousLabel = "anonymous"

// anonymous is the caller of a route that asks for no key. Where there are no keys,
// audits name this label and the address.
func anonymous(r *http.Request) caller { return caller{by: anonymousLabel, from: addressOf(r)} }

// addressOf is the address of the other end of the connection. Behind a proxy that is the
// proxy's: anybody could forge the header that names the client.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
