// Package engine is the shell around the turn core: it decides what one node
// reads, writes, runs and sends, and when.
//
// A [Node] is single-threaded and does no I/O: whoever runs it tells it what
// happened (a request came, a write was answered, a responder returned, time
// passed) and carries out the [Output] that it asks for. It has no clock and
// no randomness but what is handed in, so the same code runs under the real
// runtime, which is the root package, and under the deterministic simulation.
//
//	node.go          what comes in, and the options
//	output.go        what goes out
//	conversation.go  one conversation in memory: load, apply, write, settle
//	apply.go         requests become events of the core, and entries
//	work.go          leases: attempts and sends under way on this node
//	ready.go         who may generate next: fair between bots
//	schedule.go      the timers that this node armed, and claims of others'
//	prompt.go        what an attempt holds, and what came before
//	event.go         what happened, for whoever wants to know
//	counters.go      the same as numbers
//
// The store is the truth for everybody; what a Node remembers is a cache whose
// every use is checked by the store's compare-and-swap. The package must never
// import a concrete store, a responder or a channel.
package engine
