package inspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// MaxSteps is how many steps a turn of a timeline has at most, the last ones. The store
// bounds each trace by itself; a turn with many messages is made of many traces, so
// that it needs a bound of its own.
const MaxSteps = 128

// TimelineQuery selects turns of one conversation.
type TimelineQuery struct {
	Key store.Key

	// Turns is how many, the last ones: at least 1.
	Turns int64

	// Turn is the only one that is wanted; 0: Turns says which.
	Turn int64
}

// Turn holds the steps of one turn. Steps before the first turn have the number 0.
type Turn struct {
	Number int64

	// Open: the turn is not over.
	Open bool

	// Lost is how many steps are not kept, before the first of Steps: the store bounds
	// each trace, and a timeline each turn.
	Lost int

	// Steps are in order of time. Only those that concern a lease name a node:
	// its holder.
	Steps []engine.Event
}

// Timeline returns the turns of a conversation, in order. It returns
// [ErrNothing] where nothing was ever received.
//
// Steps are stored in two places: those since the last entry of the transcript with the
// record, the others with the entries. A timeline puts them together again.
func Timeline(ctx context.Context, s store.Store, q TimelineQuery) ([]Turn, error) {
	snapshot, err := s.Load(ctx, q.Key)
	if err != nil {
		return nil, err
	}
	r := snapshot.Record
	if !r.Exists() {
		return nil, ErrNothing
	}
	t := timeline{
		key: q.Key, record: r, first: r.LastTurn() - q.Turns + 1, last: r.LastTurn(),
		steps: map[int64][]turn.Notice{}, lost: map[int64]int{}, ids: map[int64]string{},
	}
	if q.Turn > 0 {
		t.first, t.last = q.Turn, q.Turn
	}
	t.add(snapshot.Log.Trace)
	if err := t.read(ctx, s); err != nil {
		return nil, err
	}
	return t.turns(), nil
}

// timeline is one that is being put together.
type timeline struct {
	key         store.Key
	record      turn.Record
	first, last int64                   // the turns that are asked for
	steps       map[int64][]turn.Notice // of each turn, newest first, at most MaxSteps
	lost        map[int64]int           // of each turn, before those
	ids         map[int64]string        // of messages, by sequence
}

// The most of a transcript that a timeline is made of. A page that is full of long texts
// counts as leastOfPage entries.
const (
	maxEntries  = 20 * store.MaxEntries
	leastOfPage = maxEntries / 200
)

// read goes backwards through the transcript, to the reply before the first turn. That is
// the second one with a smaller number: the reply of a turn may come after replies beside
// the turns, which were given later numbers. An entry that was appended after the record was
// read has taken the record's trace with it, so that one is left out.
func (t *timeline) read(ctx context.Context, s store.Store) error {
	older, read := 0, 0
	for page, err := range store.Pages(ctx, s, t.key, store.EntryQuery{Before: t.record.Seq + 1, Backward: true}) {
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.Kind == store.Reply && e.Turn < t.first {
				older++
			}
			if older == 2 {
				return nil
			}
			if e.Kind == store.Message {
				t.ids[e.Seq] = e.ID
			}
			t.add(e.Trace)
		}
		if read += max(len(page), leastOfPage); read >= maxEntries {
			return nil
		}
	}
	return nil
}

// add takes in the trace before those that it has.
func (t *timeline) add(trace store.Trace) {
	for i, step := range slices.Backward(trace.Steps) {
		if step.Turn < t.first || step.Turn > t.last {
			continue
		}
		if i == 0 { // what was dropped stood before the first step that is kept
			t.lost[step.Turn] += trace.Lost
		}
		if len(t.steps[step.Turn]) == MaxSteps {
			t.lost[step.Turn]++
			continue
		}
		t.steps[step.Turn] = append(t.steps[step.Turn], step)
	}
}

// turns are the turns, oldest first.
func (t *timeline) turns() []Turn {
	turns := make([]Turn, 0, len(t.steps))
	for number, steps := range t.steps {
		one := Turn{Number: number, Open: t.open(number), Lost: t.lost[number]}
		for _, step := range slices.Backward(steps) {
			one.Steps = append(one.Steps, t.event(step))
		}
		turns = append(turns, one)
	}
	slices.SortFunc(turns, func(a, b Turn) int { return cmp.Compare(a.Number, b.Number) })
	return turns
}

// open reports whether something is still to happen in a turn: it is not over, or its
// reply is sent again.
func (t *timeline) open(number int64) bool {
	again := t.record.Reply != nil && t.record.Reply.Turn == number
	return again || t.record.TurnOpen(number)
}

// event is the event that a step was, without its texts and its conversation. A step
// holds sequences only; the ids are made of them again.
func (t *timeline) event(n turn.Notice) engine.Event {
	e := engine.NewEvent(t.key, n)
	e.Key, e.Node = store.Key{}, n.Holder
	if engine.IsOfMessage(n.Kind) {
		e.MessageID = t.ids[n.Seq]
	}
	return e
}
