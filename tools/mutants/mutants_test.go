package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// example is a package with one change of each kind, and tests that see some of
// them.
var example = map[string]string{
	"go.mod": "module example.test/m\n\ngo 1.26.0\n",
	"bound/bound.go": `package bound

import "fmt"

type span struct{ from, to int }

func clamp(n, most int) int {
	if n > most {
		return most
	}
	return n
}

func pair(a, b int) span { return span{from: a, to: b} }

func sum(numbers []int) (total int) {
	for i := 0; i < len(numbers); i++ {
		total += numbers[i]
	}
	return total
}

func unused(ok bool) error {
	if ok {
		return nil
	}
	_ = fmt.Sprint(ok)
	return fmt.Errorf("%d is not %d", 1, 2)
}
`,
	"bound/bound_test.go": `package bound

import "testing"

func Test(t *testing.T) {
	if clamp(3, 2) != 2 || clamp(1, 2) != 1 || sum([]int{1, 2}) != 3 {
		t.Fatal("wrong")
	}
	pair(1, 2)
}
`,
}

// shapes has functions of all shapes, and a test that sees each change of them, and
// that each can be made alone.
var shapes = map[string]string{
	"go.mod": "module example.test/m\n\ngo 1.26.0\n",
	"shapes/shapes.go": `package shapes

const limit = 7

type list[T any] struct{ all []T }

func (l *list[T]) add(more ...T) { l.all = append(l.all, more...) }

func (list[T]) most(_ string, n int) (is bool, err error) { return n == limit, nil }

func first[A comparable, B any](_ A, b ...B) B { return b[0] }

var before = double(limit)

func double(n int) int { return 2 * n }

func safe(f func()) (failed bool) {
	defer note(&failed)
	f()
	return failed
}

func note(failed *bool) {
	if recover() != nil {
		*failed = true
	}
}
`,
	"shapes/shapes_test.go": `package shapes

import "testing"

func Test(t *testing.T) {
	var l list[int]
	l.add(1)
	l.add(2, 3)
	is, err := l.most("", 7)
	not, _ := l.most("", 8)
	if len(l.all) != 3 || l.all[2] != 3 || first("", 4, 5) != 4 || !is || not || err != nil || before != 14 {
		t.Fatal("wrong")
	}
	if !safe(func() { panic("no") }) || safe(func() {}) {
		t.Fatal("unsafe")
	}
}
`,
}

func writeExample(t *testing.T) string {
	t.Helper()
	return write(t, example)
}

func write(t *testing.T, module map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range module {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func keys(changes []*change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.key)
	}
	return all
}

