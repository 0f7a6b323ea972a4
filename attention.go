package onereply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/atonce"
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
	AttentionSetAside    AttentionKind = "set_aside"    // messages brought down each worker that took them; requeue tries them again
	AttentionOverdue     AttentionKind = "overdue"      // it waits for a node, longer than it should
	AttentionLeaseLost   AttentionKind = "lease_lost"   // the turn under way lost a worker, and goes on without it
)

// AttentionItem is one thing that a person should look at.
type AttentionItem struct {
	Kind         AttentionKind `json:"kind"`
	Bot          string        `json:"bot"`
	Conversation string        `json:"conversation"`
	Turn         int64         `json:"turn"`
	Seq          int64         `json:"seq,omitempty"` // of the reply, where it is about one
	At           Time          `json:"at"`            // when it came to be so: the last write of a failed turn; of what is overdue, when it was due
	Since        Time          `json:"since"`         // since when somebody waits
	Reason       string        `json:"reason"`
	Actions      []string      `json:"actions"` // what helps: "requeue", "resend", "mark_sent", "flush"
}

// AttentionQuery selects what needs attention.
type AttentionQuery struct {
	Bot    string // "" means all
	Cursor string
	Limit  int // conversations; 1 to 1000; 0 means 100
}

// AttentionPage is a page of what needs attention: first what is overdue, then the
// rest, newest activity first. A conversation may be in it with several items.
type AttentionPage struct {
	Items []AttentionItem `json:"items"`
	Next  string          `json:"next"` // "" at the end
}

const (
	overdueLeases  = 2                // a wake-up that is later than so many leases is overdue
	overdueScan    = 500              // timers that are looked at for it at once,
	overdueMost    = 32_000           // and in all, of bots that are asked for together
	overdueReaders = 16               // records that are read at once
	overdueAhead   = 10 * time.Second // a node that claims a timer moves it, by less than this
	otherLease     = 30 * time.Second // of bots that this node does not have
	listMark       = "-"              // begins the cursors behind what is overdue
)

// Attention lists what needs somebody: failed turns, messages that earlier turns set
// aside, replies of which it is not certain that they arrived, turns under way that
// have lost a worker, and conversations whose wake-up has passed by more than two
// leases of their bot although some node should have acted on it.
func (a *App) Attention(ctx context.Context, q AttentionQuery) (AttentionPage, error) {
	c := call{op: "attention", key: store.Key{Bot: q.Bot}}
	if _, ok := a.bots[q.Bot]; !ok && q.Bot != "" {
		return AttentionPage{}, c.fail(CodeNotFound, "bot", errors.New("no such bot is configured"))
	}
	if q.Limit < 0 || q.Limit > 1000 {
		return AttentionPage{}, c.fail(CodeInvalid, "limit", errors.New("it must be 1 to 1000"))
	}
	place, listed := strings.CutPrefix(q.Cursor, listMark)
	if q.Cursor != "" && !listed {
		return AttentionPage{}, c.fail(CodeInvalid, "cursor", store.ErrCursor)
	}
	out, err := a.attention(ctx, q, place, !listed)
	if errors.Is(err, store.ErrCursor) {
		return AttentionPage{}, c.fail(CodeInvalid, "cursor", err)
	}
	return out, c.of(err)
}

func (a *App) attention(ctx context.Context, q AttentionQuery, place string, first bool) (AttentionPage, error) {
	limit := cmp.Or(q.Limit, 100)
	out := AttentionPage{Items: []AttentionItem{}}
	if first {
		overdue, err := a.overdue(ctx, q.Bot, limit)
		if err != nil {
			return AttentionPage{}, err
		}
		out.Items = append(out.Items, overdue...)
		if limit -= len(overdue); limit == 0 {
			out.Next = listMark
			return out, nil
		}
	}
	page, err := a.store.List(ctx, store.ListQuery{Bot: q.Bot, Attention: true, Cursor: place, Limit: limit})
	if err != nil {
		return AttentionPage{}, err
	}
	for _, item := range page.Items {
		out.Items = append(out.Items, attentionOf(item)...)
	}
	if page.Next != "" {
		out.Next = listMark + page.Next
	}
	return out, nil
}

