package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

var (
	testFile  = regexp.MustCompile("`([a-z0-9_/]+_test\\.go): ")
	testNames = regexp.MustCompile(`\b(Test[A-Za-z0-9]+|Fuzz[A-Za-z0-9]+)\b`)
)

// TestDefencesAreTested: each row of the page names tests, and they are there.
func TestDefencesAreTested(t *testing.T) {
	defended, _, _ := strings.Cut(read(t, "security.md"), "## What is not defended")
	rows := 0
	for _, line := range strings.Split(defended, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| attack ") || strings.HasPrefix(line, "| ---") {
			continue
		}
		rows++
		files, names := testFile.FindAllStringSubmatch(line, -1), testNames.FindAllString(line, -1)
		if len(files) == 0 || len(names) == 0 {
			t.Errorf("no test is named: %s", line)
			continue
		}
		var text strings.Builder
		for _, file := range files {
			text.WriteString(read(t, "../"+file[1]))
		}
		for _, name := range names {
			if !strings.Contains(text.String(), "func "+name+"(") {
				t.Errorf("there is no %s in %v", name, files)
			}
		}
	}
	if rows == 0 {
		t.Error("the page has no rows")
	}
}
