package docs_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/proof/simulate"
)

// TestComparisonIsCurrent: the numbers of the front page are what the command
// prints, and the picture is what it draws.
func TestComparisonIsCurrent(t *testing.T) {
	table, err := simulate.Compare(t.Context(), 1, 300, simulate.Protocols(), simulate.Mixed)
	if err != nil {
		t.Fatal(err)
	}
	printed := simulate.CompareTable(table)
	found := false
	for _, b := range blocks(read(t, "../README.md")) {
		found = found || b.is("text") && strings.HasPrefix(printed, strings.TrimRight(b.text, "\n")+"\n")
	}
	if !found {
		t.Errorf("README.md does not show what onereply simulate --protocol all prints:\n%s", printed)
	}
	var picture bytes.Buffer
	if err := simulate.Picture(&picture); err != nil {
		t.Fatal(err)
	}
	if picture.String() != read(t, "protocols.svg") {
		t.Error("docs/protocols.svg is not current: go run ./cmd/onereply simulate --svg docs/protocols.svg")
	}
}

// TestLibraryExampleIsTheProgram: what the front page shows is compiled.
func TestLibraryExampleIsTheProgram(t *testing.T) {
	program := read(t, "examples/library/main.go")
	_, body, _ := strings.Cut(program, "\npackage main\n")
	for _, b := range blocks(read(t, "../README.md")) {
		if b.is("go") && b.text == "package main\n"+body {
			return
		}
	}
	t.Error("README.md does not show examples/library/main.go as it is")
}
