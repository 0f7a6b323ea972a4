package turn_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"pgregory.net/rapid"

	"github.com/onereply/onereply/turn"
)

// world is a small truthful shell around Step: one conversation, a transcript,
// workers that take leases, and a channel that remembers what reached people.
// It draws what happens, and checks each step.
type world struct {
	policy turn.Policy
	now    turn.Time
	record turn.Record
	ledger *ledger
	leases int // nonces given out so far

	happened map[string]int // events so far, by type, of all lives
}

func drawWorld(t *rapid.T) *world {
	seconds := func(label string, choices ...time.Duration) time.Duration {
		return time.Second * rapid.SampledFrom(choices).Draw(t, label)
	}
	return &world{
		now:    start,
		ledger: newLedger(),
		policy: turn.Policy{
			Debounce:       seconds("debounce", 0, 2),
			MaxWait:        seconds("max wait", 0, 5, 10),
			OnNewInput:     rapid.SampledFrom([]turn.Mode{"", turn.Interrupt, turn.Discard, turn.Finish}).Draw(t, "on new input"),
			MaxDiscards:    rapid.IntRange(0, 2).Draw(t, "max discards"),
			Lease:          seconds("lease", 5, 30),
			MediaWait:      seconds("media wait", 0, 15),
			MaxAttempts:    rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "attempts"),
			ResendUnknown:  rapid.Bool().Draw(t, "resend unknown"),
			RetryFor:       seconds("retry for", 0, 60),
			Fallback:       rapid.Bool().Draw(t, "fallback"),
			SessionIdle:    seconds("session idle", 0, 0, 1, 20),
			Refusal:        rapid.Bool().Draw(t, "refusal"),
			EarlyAttempts:  rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "early attempts"),
			TurnsPerMinute: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "turns per minute"),
			Observe:        rapid.Bool().Draw(t, "observe"),
			MaxAge:         seconds("max age", 0, 30),
			DelayAfter:     seconds("delay after", 0, 0, 3),
			OutageAfter:    seconds("outage after", 0, 0, 1, 20),
			MaxBotTurns:    rapid.IntRange(0, 2).Draw(t, "max bot turns"),
			WaitingBytes:   rapid.SampledFrom([]int{0, 0, 8}).Draw(t, "waiting bytes"),
			PromptBytes:    rapid.SampledFrom([]int{0, 0, 4}).Draw(t, "prompt bytes"),
		},
	}
}

// apply is one step: Step itself, the laws that each step obeys, the ledger,
// and the laws that hold between ledger and record.
func (w *world) apply(event turn.Event, touched *message) (turn.Effects, error) {
	before := w.record
	after, effects, err := w.stepTwice(event)
	if err != nil {
		return effects, err
	}
	for _, law := range stepLaws {
		if err := law(w, before, event, after, effects); err != nil {
			return effects, fmt.Errorf("%+v (%T) at %s: %w", event, event, moment(w.now), err)
		}
	}
	w.ledger.hear(event, before, after, effects)
	if err := w.ledger.record(event, touched, before, after, effects); err != nil {
		return effects, fmt.Errorf("%+v (%T) at %s: %w", event, event, moment(w.now), err)
	}
	w.ledger.begin(effects.Actions)
	w.record = after
	for _, law := range ledgerLaws {
		if err := law(w.ledger, after); err != nil {
			return effects, fmt.Errorf("after %+v (%T) at %s: %w", event, event, moment(w.now), err)
		}
	}
	return effects, nil
}

// stepTwice calls Step two times: the answers are equal, and the argument is
// what it was, which is also what a store would give back.
func (w *world) stepTwice(event turn.Event) (turn.Record, turn.Effects, error) {
	kept, err := reread(w.record)
	if err != nil {
		return turn.Record{}, turn.Effects{}, err
	}
	after, effects := turn.Step(w.record, event, w.now, w.policy)
	again, effectsAgain := turn.Step(w.record, event, w.now, w.policy)
	switch {
	case !same(kept, w.record):
		return after, effects, fmt.Errorf("Step changed its argument, at %T", event)
	case !same(after, again) || !reflect.DeepEqual(effects, effectsAgain):
		return after, effects, fmt.Errorf("Step gave two answers to one question, at %T", event)
	}
	return after, effects, nil
}

// reread stores a record and reads it back.
func reread(r turn.Record) (turn.Record, error) {
	var back turn.Record
	data, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err == nil && !same(r, back) {
		err = fmt.Errorf("the record is not what was stored: %+v, not %+v", back, r)
	}
	return back, err
}

// same compares records; an empty list and none are the same.
func same(a, b turn.Record) bool {
	if len(a.Unconfirmed) == 0 && len(b.Unconfirmed) == 0 {
		a.Unconfirmed, b.Unconfirmed = nil, nil
	}
	if len(a.Queue) == 0 && len(b.Queue) == 0 {
		a.Queue, b.Queue = nil, nil
	}
	return reflect.DeepEqual(a, b)
}
