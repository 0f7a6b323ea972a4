package main

import "time"

// check is one run of a test binary. The checks of a package run in order, from
// the cheap to the dear; the first that fails has caught the change.
type check struct {
	pkg  string   // the package whose tests run
	args []string // for the test binary
	env  []string
}

// standard are the packages that decide something, and that are measured when
// none is named.
var standard = []string{"./turn", "./internal/engine", "./internal/node", "./store/sqlite"}

// quickChecks are the quick checks by the folder of the package. A package
// that is not named is checked by its own tests.
var quickChecks = map[string][]check{
	"turn": {
		{pkg: "./turn", args: []string{"-test.skip=^TestAnyLife$"}},
		{pkg: "./turn", args: []string{"-test.run=^TestAnyLife$", "-rapid.nofailfile", "-rapid.seed=1"}},
		{pkg: "./internal/proof/explore", args: []string{"-test.run=^TestScopes$"}},
		{pkg: "./internal/proof/simulate", args: []string{"-test.run=^TestPromise$"}, env: []string{"ONEREPLY_RUNS=300"}},
	},
	"internal/engine": {
		{pkg: "./internal/engine", args: []string{"-test.skip=^TestIdleConversationsTakeBoundedMemory$"}},
		{pkg: "./internal/proof/simulate", args: []string{"-test.run=^(TestPromise|TestOneSeedOneTranscript)$"}, env: []string{"ONEREPLY_RUNS=300"}},
		{pkg: "./internal/engine", args: []string{"-test.run=^TestIdleConversationsTakeBoundedMemory$"}},
	},
	"store/sqlite": {
		{pkg: "./store/sqlite", args: []string{"-test.skip=Crash|FaultAtEachStep|SurvivesAKill"}},
		{pkg: "./store/sqlite", args: []string{"-test.run=Crash|FaultAtEachStep"}},
	},
	"internal/node": {
		{pkg: "./internal/node"},
		{pkg: "."},
		{pkg: "./internal/proof/scenario", args: []string{"-test.run=^TestScenarios$"}},
	},
}

func checksOf(folder string) []check {
	if checks, ok := quickChecks[folder]; ok {
		return checks
	}
	return []check{{pkg: "./" + folder}}
}

// A changed program may run for ever, or take all memory. Either is noticed.
const (
	slower         = 5                // times as long as without a change
	grace          = 10 * time.Second // more, for a machine that is busy
	measuring      = 10 * time.Minute // at most, without a change
	stillLimit     = 15 * time.Second // without any processor time
	memoryLimit    = 4 << 30          // bytes
	watchPeriod    = 200 * time.Millisecond
	ticksPerSecond = 100 // of the processor time that Linux tells
)
