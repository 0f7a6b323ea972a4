package onereply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/inspect"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Actor is the person or program behind a call. Either field may be empty.
type Actor struct {
	// By is a label, such as that of an API key; never the key.
	By string

	// From is an address.
	From string
}

type actorKey struct{}

// WithActor returns a context whose actions are noted as this actor's: in the
// log, in the audit of the conversation, and in that of the node. Actions are
// [App.Pause], [App.Resume], [App.Reset], [App.SetAlias], [App.RemoveAlias], [App.Move],
// [App.Flush], [App.Requeue], [App.Resend], [App.MarkSent], [App.Answer] and [App.Forget];
// without an actor they are not noted.
func WithActor(ctx context.Context, actor Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorOf returns the actor of a context, if it has one.
func ActorOf(ctx context.Context) (Actor, bool) {
	actor, ok := ctx.Value(actorKey{}).(Actor)
	return actor, ok
}

// AuditEntry is one action of an [Actor].
type AuditEntry struct {
	At Time `json:"at"`

	// Action is "pause", "resume", "reset", "alias", "remove_alias", "move", "flush", "requeue", "resend", "mark_sent", "reply" or
	// "delete".
	Action string `json:"action"`

	Bot          string `json:"bot"`
	Conversation string `json:"conversation"`

	// By and From are those of the actor.
	By   string `json:"by"`
	From string `json:"from"`

	// Reason is the first 128 bytes of the one that was given, or the turn that the
	// action was about.
	Reason string `json:"reason"`
}

// AuditQuery selects actions. The zero value selects the last hundred of all.
type AuditQuery struct {
	Bot          string   // "" means all; needed with a Conversation
	Bots         []string // the only ones that are meant where Bot is ""; nil means all
	Conversation string   // "" means all of the bot
	Limit        int      // 1 to 1000; 0 means 100
}

// act submits a request, and notes it in the audit if the context has an actor. The note on
// a change is written with that change, and so is durable. An action that changes nothing,
// or deletes the conversation, is noted in the log and in this node's memory only.
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
	if result.Key != (store.Key{}) {
		r.Key = result.Key // of an alias, the conversation to which it leads
	}
	if err == nil && result.Reason != turn.NotUnconfirmed && result.Reason != turn.UnderWay {
		a.actions.Note(r.Key, done)
	}
	return result, err
}

// Audit returns the actions of people and programs, newest first. For one conversation,
// these are the last 16 actions that changed it, from the store; without one, those of
// the 1000 conversations with the newest activity. Both include the last 1000 actions
// that this node remembers, also those that changed nothing, and deletions. An error has [CodeNotFound] where nothing was ever received in the
// conversation, and this node remembers none.
func (a *App) Audit(ctx context.Context, q AuditQuery) ([]AuditEntry, error) {
	c := call{op: "audit", key: store.Key{Bot: q.Bot, Conversation: q.Conversation}}
	if err := a.checkAudit(c, &q); err != nil {
		return nil, err
	}
	name := ""
	if q.Conversation != "" {
		found, err := a.locate(ctx, c.key)
		if err != nil {
			return nil, c.of(err)
		}
		q.Conversation, name = found.key.Conversation, found.name()
	}
	noted, err := inspect.Audit(ctx, a.store, &a.actions, inspect.AuditQuery(q))
	entries := make([]AuditEntry, len(noted))
	for i, n := range noted {
		entries[i] = AuditEntry{
			At: timeOf(n.At), Action: n.Action, Bot: n.Key.Bot, Conversation: cmp.Or(name, n.Key.Conversation),
			By: n.By, From: n.From, Reason: n.Reason,
		}
	}
	return entries, c.of(err)
}

func (a *App) checkAudit(c call, q *AuditQuery) error {
	if _, ok := a.bot(q.Bot); !ok && (q.Bot != "" || q.Conversation != "") {
		return c.fail(CodeNotFound, "bot", errors.New("no such bot is configured"))
	}
	if q.Conversation != "" {
		if err := checkName(q.Conversation); err != nil {
			return c.fail(CodeInvalid, "conversation", err)
		}
	}
	var err error
	if q.Limit, err = pageLimit(q.Limit); err != nil {
		return c.fail(CodeInvalid, "limit", err)
	}
	return nil
}
