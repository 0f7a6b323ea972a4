package onereply

import (
	"context"
	"errors"

	"github.com/onereply/onereply/internal/inspect"
)

// TimelineQuery selects turns of a timeline. The zero value selects the last ten.
type TimelineQuery struct {
	// Turns is how many turns, the last ones: 1 to [MaxTimelineTurns]; 0 means 10.
	Turns int

	// Turn is the only one that is wanted; 0: Turns says which.
	Turn int64
}

// Timeline is the story of a conversation, turn by turn. It was written with the
// conversation itself, so it is the same from every node, and outlives each of them.
type Timeline struct {
	Bot          string         `json:"bot"`
	Conversation string         `json:"conversation"`
	Now          Time           `json:"now"`   // by the store's clock
	Turns        []TimelineTurn `json:"turns"` // in order; never nil
}

// TimelineTurn is one turn. Steps before the first turn have the number 0.
type TimelineTurn struct {
	Turn int64 `json:"turn"`

	// Open: the turn is not over.
	Open bool `json:"open"`

	// Lost is how many steps are not kept, before the first of Steps.
	Lost int `json:"lost"`

	// Steps are what happened, in order.
	Steps []Event `json:"steps"`
}

// Timeline returns the last turns of a conversation. A turn has at most its last
// [MaxTimelineSteps] steps, and these are removed together with its transcript. An error has [CodeNotFound] where nothing was ever received.
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
	found, err := a.locate(ctx, c.key)
	if err != nil {
		return Timeline{}, c.of(err)
	}
	turns, err := inspect.Timeline(ctx, a.store, inspect.TimelineQuery{Key: found.key, Turns: int64(q.Turns), Turn: q.Turn})
	if err != nil {
		return Timeline{}, c.of(err)
	}
	out := Timeline{Bot: bot, Conversation: found.name(), Now: timeOf(a.clock.Now()), Turns: make([]TimelineTurn, len(turns))}
	for i, one := range turns {
		steps := make([]Event, len(one.Steps))
		for j := range one.Steps {
			steps[j] = eventOf("", &one.Steps[j])
		}
		out.Turns[i] = TimelineTurn{Turn: one.Number, Open: one.Open, Lost: one.Lost, Steps: steps}
	}
	return out, nil
}
