package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds how many proxies a request is followed back through.
const maxHops = 32

// clientOf is the address of the client whose request came through trusted proxies: the
// right-most one that is not a trusted proxy itself. Anybody may have written those further
// left. It is "" where the connection does not come from a trusted proxy, or none
// says anything that can be read. If the headers X-Forwarded-For and Forwarded say different
// things, one of them came from the client, so that neither is believed.
func clientOf(r *http.Request, trusted []netip.Prefix) string {
	peer, err := netip.ParseAddr(addressOf(r))
	if len(trusted) == 0 || err != nil || !isTrusted(peer, trusted) {
		return ""
	}
	var found string
	for _, name := range []string{"X-Forwarded-For", "Forwarded"} {
		lines := r.Header.Values(name)
		if len(lines) == 0 {
			continue
		}
		client := followBack(strings.Join(lines, ","), name == "Forwarded", trusted)
		if found != "" && client != found {
			return ""
		}
		found = client
	}
	return found
}

// followBack reads a list of hops from its end. Something that is no address ends it: the hop
// before is the last one that is known.
func followBack(list string, tagged bool, trusted []netip.Prefix) (client string) {
	for range maxHops {
		at := strings.LastIndexByte(list, ',')
		hop, ok := hopOf(list[at+1:], tagged)
		if !ok {
			return client
		}
		client = hop.String()
		if at < 0 || !isTrusted(hop, trusted) {
			return client
		}
		list = list[:at]
	}
	return client
}

// hopOf reads one hop: an address, with a port or without; in the header Forwarded it is the
// pair for=, among others.
func hopOf(text string, tagged bool) (netip.Addr, bool) {
	if tagged {
		text = pairOf(text, "for")
	}
	text = strings.TrimSpace(text)
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return address.Unmap().WithZone(""), err == nil
}

// pairOf is a value in an element of the header Forwarded, such as for="[::1]:80";proto=https.
func pairOf(element, name string) string {
	for pair := range strings.SplitSeq(element, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(strings.TrimSpace(key), name) {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	address = address.Unmap().WithZone("")
	for _, network := range trusted {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// overTLS reports whether the client spoke TLS, as proxies tell it. Each proxy adds what it
// was spoken to with, and the first value is that of the client. Anybody may forge it: a
// client that does so only makes its own cookie stricter.
func overTLS(h http.Header) bool {
	first := func(name string) string {
		value, _, _ := strings.Cut(strings.Join(h.Values(name), ","), ",")
		return strings.TrimSpace(value)
	}
	return strings.EqualFold(first("X-Forwarded-Proto"), "https") || strings.EqualFold(pairOf(first("Forwarded"), "proto"), "https")
}
