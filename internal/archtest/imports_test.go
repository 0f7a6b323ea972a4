package archtest

import (
	"slices"
	"strings"
	"testing"
)

// rule says what some packages must never import, and why. Patterns name
// packages of this module by "./path"; "/..." at the end means that package
// and all below it, "/*" only those below it. Without "./" they name packages
// of the standard library, and thirdParty all others.
type rule struct {
	packages  string
	forbidden []string
	but       []string
	reason    string
}

const thirdParty = "*.*"

// rules are the dependencies that must not be. Tests are free: they wire what
// they test.
var rules = []rule{
	{
		packages:  "./turn/...",
		forbidden: []string{".", "./...", thirdParty},
		reason:    "the core is explored exhaustively and read in one sitting: it needs nothing but the standard library",
	},
	{
		packages:  "./turn/...",
		forbidden: []string{"context", "sync/...", "math/rand/...", "os/...", "net/...", "log/...", "crypto/rand"},
		reason:    "Step is a pure function: no I/O, no goroutine, no randomness but what the event brings",
	},
	{
		packages:  ".",
		forbidden: []string{"./server/...", "./console/...", "./cmd/...", "./internal/proof/..."},
		reason:    "the library is linked into people's programs: the server and the page are built on it, not into it",
	},
	{
		packages:  ".",
		forbidden: []string{"./store/*"},
		reason:    "a program chooses its store; the library knows the contract only",
	},
	{
		packages:  ".",
		forbidden: []string{"./responder/*", "./channel/*"},
		reason:    "a program chooses who answers and who delivers; the library knows the interfaces only",
	},
	{
		packages:  ".",
		forbidden: []string{thirdParty},
		reason:    "what the library needs, every program that uses it must take",
	},
	{
		packages:  "./store",
		forbidden: []string{"./store/*", thirdParty},
		reason:    "the contract knows no engine",
	},
	{
		packages:  "./store/...",
		forbidden: []string{".", "./internal/engine/...", "./responder/...", "./channel/...", "./server/...", "./console/...", "./cmd/..."},
		reason:    "a store keeps what it is given and decides nothing",
	},
	{
		packages:  "./store/*",
		forbidden: []string{"./store/*"},
		but:       []string{"./store/memory"},
		reason:    "engines do not know each other; the memory store is the oracle that the suite compares them with",
	},
	{
		packages:  "./internal/engine/...",
		forbidden: []string{"./store/*", "./responder/...", "./channel/...", "./server/...", "./console/...", "./cmd/..."},
		reason:    "the shell works with any store, responder and channel",
	},
	{
		packages:  "./internal/node/...",
		forbidden: []string{".", "./internal/fleet/...", "./internal/inspect/...", "./store/*", "./responder/...", "./channel/...", "./server/...", "./console/...", "./cmd/...", thirdParty},
		reason:    "the runtime carries out the engine's decisions, with any store, responder and channel",
	},
	{
		packages:  "./internal/fleet/...",
		forbidden: []string{".", "./internal/node/...", "./internal/inspect/...", "./store/*", "./responder/...", "./channel/...", "./server/...", "./console/...", "./cmd/...", thirdParty},
		reason:    "all that nodes tell each other may be lost: nothing is decided there",
	},
	{
		packages:  "./internal/inspect/...",
		forbidden: []string{".", "./internal/node/...", "./store/*", "./responder/...", "./channel/...", "./server/...", "./console/...", "./cmd/...", thirdParty},
		reason:    "it reads what is stored, for people to look at, and decides nothing",
	},
	{
		packages:  "./internal/words",
		forbidden: []string{".", "./..."},
		reason:    "it compares texts, and knows nothing of conversations",
	},
	{
		packages:  "./responder/*",
		forbidden: []string{"./responder/*", "./channel/...", "./store/...", "./server/...", "./console/...", "./cmd/..."},
		reason:    "a responder knows the library and its model, nothing beside it",
	},
	{
		packages:  "./channel/*",
		forbidden: []string{"./channel/*", "./responder/...", "./store/...", "./server/...", "./console/...", "./cmd/..."},
		reason:    "a channel knows the library and its receiver, nothing beside it",
	},
	{
		packages:  "./internal/...",
		forbidden: []string{"./cmd/...", "./console/..."},
		reason:    "only the command wires everything, and nothing uses the command",
	},
	{
		packages:  "./server/...",
		forbidden: []string{"./cmd/...", "./store/*"},
		reason:    "only the command chooses and opens a store",
	},
	{
		packages:  "./console/...",
		forbidden: []string{"./cmd/...", "./store/...", "./turn/...", "./internal/engine/..."},
		reason:    "the page sees what the API shows",
	},
}

// TestImportsPointInward checks every import of every package against the
// rules.
func TestImportsPointInward(t *testing.T) {
	files := parseTree(t)
	for _, r := range rules {
		t.Run(r.packages, func(t *testing.T) {
			for _, f := range files {
				if !f.test && !f.nested && matches(r.packages, own(f.folder)) {
					r.check(t, f)
				}
			}
		})
	}
}

