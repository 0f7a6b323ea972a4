package simulate

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of faults into docs/proof.md")

const proofPage = "../../../docs/proof.md"

// Each fault that is put in on purpose is caught by the check that is meant
// for it, each place at which a check can fail has failed over one of them,
// and docs/proof.md has the table.
func TestFaults(t *testing.T) {
	table := Prove(MostRuns)
	unseen := places(t)
	for _, fault := range table {
		if fault.Check == "" {
			t.Errorf("the check that is meant for it does not see this: %s (%v did)", fault.Fault, fault.Also)
		}
		for _, site := range fault.sites {
			delete(unseen, site)
		}
	}
	for site, check := range unseen {
		t.Errorf("%s at %s fails over no fault of the table: add one, or remove the check", check, site)
	}
	comparePage(t, table)
}

func comparePage(t *testing.T, table []Seeded) {
	t.Helper()
	page, err := os.ReadFile(proofPage)
	if err != nil {
		t.Fatal(err)
	}
	want, err := WriteTable(string(page), table)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(proofPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(page) {
		t.Errorf("the table in docs/proof.md is out of date: run go test ./internal/proof/simulate -run Faults -update\n%s", Table(table))
	}
}

// places are all calls of a method named fail in this package, with the check
// that each names.
func places(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "fail" {
				check := call.Args[0].(*ast.BasicLit).Value
				found[fmt.Sprintf("%s:%d", name, set.Position(call.Pos()).Line)] = strings.Trim(check, `"`)
			}
			return true
		})
	}
	if len(found) == 0 {
		t.Fatal("no check was found in the source")
	}
	return found
}
