package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
)

// equivalents are the keys of changes that make no difference.
type equivalents map[string]bool

// readEquivalent reads the file of changes that make no difference. A paragraph
// starts with its reason in lines that begin with "#"; the other lines are keys,
// as the report prints them. Every key needs a reason.
func readEquivalent(name string) (equivalents, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	named, reason := equivalents{}, false
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
			reason = false
		case strings.HasPrefix(line, "#"):
			reason = true
		case !reason:
			return nil, fmt.Errorf("%s:%d: say in a line above, after #, why this change makes no difference", name, number)
		default:
			named[line] = true
		}
	}
	return named, lines.Err()
}

// stale lists the keys of a package that name no change of it any more.
func (e equivalents) stale(folder string, all []*change) []string {
	var left []string
	for key := range e {
		of, _, _ := strings.Cut(key, " ")
		known := slices.ContainsFunc(all, func(c *change) bool { return c.key == key })
		if of == folder && !known {
			left = append(left, key)
		}
	}
	slices.Sort(left)
	return left
}
