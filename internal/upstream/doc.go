// Package upstream posts JSON to one other program, a model or a webhook, and reports
// the outcome.
//
// Its one job is the part that all of these calls share: a transport with bounds, no
// redirects, no repeats, an end to silence, bounded reads, and errors told apart. The
// meaning of a request or an answer belongs to the callers. It must never import a
// responder, a channel, a store or the engine.
//
// The files: endpoint.go the address and the request, answer.go the answer, errors.go and
// classify.go the errors of responders, detail.go and retryafter.go how an answer words
// a refusal, text.go the reply that grows, problems.go mistakes of a configuration.
//
// The way of a call: [Endpoint.Post], or [Endpoint.Ask] for responders, sends the body
// once and returns as soon as the headers of the answer are there. The caller looks at
// the status, reads the [Answer] as one document or as a stream of events, and closes it.
// Nothing is repeated here, because a repeat is a decision: a model costs money, and a
// second delivery may be seen. The engine decides it, after it has checked that the turn
// is still current.
package upstream

import "time"

// Bounds of every call. The whole of it is bounded by its context. The bot's time-outs
// set that context; the bounds here protect memory and connections.
const (
	maxErrorBytes   = 64 << 10 // read of the body of a refusal
	errorTime       = 2 * time.Second
	maxExcerptRunes = 300     // shown of it
	MaxEventBytes   = 1 << 20 // of one event of a stream
	MaxAnswerBytes  = 4 << 20 // of an answer that is not streamed
	MaxRetryAfter   = 24 * time.Hour

	connectTimeout = 10 * time.Second
	idleConnection = 60 * time.Second // how long a connection is kept for the next call
	pingAfter      = 15 * time.Second // silence on an HTTP/2 connection before it is probed
	maxHeaderBytes = 64 << 10
	maxIdle        = 64
	drainBytes     = 4 << 10
	drainTime      = 100 * time.Millisecond
)
