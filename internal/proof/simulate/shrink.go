package simulate

import (
	"bytes"
	"slices"
)

// reduce cuts a failing run down to what is needed to break the promise in the
// same way, and tells it.
func (o Options) reduce(failed *world) *Failure {
	plan := o.smallest(failed.Plan, failed.broken.Check)
	var trace bytes.Buffer
	w := newWorld(plan, o.seeded, &trace)
	w.play()
	return &Failure{
		Seed: plan.Seed, Check: w.broken.Check, Text: w.broken.Text,
		Plan: plan.String(), Events: len(plan.Events), Transcript: trace.String(),
	}
}

// smallest drops whatever is not needed: first whole conversations and nodes,
// then events.
func (o Options) smallest(p *Plan, check string) *Plan {
	fails := func(events []Event) bool {
		w := newWorld(p.with(events), o.seeded, nil)
		w.play()
		return w.broken != nil && w.broken.Check == check
	}
	events := p.Events
	for conversation := range p.conversations {
		if fewer := without(events, func(e Event) bool { return isPeople(e) && e.Conversation == conversation }); fails(fewer) {
			events = fewer
		}
	}
	for node := range p.nodes {
		if moved := movedFrom(events, node, p.nodes); fails(moved) {
			events = moved
		}
	}
	return p.with(minimize(events, fails))
}

func isPeople(e Event) bool { _, breaks := faultKinds[e.What]; return !breaks }

func without(events []Event, drop func(Event) bool) []Event {
	return slices.DeleteFunc(slices.Clone(events), drop)
}

// movedFrom has everything happen to another node.
func movedFrom(events []Event, node, nodes int) []Event {
	moved := slices.Clone(events)
	for i := range moved {
		if moved[i].Node%nodes == node {
			moved[i].Node = (node + 1) % nodes
		}
	}
	return moved
}

// minimize is the ddmin of A. Zeller and R. Hildebrandt, "Simplifying and
// Isolating Failure-Inducing Input" (2002): drop ever smaller chunks for as
// long as what is left still fails.
func minimize(events []Event, fails func([]Event) bool) []Event {
	for chunk := max(len(events)/2, 1); ; {
		smaller := false
		for from := 0; from < len(events); {
			fewer := slices.Delete(slices.Clone(events), from, min(from+chunk, len(events)))
			if fails(fewer) {
				events, smaller = fewer, true
				continue
			}
			from += chunk
		}
		switch {
		case chunk > 1:
			chunk /= 2
		case !smaller:
			return events
		}
	}
}
