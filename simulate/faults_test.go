package simulate

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the table of faults into docs/proof.md")

const proofPage = "../docs/proof.md"

// Each fault that is put in on purpose is caught, and docs/proof.md says by
// which check.
func TestFaults(t *testing.T) {
	table := Prove(MostRuns)
	for _, fault := range table {
		if fault.Check == "" {
			t.Errorf("nothing catches this: %s", fault.Fault)
		}
	}
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
		t.Errorf("the table in docs/proof.md is out of date: run go test ./simulate -run Faults -update\n%s", Table(table))
	}
}
