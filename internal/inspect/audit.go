package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/onereply/onereply/store"
)

// ErrNothing says that nothing was ever received in the conversation.
var ErrNothing = errors.New("nothing was ever received in it")

// Action is an audit entry and the conversation that it is about.
type Action struct {
	Key store.Key
	store.AuditEntry
}

// Actions are the last actions that passed through this node. An action that changes
// a conversation is stored with that change; one that changes nothing, and the
// deletion that takes the conversation's own notes with it, are known from here only.
// The zero value is empty. It may be used by many goroutines at once.
type Actions struct {
	mu   sync.Mutex
	last []Action // oldest first
}

// actionsKept is how many actions a node remembers.
const actionsKept = 1000

// Note remembers an action. The deletion of a conversation forgets what was done to it
// before, but for earlier deletions.
func (a *Actions) Note(key store.Key, e store.AuditEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Action == "delete" {
		a.last = slices.DeleteFunc(a.last, func(n Action) bool { return n.Key == key && n.Action != "delete" })
	}
	a.last = append(a.last, Action{key, e.Cut()})
	if over := len(a.last) - actionsKept; over > 0 {
		a.last = slices.Delete(a.last, 0, over)
	}
}

// of returns the remembered actions on a bot, a conversation, or all.
func (a *Actions) of(q AuditQuery) []Action {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []Action
	for _, n := range a.last {
		if (q.Bot == "" || n.Key.Bot == q.Bot) && among(q.Bots, n.Key.Bot) && (q.Conversation == "" || n.Key.Conversation == q.Conversation) {
			found = append(found, n)
		}
	}
	return found
}

// AuditQuery selects actions.
type AuditQuery struct {
	// Bot and Conversation select; "" means all. A conversation needs its bot. Bots are
	// the only ones that are meant where Bot is ""; nil means all.
	Bot          string
	Bots         []string
	Conversation string

	// Limit is how many actions are returned at most, the newest ones: at least 1.
	Limit int
}

// An audit of many conversations reads those with the newest activity.
const (
	auditScan = 1000 // conversations
	auditPage = 250  // at once
)

// Audit returns actions, newest first: those that the records hold, and those that this
// node remembers. It returns [ErrNothing] where nothing was ever received in the
// conversation, and this node remembers nothing of it.
func Audit(ctx context.Context, s store.Store, remembered *Actions, q AuditQuery) ([]Action, error) {
	found := remembered.of(q)
	if q.Conversation == "" {
		found, err := collectNewest(ctx, s, q, found)
		if err != nil {
			return nil, err
		}
		return newest(found, q.Limit), nil
	}
	key := store.Key{Bot: q.Bot, Conversation: q.Conversation}
	snapshot, err := s.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	if !snapshot.Record.Exists() && len(found) == 0 {
		return nil, ErrNothing
	}
	return newest(collect(found, key, snapshot.Log), q.Limit), nil
}

// collectNewest adds the actions in the records with the newest activity.
func collectNewest(ctx context.Context, s store.Store, q AuditQuery, found []Action) ([]Action, error) {
	query := store.ListQuery{Bot: q.Bot, Limit: auditPage}
	for range auditScan / auditPage {
		page, err := s.List(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, item := range ofBots(page.Items, q.Bots) {
			found = collect(found, item.Key, item.Snapshot.Log)
		}
		if query.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	return found, nil
}

// collect adds the actions in one record: the last few that changed it.
func collect(found []Action, key store.Key, l store.Log) []Action {
	for _, e := range l.Audit {
		found = append(found, Action{key, e})
	}
	return found
}

// newest sorts, drops what is there twice, and keeps the first few. A node remembers
// also what it has written, with the same time and texts. So the order is that of all
// fields: equal actions are neighbours, and the answer is the same from every node.
func newest(found []Action, limit int) []Action {
	slices.SortFunc(found, func(a, b Action) int {
		return cmp.Or(cmp.Compare(b.At, a.At), a.Key.Compare(b.Key),
			cmp.Compare(a.Action, b.Action), cmp.Compare(a.By, b.By),
			cmp.Compare(a.From, b.From), cmp.Compare(a.Reason, b.Reason))
	})
	found = slices.Compact(found)
	return found[:min(len(found), limit)]
}
