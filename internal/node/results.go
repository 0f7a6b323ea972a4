package node

// How the runtime reads what responders and senders return. All of it is pure.

import (
	"errors"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// AttemptResult makes the engine's result of an attempt from the responder's response;
// from err, if it panicked or did not return; and from the cause of its context's end,
// nil if the context did not end. A fault after that end is a consequence of it, so its
// cause is given as the reason.
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

// sendResult makes the engine's result of a send from the sender's, or from err, if the
// sender panicked or did not return: then nobody knows whether the part was delivered.
func sendResult(o engine.Send, result engine.SendResult, err error) engine.SendResult {
	if err != nil {
		result = engine.SendResult{Err: err.Error()}
	}
	result.Key, result.Nonce, result.Part, result.Entry = o.Key, o.Lease.Nonce, o.Reply.Done, o.Entry
	return result
}
