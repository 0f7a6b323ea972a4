package storetest

import (
	"slices"
	"testing"
)

func TestOutcomesThatWereNeverMetAreNamed(t *testing.T) {
	met := &outcomes{}
	for _, step := range []struct {
		add  string
		left []string
	}{
		{"ok", []string{"conflict", "duplicate", "unknown"}},
		{"duplicate", []string{"conflict", "unknown"}},
		{"unknown", []string{"conflict"}},
		{"conflict", nil},
	} {
		met.add(step.add)
		if got := met.missed(); !slices.Equal(got, step.left) {
			t.Errorf("after %v never met: %q, want %q", met, got, step.left)
		}
	}
}
