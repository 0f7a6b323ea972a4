package simulate

import (
	"errors"
	"fmt"
	"strings"
)

// MostRuns is how many runs a fault has to be noticed in.
const MostRuns = 3000

const (
	tableBegin = "<!-- begin: go test ./internal/proof/simulate -run Faults -update -->\n"
	tableEnd   = "<!-- end -->\n"
)

// Table is the table of faults, as docs/proof.md shows it.
func Table(faults []Seeded) string {
	var b strings.Builder
	b.WriteString("| fault | caught by | within runs | also seen by |\n| --- | --- | --- | --- |\n")
	for _, f := range faults {
		check := f.Check
		if check == "" {
			check = "nothing"
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s |\n", f.Fault, check, rounded(f.Runs), strings.Join(f.Also, ", "))
	}
	return b.String()
}

// rounded is the next power of ten.
func rounded(runs int) int {
	bound := 1
	for bound < runs {
		bound *= 10
	}
	return bound
}

// WriteTable puts the table into a page, between its markers.
func WriteTable(page string, faults []Seeded) (string, error) {
	head, rest, found := strings.Cut(page, tableBegin)
	_, tail, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		return "", errors.New("the page has no markers for the table of faults")
	}
	return head + tableBegin + "\n" + Table(faults) + "\n" + tableEnd + tail, nil
}
