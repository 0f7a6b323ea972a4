package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// chosen is the variable of the environment that switches one change on, by its
// number.
const chosen = "MUTANTS_CHOSEN"

// woven is the package with all changes of a sample built in, so that it is compiled
// once. Each function that changes touch becomes a switch between itself and one copy
// for each change:
//
//	func (p0 *T) f(p1 int) error {
//		switch mutantChosen {
//		case 7:
//			return p0.mutant7(p1)
//		}
//		return p0.unchanged(p1)
//	}
//
// A change outside of functions can't be switched on. Nor can one in a function that
// recovers from a panic: only the function that was deferred itself may do that.
type woven struct {
	overlay string          // the list that makes the compiler take the new files
	numbers map[*change]int // of the changes that can be switched on, from 1
}

// weave writes the files of the package with the changes built in.
func weave(p *pkg, changes []*change, folder string) (*woven, error) {
	w := &woven{numbers: map[*change]int{}}
	replace := map[string]string{}
	for _, file := range p.files {
		text := w.file(file, changes)
		name := filepath.Join(folder, filepath.Base(file.name))
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return nil, err
		}
		replace[file.name] = name
	}
	name := filepath.Join(folder, "mutant_chosen.go")
	text := fmt.Sprintf(`package %s

import (
	"os"
	"strconv"
)

var mutantChosen, _ = strconv.Atoi(os.Getenv(%q))
`, p.files[0].syntax.Name.Name, chosen)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return nil, err
	}
	replace[filepath.Join(filepath.Dir(p.files[0].name), "mutant_chosen.go")] = name
	var err error
	w.overlay, err = writeOverlay(folder, replace)
	return w, err
}

// writeOverlay writes the list that makes the compiler take files in place of others.
func writeOverlay(folder string, replace map[string]string) (string, error) {
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o644)
}

// file is the woven text of one file.
func (w *woven) file(file *source, changes []*change) string {
	var text strings.Builder
	done := 0 // so much of the file has been written
	keep := func(end int) {
		text.Write(file.text[done:end])
		done = end
	}
	for _, declaration := range file.syntax.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil || function.Name.Name == "_" || recovers(function) {
			continue
		}
		offset := func(node ast.Node) (int, int) { return file.offset(node.Pos()), file.offset(node.End()) }
		_, end := offset(function)
		within := map[int]*change{}
		for _, c := range changes {
			if open, _ := offset(function.Body); c.file == file && c.start >= open && c.end <= end {
				w.numbers[c] = len(w.numbers) + 1
				within[w.numbers[c]] = c
			}
		}
		if len(within) == 0 {
			continue
		}
		start := file.offset(function.Type.Func)
		keep(start)
		numbers := slices.Sorted(maps.Keys(within))
		unchanged := fmt.Sprintf("unchanged%d", numbers[0])
		text.WriteString(switchOf(file, function, unchanged, numbers))
		// The function as it is, and its copies, under new names.
		nameStart, nameEnd := offset(function.Name)
		keep(nameStart)
		text.WriteString(unchanged)
		done = nameEnd
		keep(end)
		for _, number := range numbers {
			c := within[number]
			text.WriteString("\n\n")
			text.Write(file.text[start:nameStart])
			fmt.Fprintf(&text, "mutant%d", number)
			text.Write(file.text[nameEnd:c.start])
			text.WriteString(c.by)
			text.Write(file.text[c.end:end])
		}
	}
	keep(len(file.text))
	return text.String()
}

// switchOf is the function that calls the one that was chosen.
func switchOf(file *source, f *ast.FuncDecl, unchanged string, numbers []int) string {
	receiver, call := "", ""
	if f.Recv != nil {
		receiver = fmt.Sprintf("(p0 %s) ", file.code(f.Recv.List[0].Type))
		call = "p0."
	}
	var parameters, arguments, types []string
	for _, field := range f.Type.Params.List {
		for range max(1, len(field.Names)) {
			name := fmt.Sprintf("p%d", len(parameters)+1)
			parameters = append(parameters, name+" "+file.code(field.Type))
			if _, ok := field.Type.(*ast.Ellipsis); ok {
				name += "..."
			}
			arguments = append(arguments, name)
		}
	}
	generic, instance := "", ""
	if f.Type.TypeParams != nil {
		for _, field := range f.Type.TypeParams.List {
			for _, name := range field.Names {
				types = append(types, name.Name)
			}
		}
		generic = file.code(f.Type.TypeParams)
		instance = "[" + strings.Join(types, ", ") + "]"
	}
	results, before, after := "", "", "\n\t\treturn"
	if f.Type.Results != nil {
		results, before, after = " "+file.code(f.Type.Results), "return ", ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "func %s%s%s(%s)%s {\n\tswitch mutantChosen {\n", receiver, f.Name.Name, generic, strings.Join(parameters, ", "), results)
	given := fmt.Sprintf("%s(%s)", instance, strings.Join(arguments, ", "))
	for _, number := range numbers {
		fmt.Fprintf(&text, "\tcase %d:\n\t\t%s%smutant%d%s%s\n", number, before, call, number, given, after)
	}
	fmt.Fprintf(&text, "\t}\n\t%s%s%s%s\n}\n\n", before, call, unchanged, given)
	return text.String()
}

// recovers reports whether a function calls recover itself.
func recovers(function *ast.FuncDecl) bool {
	found := false
	ast.Inspect(function.Body, func(node ast.Node) bool {
		if _, ok := node.(*ast.FuncLit); ok {
			return false // that one can be deferred as before
		}
		if call, ok := node.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "recover" {
				found = true
			}
		}
		return true
	})
	return found
}
