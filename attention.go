package onereply

import (
	"context"
	"errors"
	"time"

	"github.com/onereply/onereply/internal/inspect"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// AttentionKind is why a conversation needs somebody.
type AttentionKind string

// The kinds.
const (
	AttentionFailedTurn  AttentionKind = "failed_turn"  // the turn was given up; requeue tries it again
	AttentionUnknownSend AttentionKind = "unknown_send" // nobody knows whether the reply arrived
	AttentionUndelivered AttentionKind = "undelivered"  // the reply certainly did not arrive
	AttentionPartial     AttentionKind = "partial"      // a part of the reply arrived
	AttentionSetAside    AttentionKind = "set_aside"    // the model refuses these messages, or each worker that took them was lost; requeue tries them again
	AttentionOverdue     AttentionKind = "overdue"      // it waits for a node, longer than it should
	AttentionLeaseLost   AttentionKind = "lease_lost"   // the turn under way lost a worker, and goes on without it
	AttentionOverBudget  AttentionKind = "over_budget"  // the bot has used up its [Budget], and its conversations wait; there is no conversation
)

// AttentionItem is one reason for a person to look at a conversation, which may have
// several.
type AttentionItem struct {
	Kind         AttentionKind `json:"kind"`
	Bot          string        `json:"bot"`
	Conversation string        `json:"conversation"`
	Turn         int64         `json:"turn"`

	// Seq is the sequence of the reply in the transcript; 0 where it is not about one.
	Seq int64 `json:"seq,omitempty"`

	// At is when it became so: of a failed turn, its last write; of an overdue
	// conversation, its due time.
	At Time `json:"at"`

	// Since is when somebody began to wait; never later than At.
	Since Time `json:"since"`

	// Reason says more, in a few words; it may be empty.
	Reason string `json:"reason"`

	// Actions are the calls that help: "requeue", "resend", "mark_sent", "flush". Empty,
	// but never nil, where none does.
	Actions []string `json:"actions"`
}

// AttentionQuery selects conversations that need attention. The zero value selects all, a
// hundred at a time.
type AttentionQuery struct {
	// Bot is the only one whose conversations are listed; "" means all, those of bots
	// that this node does not have among them.
	Bot string

	// Bots are the only ones whose conversations are listed where Bot is ""; nil means
	// all. A page of some bots may have fewer than Limit, or none, and still go on.
	Bots []string

	// Cursor is the Next of the page before; "" means the first page.
	Cursor string

	// Limit is how many conversations a page has at most: 1 to 1000; 0 means 100.
	Limit int
}

// AttentionPage is a page of items: first of bots, then of overdue conversations, then of the others,
// newest activity first.
type AttentionPage struct {
	Items []AttentionItem `json:"items"` // never nil
	Next  string          `json:"next"`  // the cursor of the next page; "" at the end
}

// Attention lists everything that needs somebody: failed turns; messages that earlier
// turns set aside; replies that may not have arrived; turns under way that have lost a
// worker; overdue conversations, on which a node should have acted more than two
// leases of their bot ago; and bots that have used up their [Budget]. An error with
// [CodeInvalid] names the field at fault.
func (a *App) Attention(ctx context.Context, q AttentionQuery) (AttentionPage, error) {
	c := call{op: "attention", key: store.Key{Bot: q.Bot}}
	if _, ok := a.bot(q.Bot); !ok && q.Bot != "" {
		return AttentionPage{}, c.fail(CodeNotFound, "bot", errors.New("no such bot is configured"))
	}
	limit, err := pageLimit(q.Limit)
	if err != nil {
		return AttentionPage{}, c.fail(CodeInvalid, "limit", err)
	}
	leases, budgets := map[string]time.Duration{}, map[string]turn.DailyBudget{}
	for name, b := range *a.bots.Load() {
		leases[name] = b.Lease
		if b.Budget != (Budget{}) {
			budgets[name] = b.engineBot().Policy.Daily
		}
	}
	found, next, err := inspect.Attention(ctx, a.store, inspect.AttentionQuery{
		Bot: q.Bot, Bots: q.Bots, Cursor: q.Cursor, Limit: limit, Now: a.clock.Now(), Leases: leases, Budgets: budgets,
	})
	if err != nil {
		return AttentionPage{}, c.of(err)
	}
	out := AttentionPage{Items: make([]AttentionItem, len(found)), Next: next}
	for i, f := range found {
		out.Items[i] = AttentionItem{
			Kind: AttentionKind(f.Kind), Bot: f.Key.Bot, Conversation: f.Key.Conversation, Turn: f.Turn, Seq: f.Seq,
			At: timeOf(f.At), Since: timeOf(f.Since), Reason: f.Reason, Actions: f.Actions,
		}
	}
	return out, nil
}
