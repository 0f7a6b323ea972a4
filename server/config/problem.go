package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration. Editors and terminals can follow the form of
// its String to the place.
type Problem struct {
	File    string // as the caller called it
	Line    int    // from 1; 0 where the mistake is not in the file
	Column  int    // from 1
	Path    string // the keys that lead there, such as bots.support.lease; "" is the whole file
	Message string // the mistake, and its remedy
}

// String is "file:line:column: path: message", without the parts that are not known.
// Compilers write places in the same form.
func (p Problem) String() string {
	var where strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&where, "%s:%d:%d: ", p.File, p.Line, p.Column)
	}
	if p.Path != "" {
		where.WriteString(p.Path + ": ")
	}
	return where.String() + p.Message
}

// Problems are all mistakes of a configuration, in the order of the file. It is never
// empty where it is an error. An operator mends all of them in one go, instead of
// starting the node once for each.
type Problems []Problem

// Error has one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// sort puts the problems into the order of the file. Those of the command line have no
// line and come first. Problems at one place stay in the order in which they were found.
// The readings follow the order of the documentation, which need not be that of the file.
func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
