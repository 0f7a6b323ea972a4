package onereply

import (
	"errors"
	"fmt"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/inspect"
	"github.com/onereply/onereply/store"
)

// Code says what kind of mistake an [Error] is. The set is closed.
type Code string

// The codes.
const (
	CodeInvalid     Code = "invalid"     // the input is at fault; nothing was stored
	CodeNotFound    Code = "not_found"   // no such bot, conversation or message
	CodeConflict    Code = "conflict"    // the state does not allow it (a seal that comes too late, a trouble that is none)
	CodeUnavailable Code = "unavailable" // the store is out of reach, or the node is closing: try again later
	CodeUnknown     Code = "unknown"     // nobody knows whether a human's reply was stored: look at the transcript before you send it again
	CodeNewer       Code = "newer"       // a newer version of the program wrote what is stored: this node leaves it alone until it is upgraded
	CodeCorrupt     Code = "corrupt"     // what is stored is not what was written: nothing is changed of it, and it does not get better by itself
	CodeTooMany     Code = "too_many"    // a limit of this conversation is reached: try again later
)

// Error is what those methods of [App] return that name a bot, and
// [App.Conversations].
type Error struct {
	Code         Code
	Op           string // "receive", "edit", …
	Bot          string
	Conversation string
	Field        string // the part of the input that is at fault, where one is
	Err          error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %q/%q: %v", e.Op, e.Bot, e.Conversation, e.Err)
}
func (e *Error) Unwrap() error { return e.Err }

// call is one call of the API, for its errors.
type call struct {
	op  string
	key store.Key
}

func (c call) fail(code Code, field string, err error) error {
	return &Error{Code: code, Op: c.op, Bot: c.key.Bot, Conversation: c.key.Conversation, Field: field, Err: err}
}

// of gives an error of the runtime, the engine, the store or a context its code. This
// is the whole policy: no other place decides what an error inside means outside.
func (c call) of(err error) error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, inspect.ErrNothing):
		return c.fail(CodeNotFound, "conversation", err)
	case errors.Is(err, store.ErrCursor):
		return c.fail(CodeInvalid, "cursor", err)
	case errors.Is(err, engine.ErrNotFound):
		return c.fail(CodeNotFound, "", err)
	case errors.Is(err, engine.ErrOutcomeUnknown):
		return c.fail(CodeUnknown, "", err)
	case errors.Is(err, store.ErrNewerSchema):
		return c.fail(CodeNewer, "", err)
	case errors.Is(err, store.ErrCorrupt):
		return c.fail(CodeCorrupt, "", err)
	case errors.Is(err, engine.ErrTooMany):
		return c.fail(CodeTooMany, "", err)
	}
	// The store is out of reach, the node is closing, or the caller's context ended.
	return c.fail(CodeUnavailable, "", err)
}
