package main

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"strings"
)

// coverage is which code of the package a check runs, by the name of the file.
type coverage map[string][]block

// block is a run of statements, from line and column to line and column.
type block struct {
	fromLine, fromColumn, toLine, toColumn int
	run                                    bool
}

// readCoverage reads a profile of the go command.
func readCoverage(name string, p *pkg) (coverage, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	covered := coverage{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		of, rest, ok := strings.Cut(lines.Text(), ":")
		if !ok || path.Dir(of) != p.path {
			continue
		}
		var b block
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.fromLine, &b.fromColumn, &b.toLine, &b.toColumn, &statements, &count); err != nil {
			return nil, fmt.Errorf("read the coverage: %q: %w", lines.Text(), err)
		}
		b.run = count > 0
		covered[path.Base(of)] = append(covered[path.Base(of)], b)
	}
	return covered, nil
}

// reaches reports whether the check runs the code that a change touches. Code
// outside of all blocks, such as a constant, is taken to be run.
func (c coverage) reaches(change *change) bool {
	line, column := change.line, change.column
	inside := false
	for _, b := range c[path.Base(change.file.name)] {
		after := line > b.fromLine || line == b.fromLine && column >= b.fromColumn
		before := line < b.toLine || line == b.toLine && column < b.toColumn
		if after && before {
			inside = true
			if b.run {
				return true
			}
		}
	}
	return !inside
}
