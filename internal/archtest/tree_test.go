package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// module is the path of this module; root is where it lies.
const module = "github.com/onereply/onereply"

const root = "../.."

// file is one parsed Go file of the repository.
type file struct {
	path   string // from the root, with slashes
	folder string // the same, of its folder; "." is the root
	test   bool
	nested bool // it belongs to a module of its own, such as end-to-end tests
	syntax *ast.File
}

// parseTree reads all Go files below the root, testdata and hidden folders
// aside.
func parseTree(t *testing.T) []file {
	t.Helper()
	var files []file
	nested := map[string]bool{}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			return enter(relative, nested)
		}
		if !strings.HasSuffix(relative, ".go") {
			return nil
		}
		syntax, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		folder := path.Dir(relative)
		files = append(files, file{
			path: relative, folder: folder, test: strings.HasSuffix(relative, "_test.go"),
			nested: nested[folder], syntax: syntax,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// enter decides whether a folder is read, and whether it lies in a nested
// module.
func enter(folder string, nested map[string]bool) error {
	base := path.Base(folder)
	if folder != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
		return fs.SkipDir
	}
	_, err := os.Stat(filepath.Join(root, folder, "go.mod"))
	nested[folder] = folder != "." && (err == nil || nested[path.Dir(folder)])
	return nil
}

// imports are the paths that a file imports; those of this module start with
// "./", and "." is its root.
func (f file) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		if imported == module {
			imported = "."
		}
		if below, ours := strings.CutPrefix(imported, module+"/"); ours {
			imported = "./" + below
		}
		paths = append(paths, imported)
	}
	return paths
}

// uses lists the names of an imported package that a file mentions, such as
// "Now" of "time".
func (f file) uses(imported string) []use {
	local := f.localName(imported)
	if local == "" {
		return nil
	}
	var found []use
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if base, ok := selector.X.(*ast.Ident); ok && base.Name == local {
			found = append(found, use{selector.Sel.Name, selector})
		}
		return true
	})
	return found
}

// use is one mention of a package's name.
type use struct {
	name string
	node ast.Node
}

// localName is what a file calls an imported package; "" where it does not
// import it.
func (f file) localName(imported string) string {
	for _, spec := range f.syntax.Imports {
		if spec.Path.Value != strconv.Quote(imported) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(imported)
	}
	return ""
}
