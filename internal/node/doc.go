// Package node is the runtime around an [engine.Node]: it carries out, with
// goroutines and real I/O, what the engine decides.
//
// The engine is single-threaded. One goroutine, the loop (loop.go), owns it:
// everything that happens reaches the engine as a task of the loop, in order of
// arrival, and the loop performs each output that the engine asks for. The loop
// never waits for anything but its next task, its timer or the end of the node.
// Whatever takes time runs in a goroutine of its own and ends by posting its
// result as a task:
//
//	commits, deletions, claims   one goroutine each, or the store's own (perform.go)
//	reads of conversations       at most maxLoads, first come first served (loads.go)
//	responders and senders       one each, with a context that a Stop ends (work.go)
//	maintenance, the clock       one each, for the life of the node (expire.go, clock.go)
//
// All of them belong to the [Node], whose Wait waits for them.
//
// # The way of a message
//
//  1. [Node.Submit] (request.go) posts a task that gives the message to the engine, and
//     waits for the answer.
//  2. The loop runs the task. The engine asks for a Commit, which a goroutine carries
//     out (perform.go); its outcome is the next task.
//  3. The engine then asks for an Answer, which ends Submit, and arms its timer. The loop
//     sleeps until [engine.Node.NextTick].
//  4. When the timer fires, the engine commits a lease, and asks for the prompt
//     (ReadPrompt in storage.go) and for a Start: the responder runs (work.go).
//  5. Its result (results.go) is a task. The engine commits the reply and asks for a Send:
//     the sender runs (work.go, deliver.go), and its result is a task again.
//
// What the runtime itself decides is in plain functions that take a store and a
// time (storage.go, deliver.go, expire.go, results.go), so that tests and the simulation
// run the same code.
//
// The package must never import the root, a concrete store, a responder or a
// channel: the responder and the sender are functions in [Bot].
package node
