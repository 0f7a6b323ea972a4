package config

import (
	"reflect"
	"slices"
)

// A node reads its file again while it runs. This file says what of it can then come into
// force: fields has each field of [Config], and a bot is taken as a whole.

// Change is a key of the file whose value differs between two configurations.
type Change struct {
	Key     string // such as listen, or bots.support
	Restart bool   // it comes into force only when the node starts again
}

// fields are the keys of the fields of [Config], but for the bots.
var fields = map[string]Change{
	"Listen":         {"listen", true},
	"Node":           {"node", true},
	"Store":          {"store", true},
	"APIKeys":        {"api_keys", false},
	"TrustedProxies": {"trusted_proxies", false},
	"TLS":            {"tls", true},
	"PublicURL":      {"public_url", false},
	"Drain":          {"drain", true},
	"MaxGenerations": {"max_generations", true},
	"Limits":         {"limits", true},
	"Retention":      {"retention", true},
}

// Reload is what a node runs with once its file was read again: next, but for what needs a
// restart, which stays as it is in c. The changes say what differs, in the order of the
// fields and then of the bots.
func (c Config) Reload(next Config) (inForce Config, changes []Change) {
	inForce = next
	before, after, kept := reflect.ValueOf(c), reflect.ValueOf(next), reflect.ValueOf(&inForce).Elem()
	for i := range before.NumField() {
		change, ok := fields[before.Type().Field(i).Name]
		if !ok || reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()) {
			continue
		}
		changes = append(changes, change)
		if change.Restart {
			kept.Field(i).Set(before.Field(i))
		}
	}
	bots, more := reloadBots(c.Bots, next.Bots)
	inForce.Bots = bots
	return inForce, append(changes, more...)
}

// reloadBots are the bots that run, with their new settings. A bot that was added or
// removed needs a restart, and so do the channels of a bot.
func reloadBots(running, next []Bot) (bots []Bot, changes []Change) {
	find := func(all []Bot, name string) int {
		return slices.IndexFunc(all, func(b Bot) bool { return b.Settings.Name == name })
	}
	for _, b := range running {
		key, at := join("bots", b.Settings.Name), find(next, b.Settings.Name)
		if at < 0 {
			changes = append(changes, Change{key, true})
			bots = append(bots, b)
			continue
		}
		changed := next[at]
		if !reflect.DeepEqual(b.Channels, changed.Channels) {
			changes = append(changes, Change{join(key, "channels"), true})
			changed.Channels = b.Channels
		}
		if !reflect.DeepEqual(b, changed) {
			changes = append(changes, Change{key, false})
		}
		bots = append(bots, changed)
	}
	for _, b := range next {
		if find(running, b.Settings.Name) < 0 {
			changes = append(changes, Change{join("bots", b.Settings.Name), true})
		}
	}
	return bots, changes
}
