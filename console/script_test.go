package console

import (
	"os"
	"os/exec"
	"testing"
)

// The modules without a document are tested without a browser, where Node is
// there. What a page makes of them is tested in Chromium, in the module e2e.
func TestScripts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no node: install it (Debian: apt-get install nodejs)")
		}
		t.Skip("there is no node")
	}
	output, err := exec.CommandContext(t.Context(), node, "--test", "scripttest/").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
