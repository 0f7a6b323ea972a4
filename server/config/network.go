package config

import (
	"math"
	"net/netip"
	"strconv"
)

// This file reads what stands before the API: how many messages may come, from where a
// client is believed to come, and its certificate.

// maxPerSecond is far above what a node can take.
const maxPerSecond = 1_000_000

// rate reads a bound on messages.
func (r *reader) rate(s *section, key string, into *Rate) {
	v, ok := s.take(key)
	if !ok {
		return
	}
	n, ok := r.section(v)
	if !ok {
		return
	}
	n.number("messages_per_second", &into.PerSecond, maxPerSecond)
	n.missing("messages_per_second", "say how many messages are taken in the long run, such as 5 or 0.5")
	n.count("burst", &into.Burst, 1, math.MaxInt32)
	n.close()
}

// number reads a key as a number of more than 0, which need not be whole.
func (s *section) number(key string, into *float64, most float64) {
	v, ok := s.take(key)
	if !ok {
		return
	}
	found, ok := s.scalar(v, "a number")
	if !ok {
		return
	}
	n, err := strconv.ParseFloat(found.text, 64)
	switch {
	case err != nil || math.IsNaN(n):
		s.report(v.place, "must be a number, it is %q", found.source)
	case n < 1/maxPause || n > most:
		s.report(v.place, "must be more than 0 and at most %g; one in a day is 0.0000116", most)
	default:
		*into = n
	}
}

// maxPause is the longest time between two messages, in seconds: a day and some.
const maxPause = 100_000.0

// proxies reads the networks of proxies that are believed.
func (r *reader) proxies(s *section, into *[]netip.Prefix) {
	var texts []string
	s.texts("trusted_proxies", &texts, func(at place, text string) {
		network, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil {
			network, err = netip.PrefixFrom(address.Unmap().WithZone(""), address.Unmap().BitLen()), nil
		}
		switch {
		case err != nil:
			r.report(at, "must be an address or a network, such as 10.0.0.0/8 or 192.0.2.7")
		case network.Bits() == 0:
			r.report(at, "would believe everybody; name the networks of your proxies")
		default:
			*into = append(*into, network.Masked())
		}
	})
}

// tls reads the files of a certificate. Whether they are good shows at the start: nothing is
// opened here.
func (r *reader) tls(s *section, into *TLS) {
	v, ok := s.take("tls")
	if !ok {
		return
	}
	t, ok := r.section(v)
	if !ok {
		return
	}
	for _, file := range []struct {
		key  string
		into *string
	}{{"cert", &into.Cert}, {"key", &into.Key}} {
		t.checked(file.key, file.into, fileName)
		t.missing(file.key, "name the PEM file; a node without a certificate has no tls at all")
	}
	t.close()
}
