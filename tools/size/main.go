// Command size counts the Go code of the product, so that "less" is a figure.
//
// A line is code if a token of Go stands on it, a comment if it holds nothing
// but a comment, and blank otherwise. The product is what people run: tests,
// test data, the proof, the suite that every store must pass, and the modules
// of their own (e2e, tools) are left out.
//
// It imports nothing but the standard library, and nothing of the product.
package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// leftOut are the folders that are no part of the product.
var leftOut = []string{"internal/proof", "store/storetest", "e2e", "tools"}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	packages, err := countTree(os.DirFS(root))
	if err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
	report(os.Stdout, packages)
}

// count is the number of lines of each kind.
type count struct {
	code, comment int
}

func (c *count) add(other count) {
	c.code += other.code
	c.comment += other.comment
}

// share is the part of comments in all lines that are not blank.
func (c count) share() float64 {
	if c.code+c.comment == 0 {
		return 0
	}
	return 100 * float64(c.comment) / float64(c.code+c.comment)
}

// report prints one line a package, in the order of their names, and the sum.
func report(w io.Writer, packages map[string]count) {
	var total count
	fmt.Fprintf(w, "%-28s %6s %9s\n", "package", "code", "comments")
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		total.add(packages[folder])
		line(w, folder, packages[folder])
	}
	line(w, "total", total)
}

func line(w io.Writer, name string, c count) {
	fmt.Fprintf(w, "%-28s %6d %8.1f%%\n", name, c.code, c.share())
}

// countTree counts the Go files of the product by folder.
func countTree(tree fs.FS) (map[string]count, error) {
	packages := map[string]count{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skipped(name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		folder := packages[path.Dir(name)]
		folder.add(countFile(source))
		packages[path.Dir(name)] = folder
		return nil
	})
	return packages, err
}

// skipped reports whether a folder, with all below it, is left out.
func skipped(folder string) bool {
	base := path.Base(folder)
	hidden := folder != "." && strings.HasPrefix(base, ".")
	return hidden || base == "testdata" || base == "node_modules" || slices.Contains(leftOut, folder)
}

// countFile counts the lines of one file.
func countFile(source []byte) count {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	code, comments := map[int]bool{}, map[int]bool{}
	for {
		position, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue // the scanner's own: it stands behind a comment, or at the end of the file
		}
		lines := code
		if kind == token.COMMENT {
			lines = comments
		}
		mark(lines, file.Line(position), text)
	}
	c := count{code: len(code)}
	for n := range comments {
		if !code[n] {
			c.comment++
		}
	}
	return c
}

// mark notes the lines of a token. Raw strings and comments may have several;
// the blank ones among them are blank lines.
func mark(lines map[int]bool, first int, text string) {
	if text == "" { // an operator has no text of its own
		lines[first] = true
		return
	}
	for i, part := range strings.Split(text, "\n") {
		if strings.TrimSpace(part) != "" {
			lines[first+i] = true
		}
	}
}
