package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Kind is why a conversation needs somebody. The root's AttentionKind has the same
// values: they are part of the API.
type Kind string

// The kinds.
const (
	FailedTurn  Kind = "failed_turn"  // the turn was given up
	UnknownSend Kind = "unknown_send" // nobody knows whether the reply arrived
	Undelivered Kind = "undelivered"  // the reply certainly did not arrive
	Partial     Kind = "partial"      // a part of the reply arrived
	SetAside    Kind = "set_aside"    // the model refuses these messages, or each worker that took them was lost
	Overdue     Kind = "overdue"      // it waits for a node, longer than it should
	LeaseLost   Kind = "lease_lost"   // the turn under way lost a worker, and goes on without it
	OverBudget  Kind = "over_budget"  // a bot has used up its budget of the day, and its conversations wait
)

// Finding is one reason for a person to look at a conversation, or at a bot.
type Finding struct {
	Kind Kind
	Key  store.Key // of a bot: without a conversation
	Turn int64

	// Seq is that of the reply; 0 where the finding is not about one.
	Seq int64

	// At is when it became so. Since is when somebody began to wait. If the record does
	// not say, both are the time of its last write, so neither is ever zero.
	At, Since turn.Time

	Reason string

	// Actions are the calls of the API that help; never nil.
	Actions []string
}

// AttentionQuery selects findings.
type AttentionQuery struct {
	Bot    string   // "" means all
	Bots   []string // the only ones where Bot is ""; nil means all
	Cursor string   // of the page before; "" means the first page
	Limit  int      // conversations of one page, at least 1

	// Now and Leases decide which conversations are overdue: the time of the store, and
	// the lease of each bot that this node has. Budgets are those of the bots that have one.
	Now     turn.Time
	Leases  map[string]time.Duration
	Budgets map[string]turn.DailyBudget
}

// listMark begins every cursor. All of them are of pages behind the bots and the overdue
// conversations, which stand on the first page only. Those that do not fit there are
// left out: a person who sees a page full of them has enough to do.
const listMark = "-"

// Attention returns a page of findings: first of bots without a budget, then of conversations
// that are overdue, then of those that the store marks, newest activity first. A conversation may
// have several findings. A cursor that this function did not make is
// [store.ErrCursor].
func Attention(ctx context.Context, s store.Store, q AttentionQuery) (found []Finding, next string, err error) {
	cursor, behind := strings.CutPrefix(q.Cursor, listMark)
	if q.Cursor != "" && !behind {
		return nil, "", store.ErrCursor
	}
	room := q.Limit // of this page
	if !behind {
		if found, err = overBudget(ctx, s, q); err != nil {
			return nil, "", err
		}
		late, err := overdue(ctx, s, q)
		if err != nil {
			return nil, "", err
		}
		found = append(found, late...)
		found = found[:min(len(found), q.Limit)]
		if room -= len(found); room == 0 {
			return found, listMark, nil
		}
	}
	page, err := s.List(ctx, store.ListQuery{Bot: q.Bot, Attention: true, Cursor: cursor, Limit: room})
	if err != nil {
		return nil, "", err
	}
	for _, item := range ofBots(page.Items, q.Bots) {
		found = append(found, findingsOf(item)...)
	}
	if page.Next != "" {
		next = listMark + page.Next
	}
	return found, next, nil
}

// overBudget finds the bots that have used up their budget of the day while somebody waits
// for them.
func overBudget(ctx context.Context, s store.Store, q AttentionQuery) (found []Finding, err error) {
	for _, bot := range slices.Sorted(maps.Keys(q.Budgets)) {
		if q.Bot != "" && bot != q.Bot || q.Bot == "" && q.Bots != nil && !slices.Contains(q.Bots, bot) {
			continue
		}
		snapshot, err := s.Load(ctx, engine.BudgetKey(bot))
		spent := snapshot.Record.Spent
		switch {
		case store.IsUnreadable(err):
		case err != nil:
			return nil, err
		case spent.Refused != 0 && q.Budgets[bot].UsedUp(spent, q.Now):
			found = append(found, Finding{
				Kind: OverBudget, Key: store.Key{Bot: bot}, At: spent.Refused, Since: spent.Refused,
				Reason: engine.BudgetUsedUp(q.Budgets[bot], spent, q.Now), Actions: []string{},
			})
		}
	}
	return found, nil
}

