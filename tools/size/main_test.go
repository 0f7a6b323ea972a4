package main

import (
	"reflect"
	"testing"
	"testing/fstest"
)

func TestCountFile(t *testing.T) {
	source := `// A comment
// of two lines.

package example // beside code

/* a block

with a blank line */
var text = ` + "`" + `// no comment

in a string` + "`" + `

func f() {
	// inside
}
`
	if got, want := countFile([]byte(source)), (count{code: 5, comment: 5}); got != want {
		t.Errorf("counted %+v, not %+v", got, want)
	}
}

func TestCountTreeLeavesOutWhatIsNoProduct(t *testing.T) {
	file := &fstest.MapFile{Data: []byte("package p\n")}
	tree := fstest.MapFS{
		"a.go": file, "a_test.go": file, "notes.txt": file,
		"turn/step.go": file, "turn/testdata/x.go": file,
		"store/storetest/suite.go": file, "internal/proof/explore/x.go": file,
		"e2e/x.go": file, "tools/size/main.go": file, ".hidden/x.go": file,
	}
	got, err := countTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]count{".": {code: 1}, "turn": {code: 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("counted %v, not %v", got, want)
	}
}
