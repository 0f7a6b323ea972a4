package simulate

import (
	"maps"
	"slices"
	"time"
)

// What breaks. A fault of a plan is a stretch of time in which this kind may
// happen, or a single event.
const (
	storeSlow     What = "store-slow"
	storeLate     What = "store-late"
	storeRefuses  What = "store-not-applied"
	unknownKept   What = "store-unknown-applied"
	unknownLost   What = "store-unknown-lost"
	unknownLater  What = "store-unknown-lands-later"
	staleConflict What = "store-stale-conflict"
	readFails     What = "store-read-fails"
	storeAway     What = "store-away"
	partition     What = "partition"
	crash         What = "crash"
	freeze        What = "freeze"
	drain         What = "drain"
	clockSteps    What = "clock-step"
	modelFails    What = "model-failure"
	modelOut      What = "model-outage"
	modelRejects  What = "model-rejection"
	modelRefuses  What = "model-refusal"
	modelCramped  What = "model-cramped"
	modelHangs    What = "model-hangs"
	modelDeaf     What = "model-deaf"
	modelSilent   What = "model-silent"
	modelSeals    What = "model-seal"
	modelKills    What = "model-kills-worker"
	sendFails     What = "send-failure"
	sendRefused   What = "send-refused"
	sendUnsureYes What = "send-unknown-delivered"
	sendUnsureNo  What = "send-unknown-lost"
	sendSlow      What = "send-slow"
	sendPauses    What = "send-pause"
)

// These are counted with the faults, although nothing is needed to cause them
// but several nodes.
const (
	conflict  What = "store-conflict"
	staleRead What = "store-stale-read"
	hintLost  What = "hint-lost"
)

// faultKind describes a kind of fault.
type faultKind struct {
	text   string
	ofNode bool
	once   bool          // it is a moment, not a stretch of time
	most   time.Duration // how long it lasts at most
}

var faultKinds = map[What]faultKind{
	storeSlow:     {"writes and reads take up to 3 s", true, false, 8 * time.Second},
	storeLate:     {"answers of the store are late", true, false, 8 * time.Second},
	storeRefuses:  {"writes fail, with nothing left behind", true, false, 5 * time.Second},
	unknownKept:   {"writes are applied, their answers are lost", true, false, 5 * time.Second},
	unknownLost:   {"writes are lost without a word", true, false, 5 * time.Second},
	unknownLater:  {"writes are given up by the node, and applied later", true, false, 5 * time.Second},
	staleConflict: {"conflicts name a record that was there once", true, false, 8 * time.Second},
	readFails:     {"reads fail", true, false, 5 * time.Second},
	storeAway:     {"the store is gone", false, false, 12 * time.Second},
	partition:     {"the node can't reach the store", true, false, 12 * time.Second},
	crash:         {"the process is killed, and started again", true, true, 6 * time.Second},
	freeze:        {"the process stands still", true, true, 15 * time.Second},
	drain:         {"the process drains, gives its leases back and is started again", true, true, 6 * time.Second},
	clockSteps:    {"the process measures the store's clock anew, and is off otherwise", true, true, 0},
	modelFails:    {"calls of the model fail", false, false, 6 * time.Second},
	modelOut:      {"the model can't be reached", false, false, 10 * time.Second},
	modelRejects:  {"the model rejects calls", false, false, 4 * time.Second},
	modelRefuses:  {"the model refuses prompts that hold certain messages", false, false, 20 * time.Second},
	modelCramped:  {"the model refuses prompts that hold more than so many messages", false, false, 20 * time.Second},
	modelHangs:    {"calls of the model take up to 20 s", false, false, 6 * time.Second},
	modelDeaf:     {"the model ignores that it is told to stop", false, false, 15 * time.Second},
	modelSilent:   {"the model chooses not to reply", false, false, 6 * time.Second},
	modelSeals:    {"the model seals its attempts", false, false, 15 * time.Second},
	modelKills:    {"the model brings the process down", false, false, 30 * time.Second},
	sendFails:     {"sends fail for certain", false, false, 8 * time.Second},
	sendRefused:   {"sends are refused for good", false, false, 5 * time.Second},
	sendUnsureYes: {"sends arrive, and nobody learns of it", false, false, 8 * time.Second},
	sendUnsureNo:  {"sends are lost, and nobody learns of it", false, false, 8 * time.Second},
	sendSlow:      {"sends take long", false, false, 10 * time.Second},
	sendPauses:    {"the receiver asks for pauses", false, false, 8 * time.Second},
}

// FaultNames are the kinds of fault that a run can be allowed to have.
func FaultNames() []string {
	var names []string
	for what := range maps.Keys(faultKinds) {
		names = append(names, string(what))
	}
	slices.Sort(names)
	return names
}

// counted are the kinds of fault in the order in which they are reported.
func counted() []What {
	all := append(slices.Collect(maps.Keys(faultKinds)), conflict, staleRead, hintLost)
	slices.Sort(all)
	return all
}

// breakThings draws what breaks. A quarter of all plans has no faults: there
// the bounds on waiting are strict.
func (p *Plan) breakThings(allowed []What) {
	d := roll(p.Seed, "troubles")
	if len(allowed) == 0 || d.chance(25) {
		return
	}
	for range d.between(1, 7) {
		what := allowed[d.below(len(allowed))]
		kind := faultKinds[what]
		e := Event{At: d.span(0, p.traffic), What: what, Node: d.below(p.nodes)}
		if kind.most > 0 {
			e.For = d.span(50*time.Millisecond, kind.most)
		}
		p.add(e)
	}
}
