package config

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply"
)

// TestEachFieldIsReloaded changes each field of a configuration by itself: the change is
// named, and either in force or kept as it was.
func TestEachFieldIsReloaded(t *testing.T) {
	base := Config{
		Listen: "a", Node: "a", Store: "a", APIKeys: []Key{{Key: "a"}}, PublicURL: "a", Drain: 1, MaxGenerations: 1, Retention: 1,
		Bots: []Bot{{}},
	}
	base.Bots[0].Settings.Name = "support"
	for i := range reflect.TypeFor[Config]().NumField() {
		name := reflect.TypeFor[Config]().Field(i).Name
		if name == "Bots" {
			continue
		}
		change, known := fields[name]
		if !known {
			t.Errorf("%s: say in fields whether it needs a restart", name)
			continue
		}
		next := base
		switch into := reflect.ValueOf(&next).Elem().Field(i).Addr().Interface().(type) {
		case *string:
			*into = "b"
		case *int:
			*into = 2
		case *time.Duration:
			*into = 2
		case *[]netip.Prefix:
			*into = []netip.Prefix{{}}
		case *onereply.Limits:
			into.WaitingBytes = 2
		case *TLS:
			into.Cert = "b"
		case *[]Key:
			*into = []Key{{Key: "b"}}
		default:
			t.Fatalf("%s: this test does not know how to change it", name)
		}
		inForce, changes := base.Reload(next)
		if !slices.Equal(changes, []Change{change}) {
			t.Errorf("%s: the changes are %v", name, changes)
		}
		want := next
		if change.Restart {
			want = base
		}
		if !reflect.DeepEqual(inForce, want) {
			t.Errorf("%s: %+v is in force, want %+v", name, inForce, want)
		}
	}
	if inForce, changes := base.Reload(base); len(changes) != 0 || !reflect.DeepEqual(inForce, base) {
		t.Errorf("without a change: %v, %+v", changes, inForce)
	}
}

// TestBotsAreReloaded: those that run get their new settings; one that is new or gone needs a
// restart.
func TestBotsAreReloaded(t *testing.T) {
	bot := func(name, text string) (b Bot) {
		b.Settings.Name, b.Settings.Fallback = name, text
		return b
	}
	before := Config{Bots: []Bot{bot("same", "1"), bot("changed", "1"), bot("a.gone", "1")}}
	inForce, changes := before.Reload(Config{Bots: []Bot{bot("new", "2"), bot("changed", "2"), bot("same", "1")}})
	if want := []Bot{bot("same", "1"), bot("changed", "2"), bot("a.gone", "1")}; !reflect.DeepEqual(inForce.Bots, want) {
		t.Errorf("in force are %+v", inForce.Bots)
	}
	if want := []Change{{"bots.changed", false}, {`bots["a.gone"]`, true}, {"bots.new", true}}; !slices.Equal(changes, want) {
		t.Errorf("the changes are %v, want %v", changes, want)
	}
}
