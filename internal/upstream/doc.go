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
package upstream

import "time"

// Bounds of every call. The whole of it is bounded by its context.
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
