package onereply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Actor is who asks for something, as far as that is known.
type Actor struct {
	By   string // a label, such as that of an API key; never the key
	From string // an address
}

type actorKey struct{}

// WithActor returns a context whose actions are noted as this actor's: in the
// log, in the audit of the conversation, and in that of the node. Actions are
// [App.Pause], [App.Resume], [App.Flush], [App.Requeue], [App.Resend],
// [App.MarkSent], [App.Answer] and [App.Forget]; without an actor they are not noted.
func WithActor(ctx context.Context, actor Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorOf returns the actor of a context, if it has one.
func ActorOf(ctx context.Context) (Actor, bool) {
	actor, ok := ctx.Value(actorKey{}).(Actor)
	return actor, ok
}

// AuditEntry is one action.
type AuditEntry struct {
	At           Time   `json:"at"`
	Action       string `json:"action"` // "pause", "resume", "flush", "requeue", "resend", "mark_sent", "reply", "delete"
	Bot          string `json:"bot"`
	Conversation string `json:"conversation"`
	By           string `json:"by"`
	From         string `json:"from"`
	Reason       string `json:"reason"` // its first 128 bytes
}

// AuditQuery selects actions.
type AuditQuery struct {
	Bot          string // "" means all
	Conversation string // "" means all of the bot
	Limit        int    // 1 to 1000; 0 means 100
}

// What is remembered and looked through.
const (
	actionsKept  = 1000 // actions in the memory of a node
	auditScan    = 1000 // conversations that an audit of all of them reads
	auditScanPer = 250  // at once
)

// act is request for what is noted. What changes the conversation is written
// with that change, and so is durable; of what changes nothing, and of what
// deletes it, only the log and this node's memory tell.
func (a *App) act(ctx context.Context, action string, r *engine.Request) (engine.Result, error) {
	actor, known := ActorOf(ctx)
	if !known {
		return a.node.Submit(ctx, r)
	}
	entry := store.AuditEntry{Action: action, By: actor.By, From: actor.From, Reason: r.Reason}
	if r.Turn != 0 {
		entry.Reason = fmt.Sprintf("turn %d", r.Turn)
	}
	r.Audit = &entry
	result, err := a.node.Submit(ctx, r)
	done := entry // the engine may still read the other one
	if done.At = result.At; err != nil || done.At == 0 {
		done.At = a.clock.Now()
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "action", slog.String("bot", r.Key.Bot), slog.String("conversation", r.Key.Conversation), slog.String("action", action),
		slog.String("by", actor.By), slog.String("from", actor.From), slog.String("reason", entry.Reason), slog.Any("err", err))
	if err == nil && result.Reason != turn.NoTrouble && result.Reason != turn.UnderWay {
		a.actions.note(r.Key, done)
	}
	return result, err
}

// actions are the last of this node, oldest first.
type actions struct {
	mu   sync.Mutex
	last []noted
}

type noted struct {
	key   store.Key
	entry store.AuditEntry // as a record holds it
}

// note remembers an action. With a conversation goes what was done to it, but
// for the deletion itself.
func (s *actions) note(key store.Key, e store.AuditEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Action == "delete" {
		s.last = slices.DeleteFunc(s.last, func(n noted) bool { return n.key == key && n.entry.Action != "delete" })
	}
	s.last = append(s.last, noted{key, e.Cut()})
	if over := len(s.last) - actionsKept; over > 0 {
		s.last = slices.Delete(s.last, 0, over)
	}
}

func (s *actions) of(q AuditQuery) []noted {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []noted
	for _, n := range s.last {
		if (q.Bot == "" || n.key.Bot == q.Bot) && (q.Conversation == "" || n.key.Conversation == q.Conversation) {
			found = append(found, n)
		}
	}
	return found
}

// Audit returns who did what, newest first. With a conversation: its last 16
// actions that changed it, from the store. Without: those of the 1000
// conversations with the newest activity. And in both cases what this node
// remembers: its last 1000 actions, those that changed nothing and deletions
// among them. CodeNotFound where nothing was ever received in the
// conversation, and this node remembers none.
func (a *App) Audit(ctx context.Context, q AuditQuery) ([]AuditEntry, error) {
	c := call{op: "audit", key: store.Key{Bot: q.Bot, Conversation: q.Conversation}}
	if err := a.checkAudit(c, q); err != nil {
		return nil, err
	}
	found := a.actions.of(q)
	var err error
	if q.Conversation != "" {
		var snapshot store.Snapshot
		snapshot, err = a.store.Load(ctx, c.key)
		if err == nil && !snapshot.Record.Exists() && len(found) == 0 {
			return nil, c.fail(CodeNotFound, "conversation", errors.New("nothing was ever received in it"))
		}
		found = collect(found, c.key, snapshot.Log)
	} else {
		found, err = a.collectAll(ctx, q.Bot, found)
	}
	return newest(found, cmp.Or(q.Limit, 100)), c.of(err)
}

func (a *App) checkAudit(c call, q AuditQuery) error {
	if _, ok := a.bots[q.Bot]; !ok && (q.Bot != "" || q.Conversation != "") {
		return c.fail(CodeNotFound, "bot", errors.New("no such bot is configured"))
	}
	if q.Conversation != "" {
		if err := checkName(q.Conversation); err != nil {
			return c.fail(CodeInvalid, "conversation", err)
		}
	}
	if q.Limit < 0 || q.Limit > 1000 {
		return c.fail(CodeInvalid, "limit", errors.New("it must be 1 to 1000"))
	}
	return nil
}

// collectAll adds what the newest conversations tell.
func (a *App) collectAll(ctx context.Context, bot string, found []noted) ([]noted, error) {
	query := store.ListQuery{Bot: bot, Limit: auditScanPer}
	for range auditScan / auditScanPer {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			found = collect(found, item.Key, item.Snapshot.Log)
		}
		if query.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	return found, nil
}

func collect(found []noted, key store.Key, l store.Log) []noted {
	for _, e := range l.Audit {
		found = append(found, noted{key, e})
	}
	return found
}

// newest sorts, and drops what is there twice: a node remembers also what it
// has written.
func newest(found []noted, limit int) []AuditEntry {
	slices.SortFunc(found, func(a, b noted) int {
		return cmp.Or(cmp.Compare(b.entry.At, a.entry.At), a.key.Compare(b.key),
			cmp.Compare(a.entry.Action, b.entry.Action), cmp.Compare(a.entry.By, b.entry.By),
			cmp.Compare(a.entry.From, b.entry.From), cmp.Compare(a.entry.Reason, b.entry.Reason))
	})
	found = slices.Compact(found)
	entries := make([]AuditEntry, 0, min(len(found), limit))
	for _, n := range found[:min(len(found), limit)] {
		entries = append(entries, AuditEntry{
			At: timeOf(n.entry.At), Action: n.entry.Action, Bot: n.key.Bot, Conversation: n.key.Conversation,
			By: n.entry.By, From: n.entry.From, Reason: n.entry.Reason,
		})
	}
	return entries
}
