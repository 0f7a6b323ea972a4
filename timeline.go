package onereply

import (
	"context"
	"errors"
	"sort"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// TimelineQuery selects turns of a timeline.
type TimelineQuery struct {
	Turns int   // the last so many, 1 to 100; 0 means 10
	Turn  int64 // only this one; 0: Turns says which
}

// Timeline is what happened in a conversation, turn by turn. It was written
// with the conversation itself, so it is the same from every node, and outlives
// each of them.
type Timeline struct {
	Bot          string         `json:"bot"`
	Conversation string         `json:"conversation"`
	Now          Time           `json:"now"`
	Turns        []TimelineTurn `json:"turns"`
}

// TimelineTurn is one turn. What happened before the first one has the number 0.
type TimelineTurn struct {
	Turn  int64   `json:"turn"`
	Open  bool    `json:"open"` // it is not over
	Lost  int     `json:"lost"` // steps before its first that were dropped: there were too many
	Steps []Event `json:"steps"`
}

// Timeline tells what happened in the last turns of a conversation. Of a turn
// it has at most the last [MaxTimelineSteps] steps, and a turn's steps go when its
// transcript does. It returns CodeNotFound where nothing was ever received.
func (a *App) Timeline(ctx context.Context, bot, conversation string, q TimelineQuery) (Timeline, error) {
	c, err := a.begin("timeline", bot, conversation)
	if err != nil {
		return Timeline{}, err
	}
	switch {
	case q.Turns < 0 || q.Turns > MaxTimelineTurns:
		return Timeline{}, c.fail(CodeInvalid, "turns", errors.New("it must be 1 to 100"))
	case q.Turn < 0:
		return Timeline{}, c.fail(CodeInvalid, "turn", errors.New("it must be 1 or more"))
	case q.Turns == 0:
		q.Turns = 10
	}
	snapshot, err := a.store.Load(ctx, c.key)
	if err != nil {
		return Timeline{}, c.of(err)
	}
	if !snapshot.Record.Exists() {
		return Timeline{}, c.fail(CodeNotFound, "conversation", errors.New("nothing was ever received in it"))
	}
	t := timeline{key: c.key, record: snapshot.Record, traces: []store.Trace{snapshot.Log.Trace}, first: snapshot.Record.Turn - int64(q.Turns) + 1, last: snapshot.Record.Turn}
	if q.Turn > 0 {
		t.first, t.last = q.Turn, q.Turn
	}
	if err := t.read(ctx, a.store); err != nil {
		return Timeline{}, c.of(err)
	}
	return Timeline{Bot: bot, Conversation: conversation, Now: timeOf(a.clock.Now()), Turns: t.turns()}, nil
}

// timeline is one that is being put together.
type timeline struct {
	key         store.Key
	record      turn.Record
	first, last int64            // the turns that are asked for
	traces      []store.Trace    // newest first
	ids         map[int64]string // of messages, by sequence
}

// read goes backwards through the transcript, to the reply before the first
// turn. An entry that was appended after the record was read has taken the
// record's trace with it, so that one is left out.
func (t *timeline) read(ctx context.Context, s store.Store) error {
	t.ids = map[int64]string{}
	query := store.EntryQuery{Before: t.record.Seq + 1, Backward: true}
	for {
		page, err := s.Entries(ctx, t.key, query)
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.Kind == store.Reply && e.Turn < t.first {
				return nil
			}
			if e.Kind == store.Message {
				t.ids[e.Seq] = e.ID
			}
			t.traces = append(t.traces, e.Trace)
		}
		if len(page) < store.MaxEntries {
			return nil
		}
		query.Before = page[len(page)-1].Seq
	}
}

// turns groups the steps.
func (t *timeline) turns() []TimelineTurn {
	byNumber := map[int64]*TimelineTurn{}
	for i := len(t.traces) - 1; i >= 0; i-- {
		for j, step := range t.traces[i].Steps {
			if step.Turn < t.first || step.Turn > t.last {
				continue
			}
			one := byNumber[step.Turn]
			if one == nil {
				one = &TimelineTurn{Turn: step.Turn, Open: t.open(step.Turn)}
				byNumber[step.Turn] = one
			}
			if j == 0 {
				one.Lost += t.traces[i].Lost
			}
			one.Steps = append(one.Steps, t.step(step))
		}
	}
	turns := make([]TimelineTurn, 0, len(byNumber))
	for _, one := range byNumber {
		if more := len(one.Steps) - MaxTimelineSteps; more > 0 {
			one.Steps, one.Lost = one.Steps[more:], one.Lost+more
		}
		turns = append(turns, *one)
	}
	sort.Slice(turns, func(i, j int) bool { return turns[i].Turn < turns[j].Turn })
	return turns
}

// open reports whether a turn is not over: it is the current one, or its reply
// is on its way.
func (t *timeline) open(number int64) bool {
	r := t.record
	if r.Reply != nil && r.Reply.Turn == number {
		return true
	}
	for _, reply := range r.Queue {
		if reply.Turn == number {
			return true
		}
	}
	waits := r.Phase == turn.Collecting || r.Phase == turn.Generating
	interrupted := r.Reply != nil && r.Reply.Kind == turn.ReplyAgain && r.Pending > 0 && r.WindowStart != 0
	return number == r.Turn && (waits || interrupted)
}

// step is the event of a step that was kept.
func (t *timeline) step(n turn.Notice) Event {
	e := engine.Event{Notice: n}
	switch {
	case n.Seq == 0:
	case n.Kind == turn.MessageAccepted:
		e.MessageID = t.ids[n.Seq]
	default:
		e.ReplyID = engine.ReplyID(t.key, n.Turn)
	}
	e.Node = n.Holder
	return eventOf("", &e)
}