// attentionOf is why a listed conversation needs somebody.
func attentionOf(item store.Item) []AttentionItem {
	var items []AttentionItem
	r := item.Snapshot.Record
	if r.Phase == turn.Failed {
		since := firstPending(r)
		if r.FailedAside() {
			since = r.Aside.Since
		}
		items = append(items, AttentionItem{
			Kind: AttentionFailedTurn, Bot: item.Key.Bot, Conversation: item.Key.Conversation, Turn: r.Turn,
			At: timeOf(item.Active), Since: timeOf(cmp.Or(since, item.Active)), Reason: r.LastError, Actions: []string{"requeue"},
		})
	}
	if r.Aside != nil && (r.Phase != turn.Failed || !r.FailedAside()) { // else that is the failed turn
		items = append(items, asideOf(item))
	}
	for _, t := range r.Troubles {
		items = append(items, troubleOf(item.Key, t))
	}
	switch {
	case r.Reply != nil && r.Reply.Lost.Count > 0:
		lost := lostOf(item, r.Reply.Lost, "sending")
		lost.Turn, lost.Seq, lost.Since = r.Reply.Turn, r.Reply.Seq, timeOf(cmp.Or(r.Reply.Since, item.Active))
		items = append(items, lost)
	case r.Lost.Count > 0 && r.Phase != turn.Failed:
		items = append(items, lostOf(item, r.Lost, "generating"))
	}
	return items
}

// asideOf tells of the messages that turns before this one set aside. What is under
// way has to end before they can be tried again.
func asideOf(item store.Item) AttentionItem {
	r := item.Snapshot.Record
	a := r.Aside
	out := AttentionItem{
		Kind: AttentionSetAside, Bot: item.Key.Bot, Conversation: item.Key.Conversation, Turn: cmp.Or(a.Turn, r.Turn),
		At: timeOf(cmp.Or(a.At, item.Active)), Since: timeOf(cmp.Or(a.Since, a.At, item.Active)), Actions: []string{"requeue"},
		Reason: "1 message was set aside: each worker that took it was lost",
	}
	if r.Phase == turn.Generating || r.Phase == turn.Sending {
		out.Actions = []string{}
	}
	if a.Pending > 1 {
		out.Reason = fmt.Sprintf("%d messages were set aside: each worker that took them was lost", a.Pending)
	}
	return out
}

// lostOf tells of the workers that a turn has lost, and of who goes on. Nobody has
// to act: whose workers keep getting lost is a turn that fails, or a node that does.
func lostOf(item store.Item, lost turn.Lost, doing string) AttentionItem {
	r := item.Snapshot.Record
	out := AttentionItem{
		Kind: AttentionLeaseLost, Bot: item.Key.Bot, Conversation: item.Key.Conversation, Turn: r.Turn,
		At: timeOf(lost.At), Since: timeOf(cmp.Or(firstPending(r), item.Active)), Actions: []string{},
	}
	out.Reason = fmt.Sprintf("a worker on %s was lost while %s", lost.Holder, doing)
	if lost.Count > 1 {
		out.Reason = fmt.Sprintf("%d workers were lost while %s, the last one on %s", lost.Count, doing, lost.Holder)
	}
	next := "the turn waits"
	if r.Lease.Nonce != "" {
		next = r.Lease.Holder + " goes on"
	}
	out.Reason += "; " + next
	return out
}

func troubleOf(key store.Key, t turn.Trouble) AttentionItem {
	out := AttentionItem{
		Kind: AttentionPartial, Bot: key.Bot, Conversation: key.Conversation, Turn: t.Turn, Seq: t.Seq, At: timeOf(t.At), Since: timeOf(t.At),
		Actions: []string{"resend", "mark_sent"},
	}
	switch t.Status {
	case turn.ReplyUnknown:
		out.Kind = AttentionUnknownSend
	case turn.ReplyFailed:
		out.Kind = AttentionUndelivered
	}
	if t.Parts > 1 {
		out.Reason = fmt.Sprintf("%d of %d parts arrived", t.Done, t.Parts)
	}
	if t.Again {
		out.Reason, out.Actions = "it is about to be sent again", []string{"mark_sent"}
	}
	return out
}

