package archtest

import (
	"go/ast"
	"testing"
)

// maySleep lists the test files that sleep in real time, each with its reason.
// In a synctest bubble a sleep only moves virtual time, so that needs none.
var maySleep = map[string]string{
	"channel/telegram/poll_test.go":  "waits in virtual time: it is called in synctest bubbles only",
	"channel/poll_test.go":           "waits in virtual time: it is called in synctest bubbles only",
	"channel/slack/talk_test.go":     "waits in virtual time: it is called in synctest bubbles only",
	"channel/whatsapp/talk_test.go":  "waits in virtual time: it is called in synctest bubbles only",
	"cmd/onereply/process_test.go":   "polls a real process over HTTP, with a deadline: there is no signal to wait for",
	"e2e/backend_test.go":            "polls a real server, with a deadline: there is no signal to wait for",
	"e2e/browser_test.go":            "polls a real browser, with a deadline: there is no signal to wait for",
	"e2e/nodes_linearizable_test.go": "spreads concurrent calls over time: they wait for nothing",
	"e2e/nodes_wire_test.go":         "delays bytes on the wire: the delay is the fault",
	"internal/node/lab_test.go":      "waits in virtual time: it is called in synctest bubbles only",
	"store/sqlite/helpers_test.go":   "polls what the writer has done, with a deadline: nothing tells of it",
	"world_test.go":                  "waits in virtual time: it is called in synctest bubbles only",
}

// TestNoTestSleeps: a test that sleeps until something has surely happened is
// slow where it is right and wrong where the machine is slow. Wait for a
// signal, poll with a deadline, or use virtual time.
func TestNoTestSleeps(t *testing.T) {
	used := map[string]bool{}
	for _, f := range parseTree(t) {
		if !f.test {
			continue
		}
		bubbles := bubblesOf(f)
		for _, u := range f.uses("time") {
			if u.name != "Sleep" || within(u.node, bubbles) {
				continue
			}
			used[f.path] = true
			if maySleep[f.path] == "" {
				t.Errorf("%s calls time.Sleep: wait for a signal, poll with a deadline, or use testing/synctest", f.path)
			}
		}
	}
	for path, reason := range maySleep {
		if !used[path] {
			t.Errorf("%s sleeps no longer: take it from the list (%s)", path, reason)
		}
	}
}

// bubblesOf finds the calls of synctest.Test in a file.
func bubblesOf(f file) []ast.Node {
	local := f.localName("testing/synctest")
	var bubbles []ast.Node
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Test" {
			if base, ok := selector.X.(*ast.Ident); ok && local != "" && base.Name == local {
				bubbles = append(bubbles, call)
			}
		}
		return true
	})
	return bubbles
}

func within(node ast.Node, regions []ast.Node) bool {
	for _, region := range regions {
		if region.Pos() <= node.Pos() && node.End() <= region.End() {
			return true
		}
	}
	return false
}
