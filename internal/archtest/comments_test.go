package archtest

import (
	"strings"
	"testing"
)

// TestPackagesSayWhatTheyAreFor: each package has a doc comment.
func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	comments := map[string]string{}
	for _, f := range parseTree(t) {
		if !f.test {
			comments[f.folder] += f.syntax.Doc.Text()
		}
	}
	for folder, comment := range comments {
		if !strings.HasPrefix(comment, "Package ") && !strings.HasPrefix(comment, "Command ") && !strings.HasPrefix(comment, "Onereply ") {
			t.Errorf("%s has no package comment: say in one what it does and what it must never import", folder)
		}
	}
}
