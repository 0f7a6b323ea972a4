package onereply

import (
	"errors"
	"fmt"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/inspect"
	"github.com/onereply/onereply/store"
)

// Code is the kind of an error: it tells a caller how to react. The set is closed.
type Code string

// The codes of an [Error].
const (
	// CodeInvalid: the input is at fault, and [Error].Field says which part. Nothing was
	// stored, and a repeat fails again.
	CodeInvalid Code = "invalid"

	// CodeNotFound: there is no such bot, conversation or message.
	CodeNotFound Code = "not_found"

	// CodeConflict: the state does not allow it, such as a seal that comes too late.
	CodeConflict Code = "conflict"

	// CodeUnavailable: the store is out of reach, the node is closing, or ctx ended. Try
	// again later, with the same ID.
	CodeUnavailable Code = "unavailable"

	// CodeUnknown: nobody knows whether a human's reply was stored. Look at the
	// transcript before you send it again.
	CodeUnknown Code = "unknown"

	// CodeNewer: a newer version of the program wrote this conversation. This node leaves
	// it alone until the node is upgraded.
	CodeNewer Code = "newer"

	// CodeCorrupt: the stored data is damaged. Nothing of it is changed, and trying again
	// does not help: onereply doctor says what is wrong.
	CodeCorrupt Code = "corrupt"

	// CodeTooMany: a limit of this conversation is reached. Try again later.
	CodeTooMany Code = "too_many"
)

// Error is the error of every method of [App] that names a bot or asks for a list.
type Error struct {
	Code Code

	// Op is the call: "receive", "edit", "list", …
	Op string

	// Bot and Conversation are those of the call; "" where it names none.
	Bot          string
	Conversation string

	// Field is the part of the input that is at fault, by its JSON name; "" where none
	// is.
	Field string

	// Err is the cause, in words for the caller.
	Err error
}

// Error says what failed, where, and why.
func (e *Error) Error() string {
	text := e.Op
	if e.Bot != "" || e.Conversation != "" {
		text += fmt.Sprintf(" %q/%q", e.Bot, e.Conversation)
	}
	if e.Field != "" {
		text += ": " + e.Field
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// call is one call of the API, for its errors.
type call struct {
	op  string
	key store.Key
}

func (c call) fail(code Code, field string, err error) error {
	return &Error{Code: code, Op: c.op, Bot: c.key.Bot, Conversation: c.key.Conversation, Field: field, Err: err}
}

// of gives an error of the runtime, the engine, the store or a context its code. No other
// place translates an inner error for callers.
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
