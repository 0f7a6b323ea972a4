package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// environment is what the tests' configurations may refer to.
func environment(name string) (string, bool) {
	value, found := map[string]string{
		"KEY":    "0123456789abcdef",
		"EMPTY":  "",
		"NUMBER": "7",
		"INJECT": "x\nbots: {evil: {responder: {kind: echo}}}",
		"NESTED": "${KEY}",
	}[name]
	return value, found
}

// TestBad reads each testdata/bad/*.yaml. The problems that it must give
// follow the line "# ----" as comments. ONEREPLY_REWRITE=1 writes them anew.
func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { checkBad(t, file) })
	}
}

const separator = "# ----\n"

func checkBad(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	input, want, _ := strings.Cut(string(data), separator)
	_, err = Parse("onereply.yaml", []byte(input), environment, Overrides{})
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v, want problems", err)
	}
	got := "# " + strings.ReplaceAll(problems.Error(), "\n", "\n# ") + "\n"
	if os.Getenv("ONEREPLY_REWRITE") != "" {
		if err := os.WriteFile(file, []byte(input+separator+got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
