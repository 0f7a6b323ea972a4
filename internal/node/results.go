package node

// How the runtime reads what responders and senders return. All of it is pure.

import (
	"errors"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// AttemptResult is what the engine learns of an attempt: of what the responder
// returned, of err where it panicked or did not return, and of why its context
// ended, nil where it did not. A fault of a responder whose context ended is a
// consequence of that end, which is therefore given as the reason.
func AttemptResult(response engine.Response, err, cause error) engine.Response {
	if err == nil && (response.Fault == "" || cause == nil) {
		return response
	}
	if cause != nil {
		err = cause
	}
	return engine.Response{Fault: turn.Failure, Reason: "failed: " + err.Error()}
}

// stopped reports whether an attempt whose context ended for a cause was told to
// end. A responder that took too long was not: that is a failure of its own.
func stopped(cause error) bool { return cause != nil && !errors.Is(cause, errNoAnswer) }

// sendResult is what the engine learns of a send: of what the sender said of it,
// or of err where it panicked or did not return; then nobody knows whether the
// part was delivered.
func sendResult(o engine.Send, result engine.SendResult, err error) engine.SendResult {
	if err != nil {
		result = engine.SendResult{Err: err.Error()}
	}
	result.Key, result.Nonce, result.Part, result.Entry = o.Key, o.Lease.Nonce, o.Reply.Done, o.Entry
	return result
}
