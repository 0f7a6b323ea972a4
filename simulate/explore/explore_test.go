package explore

import (
	"os"
	"testing"
	"time"
)

// TestScopes explores Tiny. With ONEREPLY_EXPLORE=small or large it explores
// these instead.
func TestScopes(t *testing.T) {
	scopes := Tiny()
	switch os.Getenv("ONEREPLY_EXPLORE") {
	case "small":
		scopes = Small()
	case "large":
		scopes = Large()
	}
	var states, transitions int
	began := time.Now()
	for _, scope := range scopes {
		report, err := Run(t.Context(), scope, t.Output())
		t.Log(report)
		if err != nil {
			t.Error(err)
		}
		states, transitions = states+report.States, transitions+report.Transitions
	}
	t.Logf("%d scopes, %d states, %d transitions, %v", len(scopes), states, transitions, time.Since(began).Round(time.Second))
}
