// Package engine is the shell around the turn core: it decides what one node
// reads, writes, runs and sends, and when.
//
// A [Node] is single-threaded and does no I/O. Its runtime tells it what happened
// (a request came, a write was answered, a responder returned, time passed) by
// calling a method, and carries out the [Output] that the node then asks for. The
// node has no clock and no randomness but what is handed in, so the same code runs
// under the real runtime and under the deterministic simulation.
//
// # The life of a request
//
// Follow one message through the files:
//
//  1. [Node.Submit] (node.go) wraps the [Request] in a task and puts it into the queue
//     of its conversation (request.go).
//  2. The conversation is pumped (conversation.go). At most one call of the store is
//     under way for it at a time; what arrives meanwhile waits, and shares the next
//     write. Where the record is not in memory, it is read first.
//  3. All tasks that wait are applied to the record, one on top of the other, by
//     turn.Step (apply.go; edit.go and reply.go for what changes the transcript). That
//     gives one batch: a new record, entries, actions and events (write.go).
//  4. The batch is written in one [Commit], which expects the record that it started
//     from. The store's answer is one of four (write.go):
//     applied: go on with 5.
//     conflict: another node wrote first; apply the same tasks to its record.
//     duplicate: a message's id was claimed before; apply the tasks again, knowing that.
//     an error: nobody knows; find out first (earlier_writes.go).
//  5. Only now that the write is durable, callers get their [Answer], events are told
//     and counted (event.go, counters.go), and actions carried out (work.go). The timer
//     of the record is armed (timers.go).
//  6. When the timer fires, the conversation queues for one of the node's generations
//     (wake.go; ready.go shares them out fairly between bots, lone.go gives one all of
//     them). Its wake-up is a task like any other, and takes the lease in its write.
//  7. The attempt reads its prompt and runs the responder (attempt.go, prompt.go). Its
//     lease is renewed meanwhile (lease.go). Its result is a task again: the write that
//     commits the reply, or throws it away.
//  8. The parts of the reply are sent one by one, each result a task (send.go).
//
// Besides, a node looks for due timers that nobody acts on, because the node that
// armed them is gone (claims.go), and notes messages that were delivered again
// (repeat.go).
//
// The store is the truth for everybody. What a Node remembers is a cache whose
// every use is checked by the store's compare-and-swap. The package must never
// import a concrete store, a responder or a channel.
package engine