func (r rule) check(t *testing.T, f file) {
	for _, imported := range f.imports() {
		if forbids(r, own(f.folder), imported) {
			t.Errorf("%s imports %s, but %s must not: %s", f.path, imported, r.packages, r.reason)
		}
	}
}

// forbids reports whether a rule forbids a package an import. Where it keeps
// neighbours apart, what lies below one of them is part of it.
func forbids(r rule, from, imported string) bool {
	if strings.HasSuffix(r.packages, "/*") && strings.HasPrefix(imported, from+"/") {
		return false
	}
	match := func(pattern string) bool { return matches(pattern, imported) }
	return slices.ContainsFunc(r.forbidden, match) && !slices.ContainsFunc(r.but, match)
}

// own names a folder as patterns do.
func own(folder string) string {
	if folder == "." {
		return folder
	}
	return "./" + folder
}

// matches reports whether a pattern names a package.
func matches(pattern, name string) bool {
	if pattern == thirdParty {
		first, _, _ := strings.Cut(name, "/")
		return !strings.HasPrefix(name, ".") && strings.Contains(first, ".")
	}
	if above, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(name, above+"/")
	}
	if top, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == top || strings.HasPrefix(name, top+"/")
	}
	return name == pattern
}

// TestOnlyTheCommandUsesTheProof: the command runs the simulation and the
// benchmarks for people. Nothing else of the product may lean on the proof, which
// looks at it from outside.
func TestOnlyTheCommandUsesTheProof(t *testing.T) {
	for _, f := range parseTree(t) {
		for _, imported := range f.imports() {
			if !f.test && !f.nested && leansOnProof(own(f.folder), imported) {
				t.Errorf("%s imports %s: only cmd/ and tests use the proof", f.path, imported)
			}
		}
	}
	if !leansOnProof("./internal/node", "./internal/proof/scenario") || leansOnProof("./cmd/onereply", "./internal/proof/bench") ||
		leansOnProof("./internal/proof/bench", "./internal/proof/testservers") {
		t.Error("this test can't tell the product from the proof")
	}
}

func leansOnProof(from, imported string) bool {
	free := matches("./internal/proof/...", from) || matches("./cmd/...", from)
	return !free && matches("./internal/proof/...", imported)
}

// TestRules shows that the rules can fail: each line would be a fault.
func TestRules(t *testing.T) {
	tests := []struct {
		from, imported string
		forbidden      bool
	}{
		{"./turn", "time", false},
		{"./turn", "sync", true},
		{"./turn", "sync/atomic", true},
		{"./turn", "math/rand/v2", true},
		{"./turn", "math/bits", false},
		{"./turn", "./store", true},
		{"./turn", "github.com/google/go-cmp/cmp", true},
		{".", "./turn", false},
		{".", "./store", false},
		{".", "./store/sqlite", true},
		{".", "./server/config", true},
		{"./store", "./turn", false},
		{"./store", "./store/memory", true},
		{"./store/sqlite", "./store", false},
		{"./store/sqlite", "modernc.org/sqlite", false},
		{"./store/sqlite", "./store/postgres", true},
		{"./store/storetest", "./store/memory", false},
		{"./store/sqlite", ".", true},
		{"./internal/engine", "./store/memory", true},
		{"./internal/engine", "./store", false},
		{"./internal/node", ".", true},
		{"./internal/node", "./store", false},
		{"./internal/node", "./store/memory", true},
		{"./internal/node", "./internal/fleet", true},
		{"./internal/node", "./internal/engine", false},
		{"./internal/fleet", "./internal/node", true},
		{"./internal/inspect", ".", true},
		{"./responder/openai", "./responder/anthropic", true},
		{"./responder/openai", "./responder/openai/wire", false},
		{"./responder/openai", "./internal/sse", false},
		{"./channel/webhook", "./responder/webhook", true},
		{"./channel/webhook", "./store", true},
		{"./server", "./store/sqlite", true},
		{"./internal/node", "./store/memory", true},
		{"./internal/node", "./internal/engine", false},
		{"./internal/fleet", "./internal/node", true},
		{"./internal/inspect", "./internal/fleet", false},
		{"./internal/inspect", ".", true},
	}
	for _, test := range tests {
		got := slices.ContainsFunc(rules, func(r rule) bool {
			return matches(r.packages, test.from) && forbids(r, test.from, test.imported)
		})
		if got != test.forbidden {
			t.Errorf("%s imports %s: forbidden is %v, not %v", test.from, test.imported, got, test.forbidden)
		}
	}
}

// TestCoreHasNoClock: the standard library's time is a clock too.
func TestCoreHasNoClock(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Local", "LoadLocation"}
	for _, f := range parseTree(t) {
		if f.test || !matches("./turn/...", own(f.folder)) && !matches("./internal/engine/...", own(f.folder)) {
			continue
		}
		if f.localName("time") == "." {
			t.Errorf("%s imports time with a dot, which hides its clock", f.path)
		}
		for _, u := range f.uses("time") {
			if slices.Contains(clock, u.name) {
				t.Errorf("%s uses time.%s: the core is told what time it is", f.path, u.name)
			}
		}
	}
}