func TestChanges(t *testing.T) {
	p, err := load(t.Context(), writeExample(t), "./bound")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"bound clamp: if n > most { return most } -> (dropped)",
		"bound clamp: n > most -> n >= most",
		"bound clamp: n > most -> n <= most",
		"bound pair: return span{from: a, to: b} -> return span{from: b, to: a}",
		"bound sum: i := 0 -> i := 1",
		"bound sum: i < len(numbers) -> i <= len(numbers)",
		"bound sum: i < len(numbers) -> i >= len(numbers)",
		"bound sum: i++ -> i--",
		"bound sum: total += numbers[i] -> _ = numbers[i]",
		"bound sum: total += numbers[i] -> total -= numbers[i]",
		"bound unused: if ok { return nil } -> (dropped)",
		"bound unused: ok -> !ok",
	}
	if got := keys(p.changes()); !reflect.DeepEqual(got, want) {
		t.Errorf("found\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSampleIsDrawnWithASeed(t *testing.T) {
	p, err := load(t.Context(), writeExample(t), "./bound")
	if err != nil {
		t.Fatal(err)
	}
	sample := func(seed uint64, size int) []string {
		drawn, _ := draw(p, p.changes(), seed, size, nil)
		return keys(drawn)
	}
	if first, second := sample(7, 5), sample(7, 5); len(first) != 5 || !reflect.DeepEqual(first, second) {
		t.Errorf("one seed drew %v and %v", first, second)
	}
	if reflect.DeepEqual(sample(7, 5), sample(8, 5)) {
		t.Error("two seeds drew the same")
	}
}

func TestSurvivorsAreListed(t *testing.T) {
	root := writeExample(t)
	before := sourceOf(t, root)
	named := equivalents{
		"bound clamp: n > most -> n >= most": true,
		"bound gone: a -> b":                 true,
	}
	r, err := tryPackage(t.Context(), options{root: root, seed: 1, budget: time.Minute, workers: 2}, "./bound", named)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, s := range r.survivors {
		got[s.key] = s.reached
	}
	want := map[string]bool{ // and whether a test reaches them
		"bound pair: return span{from: a, to: b} -> return span{from: b, to: a}": true,
		"bound unused: if ok { return nil } -> (dropped)":                        false,
		"bound unused: ok -> !ok":                                                false,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("these survived: %v, not %v", got, want)
	}
	if r.caught != 8 || r.equivalent != 1 || len(r.stale) != 1 || r.passed() {
		t.Errorf("%d were caught, %d equivalent, %d stale, passed is %v; not 8, 1, 1, false", r.caught, r.equivalent, len(r.stale), r.passed())
	}
	if sourceOf(t, root) != before {
		t.Error("the source was changed")
	}
}

func sourceOf(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "bound/bound.go"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFunctionsOfAllShapes(t *testing.T) {
	root := write(t, shapes)
	o := options{root: root, seed: 1, budget: time.Minute, workers: 2}
	r, err := tryPackage(t.Context(), o, "./shapes", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.survivors {
		t.Error(s.key)
	}
	if r.caught != r.possible || r.caught < 12 {
		t.Errorf("%d of %d changes were caught", r.caught, r.possible)
	}
	// Only what is listed is tried again.
	o.only = filepath.Join(root, "output")
	if err := os.WriteFile(o.only, []byte("\tshapes double: return 2 * n -> return 2 / n\nshapes gone: a -> b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err = tryPackage(t.Context(), o, "./shapes", nil)
	if err != nil || r.caught != 1 || len(r.survivors) != 0 {
		t.Errorf("%d caught, %d survived, %v; only one was listed", r.caught, len(r.survivors), err)
	}
}

func TestEquivalentNeedsAReason(t *testing.T) {
	name := filepath.Join(t.TempDir(), "equivalent.txt")
	write := func(text string) error {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readEquivalent(name)
		return err
	}
	if err := write("# the order does not matter\nturn f: a -> b\nturn f: c -> d\n"); err != nil {
		t.Error(err)
	}
	if err := write("# the order does not matter\nturn f: a -> b\n\nturn f: c -> d\n"); err == nil {
		t.Error("a change without a reason was accepted")
	}
	if _, err := readEquivalent("equivalent.txt"); err != nil {
		t.Error(err)
	}
}

// A check that is late once, on a machine that is busy, has caught nothing; one that is
// late again, or that works much longer, has.
func TestALateCheckRunsAgain(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		limits limits
		want   error
	}{
		"late once":      {"[ -e late ] || { touch late; sleep 60; }", limits{300 * time.Millisecond, time.Minute}, nil},
		"late for ever":  {"sleep 60", limits{300 * time.Millisecond, time.Minute}, errTooLong},
		"works for ever": {"while :; do :; done", limits{time.Minute, 300 * time.Millisecond}, errEndless},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bench{root: t.TempDir()}
			binary := filepath.Join(t.TempDir(), "check")
			if err := os.WriteFile(binary, []byte("#!/bin/sh\n"+test.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := b.runTwice(t.Context(), check{pkg: "."}, binary, filepath.Join(t.TempDir(), "temporary"), test.limits); err != test.want {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
