package onereply

import (
	"context"
	"errors"
	"fmt"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/inspect"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// NamedConversation is an alias, and the conversation to which it leads.
type NamedConversation struct {
	Alias string `json:"alias"`

	// Conversation is the key by which the conversation is shown.
	Conversation string `json:"conversation"`
}

// SetAlias has a name lead to a conversation, which need not exist yet: from then on
// every call that names the alias means that conversation. An alias that leads elsewhere
// leads here from now on. An error has [CodeConflict] where the name is a conversation
// itself, or the key of one, and [CodeTooMany] where the conversation has [MaxAliases]. [App.RemoveAlias]
// undoes it.
func (a *App) SetAlias(ctx context.Context, bot, alias, conversation string) (NamedConversation, error) {
	c, err := a.beginAlias("set_alias", bot, alias)
	if err != nil {
		return NamedConversation{}, err
	}
	if err := checkName(conversation); err != nil {
		return NamedConversation{}, c.fail(CodeInvalid, "conversation", err)
	}
	to, err := a.locate(ctx, store.Key{Bot: bot, Conversation: conversation})
	if err != nil {
		return NamedConversation{}, c.of(err)
	}
	if len(to.snapshot.Record.Names.Aliases) >= turn.MaxAliases && !to.has(alias) {
		return NamedConversation{}, c.fail(CodeTooMany, "", fmt.Errorf("the conversation has %d other names, and can't have more", turn.MaxAliases))
	}
	before, err := a.store.Load(ctx, c.key)
	if err != nil {
		return NamedConversation{}, c.of(err)
	}
	if was := before.Record.LeadsTo; was != "" && was != to.key.Conversation {
		if err := a.drop(ctx, c, store.Key{Bot: bot, Conversation: was}); err != nil {
			return NamedConversation{}, err
		}
	}
	if c.key != to.key { // else the conversation began with this name
		if err := a.lead(ctx, c, to); err != nil {
			return NamedConversation{}, err
		}
	}
	return NamedConversation{Alias: alias, Conversation: to.name()}, nil
}

// drop has a conversation take a name away, before the name leads elsewhere or is free.
func (a *App) drop(ctx context.Context, c call, from store.Key) error {
	result, err := a.act(ctx, "remove_alias", &engine.Request{Key: from, Op: engine.DropName, Name: c.key.Conversation})
	if err == nil && result.Reason == turn.NameTaken {
		return c.fail(CodeConflict, "", errShownUnder)
	}
	return c.of(err)
}

var errShownUnder = errors.New("this name is the conversation's key (move the conversation first), or the one under which it began (that stays until the conversation is deleted)")

// lead makes a name an alias, and tells the conversation. The first write does it; if
// nobody lives to make the second one, the next request under the alias does.
func (a *App) lead(ctx context.Context, c call, to located) error {
	result, err := a.node.Submit(ctx, &engine.Request{Key: c.key, Op: engine.LeadName, Name: to.key.Conversation})
	switch {
	case err != nil:
		return c.of(err)
	case result.Reason == turn.NameTaken:
		return c.fail(CodeConflict, "", errors.New("there is a conversation of this name; delete it, or take another name"))
	}
	_, err = a.act(ctx, "alias", &engine.Request{Key: to.key, Op: engine.AdoptName, Name: c.key.Conversation})
	return c.of(err)
}

// Alias tells where a name leads. An error has [CodeNotFound] where it is no alias.
func (a *App) Alias(ctx context.Context, bot, alias string) (NamedConversation, error) {
	c, err := a.beginAlias("alias", bot, alias)
	if err != nil {
		return NamedConversation{}, err
	}
	found, err := a.locate(ctx, c.key)
	switch {
	case err != nil:
		return NamedConversation{}, c.of(err)
	case found.name() == alias:
		return NamedConversation{}, c.fail(CodeNotFound, "alias", errors.New("this name is no alias"))
	}
	return NamedConversation{Alias: alias, Conversation: found.name()}, nil
}

// RemoveAlias frees a name. The next message under it begins a conversation of its own.
// An error has [CodeConflict] where the name is the conversation's key, or the one with
// which the conversation began: it leads there as long as the conversation is there. It
// does nothing where the name is no alias.
func (a *App) RemoveAlias(ctx context.Context, bot, alias string) error {
	c, err := a.beginAlias("remove_alias", bot, alias)
	if err != nil {
		return err
	}
	found, err := a.locate(ctx, c.key)
	switch {
	case err != nil:
		return c.of(err)
	case found.isNothing():
		return nil
	case found.name() == alias, found.key == c.key:
		return c.fail(CodeConflict, "", errShownUnder)
	}
	if err := a.drop(ctx, c, found.key); err != nil {
		return err
	}
	return c.of(a.submit(ctx, c.key, engine.Request{Op: engine.FreeName, Name: found.key.Conversation}))
}

// Move gives a conversation another key. Everything stays with it: messages that wait,
// the history, the pause, the IDs that are known. The old key becomes an alias. The IDs
// of replies go on as they began, so a reply on its way keeps its ID. An error has
// [CodeConflict] where to is a conversation or leads elsewhere, and [CodeNotFound] where
// nothing was ever received in the conversation. A second move undoes it.
func (a *App) Move(ctx context.Context, bot, conversation, to string) (State, error) {
	c, err := a.begin("move", bot, conversation)
	if err != nil {
		return State{}, err
	}
	if err := checkName(to); err != nil {
		return State{}, c.fail(CodeInvalid, "to", err)
	}
	from, err := a.locate(ctx, c.key)
	if err == nil && from.isNothing() {
		err = inspect.ErrNothing
	}
	if err != nil {
		return State{}, c.of(err)
	}
	if !from.has(to) {
		if err := a.claim(ctx, c, from, to); err != nil {
			return State{}, err
		}
	}
	result, err := a.act(ctx, "move", &engine.Request{Key: from.key, Op: engine.AdoptName, Name: to, Moves: true})
	if err != nil {
		return State{}, c.of(err)
	}
	return stateOf(result.Key, *result.Record), nil
}

// claim makes a name an alias that is to be the key. The claim comes first: from then on
// whoever sees it and finds that the name leads here finishes the move.
func (a *App) claim(ctx context.Context, c call, from located, to string) error {
	if err := a.submit(ctx, from.key, engine.Request{Op: engine.ClaimName, Name: to}); err != nil {
		return c.of(err)
	}
	name := store.Key{Bot: c.key.Bot, Conversation: to}
	result, err := a.node.Submit(ctx, &engine.Request{Key: name, Op: engine.LeadName, Name: from.key.Conversation, Fresh: true})
	switch {
	case err != nil:
		return c.of(err)
	case result.Reason == turn.NameTaken:
		if err := a.submit(ctx, from.key, engine.Request{Op: engine.ClaimName}); err != nil {
			return c.of(err)
		}
		return c.fail(CodeConflict, "to", errors.New("there is a conversation of this name, or the name leads to another one; delete that conversation, free the name, or take another one"))
	}
	return nil
}

// submit makes a request whose result is not wanted.
func (a *App) submit(ctx context.Context, key store.Key, r engine.Request) error {
	r.Key = key
	_, err := a.node.Submit(ctx, &r)
	return err
}

// beginAlias is begin for a call about a name.
func (a *App) beginAlias(op, bot, alias string) (call, error) {
	c, err := a.begin(op, bot, alias)
	var known *Error
	if errors.As(err, &known) && known.Field == "conversation" {
		known.Field = "alias"
	}
	return c, err
}

// located is where a conversation lies in the store, and its record.
type located struct {
	key      store.Key
	snapshot store.Snapshot
}

// name is the key by which the conversation is shown.
func (l located) name() string { return l.snapshot.Record.Name(l.key.Conversation) }

// has reports whether a name leads to the conversation.
func (l located) has(name string) bool {
	return name == l.key.Conversation || l.snapshot.Record.Names.Lists(name)
}

// isNothing reports whether nothing was ever received there.
func (l located) isNothing() bool { return !l.snapshot.Record.Exists() || l.snapshot.Record.Empty() }

// locate finds the conversation to which a name leads. It costs a second read where the
// name is an alias. A move that somebody did not live to finish is finished here.
func (a *App) locate(ctx context.Context, key store.Key) (located, error) {
	found, err := a.load(ctx, key)
	if to := found.snapshot.Record.LeadsTo; err == nil && to != "" {
		found, err = a.load(ctx, store.Key{Bot: key.Bot, Conversation: to})
	}
	claim := found.snapshot.Record.Names.Claim
	if err != nil || claim == "" {
		return found, err
	}
	name, err := a.load(ctx, store.Key{Bot: key.Bot, Conversation: claim})
	if err != nil || name.snapshot.Record.LeadsTo != found.key.Conversation {
		return found, err
	}
	result, err := a.node.Submit(ctx, &engine.Request{Key: found.key, Op: engine.AdoptName, Name: claim, Moves: true})
	if err == nil {
		found.snapshot.Record = *result.Record
	}
	return found, err
}

func (a *App) load(ctx context.Context, key store.Key) (located, error) {
	snapshot, err := a.store.Load(ctx, key)
	return located{key, snapshot}, err
}