// findingsOf returns the findings of a conversation that the store marks. The record's
// NeedsAttention decides whether it is marked; this only says why.
func findingsOf(item store.Item) []Finding {
	var found []Finding
	r := item.Snapshot.Record
	item.Key.Conversation = r.Name(item.Key.Conversation)
	if r.Phase == turn.Failed {
		since := FirstPending(r)
		if r.LastTurnSetAside() {
			since = r.SetAside.Since
		}
		found = append(found, Finding{
			Kind: FailedTurn, Key: item.Key, Turn: r.Turn, At: item.Active, Since: cmp.Or(since, item.Active),
			Reason: r.Tries.LastError, Actions: []string{"requeue"},
		})
	}
	if r.SetAside != nil && (r.Phase != turn.Failed || !r.LastTurnSetAside()) { // else that is the failed turn
		found = append(found, setAside(item))
	}
	for _, t := range r.Unconfirmed {
		found = append(found, unconfirmed(item.Key, t))
	}
	switch {
	// Workers that were lost while they sent a reply are counted with that reply, which
	// may be an earlier turn's.
	case r.Reply != nil && r.Reply.Lost.Count > 0:
		lost := leaseLost(item, r.Reply.Lost, "sending")
		lost.Turn, lost.Seq, lost.Since = r.Reply.Turn, r.Reply.Seq, cmp.Or(r.Reply.Since, item.Active)
		found = append(found, lost)
	case r.Tries.Lost.Count > 0 && r.Phase != turn.Failed:
		found = append(found, leaseLost(item, r.Tries.Lost, "generating"))
	}
	return found
}

// setAside reports the messages that turns before this one set aside. A turn that is
// under way has to end before they can be tried again, so that no action helps then.
func setAside(item store.Item) Finding {
	r := item.Snapshot.Record
	a := r.SetAside
	out := Finding{
		Kind: SetAside, Key: item.Key, Turn: a.Turn,
		At: cmp.Or(a.At, item.Active), Since: cmp.Or(a.Since, a.At, item.Active), Actions: []string{"requeue"},
		Reason: "1 message was set aside: each worker that took it was lost",
	}
	if a.Refused {
		out.Reason = "1 message was set aside: the model refuses it"
	}
	if r.Phase == turn.Generating || r.Phase == turn.Sending {
		out.Actions = []string{}
	}
	if a.Pending > 1 {
		out.Reason = fmt.Sprintf("%d messages were set aside: each worker that took them was lost", a.Pending)
		if a.Refused {
			out.Reason = fmt.Sprintf("%d messages were set aside: the model refuses them, or did so last", a.Pending)
		}
	}
	return out
}

// leaseLost reports the workers that a turn has lost, and the node that goes on. Nobody
// has to act: if workers keep getting lost, the turn fails in the end.
func leaseLost(item store.Item, lost turn.Lost, doing string) Finding {
	r := item.Snapshot.Record
	reason := fmt.Sprintf("a worker on %s was lost while %s", lost.Holder, doing)
	if lost.Count > 1 {
		reason = fmt.Sprintf("%d workers were lost while %s, the last one on %s", lost.Count, doing, lost.Holder)
	}
	next := "the turn waits"
	switch _, alone := r.MustRunAlone(); {
	case r.Lease.Nonce != "":
		next = r.Lease.Holder + " goes on"
	case alone && r.Phase == turn.Collecting && !r.OnHold:
		next = "the next attempt runs alone"
	}
	return Finding{
		Kind: LeaseLost, Key: item.Key, Turn: r.Turn, At: lost.At, Since: cmp.Or(FirstPending(r), item.Active),
		Reason: reason + "; " + next, Actions: []string{},
	}
}

// unconfirmed reports a reply that was sent without a confirmation of all its parts.
func unconfirmed(key store.Key, t turn.Unconfirmed) Finding {
	out := Finding{
		Kind: Partial, Key: key, Turn: t.Turn, Seq: t.Seq, At: t.At, Since: t.At, Actions: []string{"resend", "mark_sent"},
	}
	switch t.Status {
	case turn.ReplyUnknown:
		out.Kind = UnknownSend
	case turn.ReplyFailed:
		out.Kind = Undelivered
	}
	out.Reason = t.Reason
	if t.Parts > 1 {
		arrived := fmt.Sprintf("%d of %d parts arrived", t.Next(), t.Parts)
		out.Reason = strings.TrimPrefix(out.Reason+"; "+arrived, "; ")
	}
	if t.Resend {
		out.Reason, out.Actions = "it is about to be sent again", []string{"mark_sent"}
	}
	return out
}

// FirstPending is when the first of the waiting messages was accepted. While a reply
// is being sent that answers none of them, it is the first that came since.
func FirstPending(r turn.Record) turn.Time {
	if r.Attempt.NewerSince != 0 && r.Attempt.Newer == r.Pending {
		return r.Attempt.NewerSince
	}
	return r.Window.WaitingSince
}