// overdue finds conversations that a node should have acted on long ago, this
// node's bots first. A timer that is claimed again and again moves with each claim,
// so that when the record wanted to be looked at tells, not the timer: the late
// may be behind many that are just due.
func (a *App) overdue(ctx context.Context, bot string, limit int) ([]AttentionItem, error) {
	wanted := [][]string{{bot}}
	if bot == "" {
		wanted = [][]string{slices.Collect(maps.Keys(a.bots)), nil}
	}
	now, seen := a.clock.Now(), map[store.Key]bool{}
	items := []AttentionItem{}
	for _, bots := range wanted {
		for part, err := range a.dueInParts(ctx, now, bots) {
			if err != nil {
				return nil, err
			}
			part = slices.DeleteFunc(part, func(t store.Timer) bool { return seen[t.Key] })
			late, err := a.lateOf(ctx, now, part)
			if err != nil {
				return nil, err
			}
			for _, t := range part {
				seen[t.Key] = true
			}
			if items = append(items, late...); len(items) >= limit {
				return items[:limit], nil
			}
		}
	}
	return items, nil
}

// dueInParts is the timers of bots that are due, or will be in a moment: the first
// few, then all those again with more behind them, since some may be gone by then.
func (a *App) dueInParts(ctx context.Context, now turn.Time, bots []string) iter.Seq2[[]store.Timer, error] {
	return func(yield func([]store.Timer, error) bool) {
		for most := overdueScan; ; most *= 4 {
			timers, err := a.store.Due(ctx, now.Add(overdueAhead), most, bots...)
			if err != nil {
				yield(nil, err)
				return
			}
			for part := range slices.Chunk(timers, overdueScan) {
				if !yield(part, nil) {
					return
				}
			}
			if len(timers) < most || most >= overdueMost {
				return
			}
		}
	}
}

// lateOf reads the records of timers together, and returns what is overdue, in the
// order of the timers. What can't be read is for the doctor.
func (a *App) lateOf(ctx context.Context, now turn.Time, timers []store.Timer) ([]AttentionItem, error) {
	found := make([]AttentionItem, len(timers))
	err := atonce.Do(ctx, len(timers), overdueReaders, func(ctx context.Context, i int) error {
		key := timers[i].Key
		snapshot, err := a.store.Load(ctx, key)
		switch {
		case store.IsUnreadable(err):
		case err != nil:
			return err
		default:
			found[i], _ = a.late(now, key, snapshot.Record)
		}
		return nil
	})
	late := slices.DeleteFunc(found, func(i AttentionItem) bool { return i.Kind == "" })
	return late, err
}

func (a *App) late(now turn.Time, key store.Key, r turn.Record) (AttentionItem, bool) {
	lease := otherLease
	bot, configured := a.bots[key.Bot]
	if configured {
		lease = bot.Lease
	}
	due, waits := r.Wake()
	if !waits || now.Sub(due) <= overdueLeases*lease {
		return AttentionItem{}, false
	}
	out := AttentionItem{
		Kind: AttentionOverdue, Bot: key.Bot, Conversation: key.Conversation, Turn: r.Turn,
		At: timeOf(due), Since: timeOf(cmp.Or(firstPending(r), due)), Actions: []string{},
	}
	switch {
	case r.Lease.Nonce != "":
		out.Reason = fmt.Sprintf("the lease of %s has expired, and no node took over", r.Lease.Holder)
	case r.Reply != nil:
		out.Turn, out.Seq, out.Since = r.Reply.Turn, r.Reply.Seq, timeOf(cmp.Or(r.Reply.Since, due))
		out.Reason, out.Actions = "no node sends the reply", []string{"flush"}
	default:
		out.Reason, out.Actions = "no node begins the turn", []string{"flush"}
	}
	if !configured {
		out.Reason, out.Actions = out.Reason+"; this node has no such bot", []string{}
	}
	return out, true
}
