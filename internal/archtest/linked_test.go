package archtest

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/linked.txt")

const golden = "testdata/linked.txt"

// TestLinkedModules compares the modules that the command links with a list,
// so that a new dependency is a line in a diff that somebody reads. Wanted it
// is: `go test ./internal/archtest -run TestLinkedModules -update`, and say
// why in docs/dependencies.md.
func TestLinkedModules(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, "cmd/onereply")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no command to link")
	}
	linked := linkedModules(t)
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(linked, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(data))
	for _, name := range linked {
		if !slices.Contains(known, name) {
			t.Errorf("the command links %s, which is not in %s", name, golden)
		}
	}
	for _, name := range known {
		if !slices.Contains(linked, name) {
			t.Errorf("the command does not link %s any more: take it from %s", name, golden)
		}
	}
}

// linkedModules asks the go command, for one platform, so that each machine
// gets the same answer.
func linkedModules(t *testing.T) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./cmd/onereply")
	command.Dir = root
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var problems strings.Builder
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		t.Fatalf("list what the command links: %v\n%s", err, problems.String())
	}
	names := strings.Fields(string(output))
	slices.Sort(names)
	return slices.Compact(names)
}
