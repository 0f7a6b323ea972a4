// Package docs_test holds the pages to the program: what they list is there,
// what is there they list, and what they show works.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// pages are all pages for people, the front page first.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"../README.md"}
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// block is a fenced piece of a page.
type block struct {
	heading string   // the last one above it
	info    []string // the words after the fence
	text    string
}

func (b block) is(language string) bool { return len(b.info) > 0 && b.info[0] == language }

// blocks are the fenced pieces of a page, in order.
func blocks(page string) []block {
	var found []block
	var current *block
	heading := ""
	for _, line := range strings.SplitAfter(page, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && current == nil:
			current = &block{heading: heading, info: strings.Fields(fence)}
		case isFence:
			found = append(found, *current)
			current = nil
		case current != nil:
			current.text += line
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	return found
}

// section is what stands between a heading and the next one.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("there is no heading %q", heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// rows are the rows of all tables in a text whose first cell is code: that
// code, and the other cells.
func rows(text string) map[string][]string {
	found := map[string][]string{}
	for _, line := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if name, isCode := strings.CutPrefix(cells[0], "`"); strings.HasPrefix(line, "| ") && isCode {
			found[strings.TrimSuffix(name, "`")] = cells[1:]
		}
	}
	return found
}

// wantSame reports what is missing in the page and what is too much.
func wantSame(t *testing.T, what string, page, program []string) {
	t.Helper()
	for _, name := range program {
		if !slices.Contains(page, name) {
			t.Errorf("%s: the page lacks %q", what, name)
		}
	}
	for _, name := range page {
		if !slices.Contains(program, name) {
			t.Errorf("%s: the page has %q, the program has not", what, name)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(read(t, page), -1) {
			target := match[1]
			if strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), target)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, target)
			}
		}
	}
}
