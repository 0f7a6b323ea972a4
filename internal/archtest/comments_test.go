package archtest

import (
	"regexp"
	"strings"
	"testing"
)

// saysLimit is how a package comment says what the package must not depend on. One
// for tests says so instead.
var saysLimit = regexp.MustCompile(`(?i)(must |may )?never imports?|imports nothing|imports only|no code of its own|imports the standard library only|is for tests only`)

// namesNoLimit are the packages that need not say what they must never import.
var namesNoLimit = map[string]string{
	".":                     "it is documented for the people who import it; the rules of this test hold it",
	"cmd/onereply":          "it wires everything, so it may import everything",
	"docs/examples/library": "it is an example of a program",
}

// TestPackagesSayWhatTheyAreFor: each package has a doc comment that says what the
// package does and what it must never import.
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
			continue
		}
		if !saysLimit.MatchString(strings.Join(strings.Fields(comment), " ")) && namesNoLimit[folder] == "" {
			t.Errorf("the package comment of %s does not say what the package must never import", folder)
		}
	}
}
