package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// change is one small change of the source: the bytes from start to end of a
// file are replaced.
type change struct {
	file       *source
	start, end int
	by         string
	kind       string // such as "comparison"
	line       int
	column     int

	// key names the change whatever its line: package, function, and the code
	// before and after it. Where a function has the same change twice, the
	// second one ends in "#2".
	key string
}

// mutated is the text of the file with the change made.
func (c *change) mutated() []byte {
	return slices.Concat(c.file.text[:c.start], []byte(c.by), c.file.text[c.end:])
}

// changes lists all changes of the package, in the order of the source.
func (p *pkg) changes() []*change {
	var all []*change
	for _, f := range p.files {
		for _, declaration := range f.syntax.Decls {
			w := &walker{pkg: p, file: f, function: nameOf(declaration)}
			ast.Walk(w, declaration)
			slices.SortStableFunc(w.found, func(a, b *change) int { return a.start - b.start })
			all = append(all, w.found...)
		}
	}
	seen := map[string]int{}
	for _, c := range all {
		seen[c.key]++
		if n := seen[c.key]; n > 1 {
			c.key = fmt.Sprintf("%s #%d", c.key, n)
		}
	}
	return all
}

// draw picks a sample of the changes that compile and make a difference. It also
// returns how many it met that make none.
func draw(p *pkg, all []*change, seed uint64, size int, named equivalents) (sampled []*change, equivalent int) {
	shuffled := slices.Clone(all)
	dice := rand.New(rand.NewPCG(seed, 0))
	dice.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
	for _, c := range shuffled {
		if size > 0 && len(sampled)+equivalent == size {
			break
		}
		switch {
		case !p.compiles(c):
		case named[c.key]:
			equivalent++
		default:
			sampled = append(sampled, c)
		}
	}
	return sampled, equivalent
}

// listedIn picks the changes whose keys stand in a file, each on a line of its own.
func listedIn(name string, all []*change) ([]*change, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		listed[strings.TrimPrefix(strings.TrimSpace(line), told)] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(c *change) bool { return !listed[c.key] }), nil
}

// nameOf is how a declaration is called in keys: "Step", "Record.due", or "-" for
// one outside of functions.
func nameOf(declaration ast.Decl) string {
	function, ok := declaration.(*ast.FuncDecl)
	if !ok {
		return "-"
	}
	if function.Recv == nil || len(function.Recv.List) == 0 {
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
			continue
		case *ast.IndexExpr:
			receiver = r.X
			continue
		case *ast.IndexListExpr:
			receiver = r.X
			continue
		case *ast.Ident:
			return r.Name + "." + function.Name.Name
		}
		return function.Name.Name
	}
}

// longest is how much code a key shows around a change, in bytes.
const longest = 100

// add notes a change of the bytes between two positions.
func (w *walker) add(kind string, from, to token.Pos, by string) {
	c := &change{file: w.file, start: w.file.offset(from), end: w.file.offset(to), by: by, kind: kind}
	at := w.pkg.set.Position(from)
	c.line, c.column = at.Line, at.Column
	first, last := w.around(c.start, c.end)
	before := string(w.file.text[first:last])
	after := string(w.file.text[first:c.start]) + by + string(w.file.text[c.end:last])
	if strings.TrimSpace(after) == "" {
		after = "(dropped)"
	}
	c.key = fmt.Sprintf("%s %s: %s -> %s", w.pkg.folder, w.function, oneLine(before), oneLine(after))
	w.found = append(w.found, c)
}

// around widens a range to the largest statement or expression about it that a
// key can show.
func (w *walker) around(start, end int) (first, last int) {
	first, last = start, end
	for _, node := range slices.Backward(w.path) {
		switch node.(type) {
		case *ast.BlockStmt, *ast.FuncDecl, *ast.GenDecl, *ast.CaseClause, *ast.CommClause, *ast.IfStmt, *ast.ForStmt,
			*ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			return first, last
		}
		from, to := w.file.offset(node.Pos()), w.file.offset(node.End())
		if from > start || to < end {
			continue
		}
		if to-from > longest {
			return first, last
		}
		first, last = from, to
	}
	return first, last
}

// oneLine joins the lines of a piece of code, and shortens it.
func oneLine(code string) string {
	code = strings.Join(strings.Fields(code), " ")
	if runes := []rune(code); len(runes) > 2*longest {
		return string(runes[:2*longest]) + "…"
	}
	return code
}
