package archtest

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// architecture is the page that shows the way through this repository.
const architecture = "docs/architecture.md"

// mention is a piece of the page in backquotes.
var mention = regexp.MustCompile("`([^`\n]+)`")

// The kinds of mentions that name something here: `turn/step.go: Step`,
// `internal/node/`, and `turn.Step`.
var (
	fileMention  = regexp.MustCompile(`^([\w.-]+(?:/[\w.-]+)*/?)(?:: (\w+))?$`)
	namedMention = regexp.MustCompile(`^([a-z]+)\.([A-Z]\w*)$`)
)

// TestArchitectureNamesWhatIsThere: the page sends people to files and
// identifiers, and each of them must exist.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, architecture))
	if err != nil {
		t.Fatal(err)
	}
	files := parseTree(t)
	checked := 0
	for _, found := range mention.FindAllStringSubmatch(string(page), -1) {
		problem, names := missing(files, found[1])
		if names {
			checked++
		}
		if problem != "" {
			t.Errorf("%s names `%s`, but %s", architecture, found[1], problem)
		}
	}
	if checked < 20 {
		t.Errorf("only %d mentions of %s name a file or an identifier: does this test still read it?", checked, architecture)
	}
}

// TestMapPointsUp: what the page says of its map is so, that a row imports from the rows
// above it only.
func TestMapPointsUp(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, architecture))
	if err != nil {
		t.Fatal(err)
	}
	rows := mapRows(string(page))
	if len(rows) < 10 {
		t.Fatalf("the map has only %d folders: does this test still read it?", len(rows))
	}
	for _, f := range parseTree(t) {
		from, known := rowOf(rows, own(f.folder))
		if f.test || f.nested || !known {
			continue
		}
		for _, imported := range f.imports() {
			if to, known := rowOf(rows, imported); known && to > from {
				t.Errorf("%s imports %s, whose row in the map of %s is below its own", f.path, imported, architecture)
			}
		}
	}
}

// mapRows is the row of each folder in the first table of the page.
func mapRows(page string) map[string]int {
	rows := map[string]int{}
	_, page, _ = strings.Cut(page, "| --- ")
	for i, line := range strings.Split(page, "\n") {
		if i > 0 && !strings.HasPrefix(line, "|") {
			break
		}
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		if strings.TrimSpace(cell) == "root package" {
			rows["."] = i
		}
		for _, m := range mention.FindAllStringSubmatch(cell, -1) {
			rows["./"+strings.TrimSuffix(m[1], "/")] = i
		}
	}
	return rows
}

// rowOf is the row of a package: its own, or that of a folder above it. Helpers have none.
func rowOf(rows map[string]int, name string) (row int, known bool) {
	for row, known = rows[name]; !known && strings.Count(name, "/") > 1; row, known = rows[name] {
		name = name[:strings.LastIndex(name, "/")]
	}
	return row, known
}

// missing says what a mention names that does not exist. It also reports whether
// the mention names a file, a folder or an identifier at all.
func missing(files []file, text string) (problem string, names bool) {
	if m := namedMention.FindStringSubmatch(text); m != nil {
		of := func(f file) bool { return f.syntax.Name.Name == m[1] && !f.test && f.declares(m[2]) }
		if !slices.ContainsFunc(files, of) {
			return "no package " + m[1] + " declares " + m[2], true
		}
		return "", true
	}
	m := fileMention.FindStringSubmatch(text)
	if m == nil || !strings.Contains(m[1], "/") && path.Ext(m[1]) == "" {
		return "", false
	}
	name, identifier := m[1], m[2]
	if !exists(name) {
		return "there is no " + name, true
	}
	if identifier != "" && !declared(files, name, identifier) {
		return name + " has no " + identifier, true
	}
	return "", true
}

// exists reports whether there is such a file or folder. A script of the pages may
// be named without its folder.
func exists(name string) bool {
	if _, err := os.Stat(filepath.Join(root, name)); err == nil {
		return true
	}
	scripts, _ := filepath.Glob(filepath.Join(root, "console/web/assets", path.Base(name)))
	return !strings.Contains(name, "/") && len(scripts) > 0
}

// declared reports whether a file declares a name; one that is not Go must hold
// the word.
func declared(files []file, name, identifier string) bool {
	if path.Ext(name) == ".go" {
		return slices.ContainsFunc(files, func(f file) bool { return f.path == name && f.declares(identifier) })
	}
	text, err := os.ReadFile(filepath.Join(root, name))
	return err == nil && regexp.MustCompile(`\b`+identifier+`\b`).Match(text)
}

// declares reports whether a file declares a function, method, type, constant or
// variable of this name.
func (f file) declares(name string) bool {
	for _, declaration := range f.syntax.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == name {
				return true
			}
		case *ast.GenDecl:
			if slices.ContainsFunc(d.Specs, func(s ast.Spec) bool { return specifies(s, name) }) {
				return true
			}
		}
	}
	return false
}

func specifies(spec ast.Spec, name string) bool {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return s.Name.Name == name
	case *ast.ValueSpec:
		return slices.ContainsFunc(s.Names, func(i *ast.Ident) bool { return i.Name == name })
	}
	return false
}

// TestMissing shows that the test above can fail.
func TestMissing(t *testing.T) {
	files := parseTree(t)
	tests := []struct {
		mention string
		there   bool
		names   bool
	}{
		{"turn/step.go: Step", true, true},
		{"turn/step.go: Stride", false, true},
		{"turn/stride.go", false, true},
		{"internal/engine/", true, true},
		{"internal/engines/", false, true},
		{"turn.Step", true, true},
		{"turn.Stride", false, true},
		{"console/web/assets/lanes.js", true, true},
		{"lanes.js", true, true},
		{"lane.js", false, true},
		{"due", true, false},
		{"POST …/messages", true, false},
	}
	for _, test := range tests {
		problem, names := missing(files, test.mention)
		if (problem == "") != test.there || names != test.names {
			t.Errorf("`%s`: %q, names something: %v", test.mention, problem, names)
		}
	}
}
