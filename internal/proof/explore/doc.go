// Package explore walks through every interleaving of a small closed world
// around the real [turn.Step], breadth first, and checks the promise in each
// state: one reply, current, answered, nothing lost, single flight, timers of
// their own, delivery in order (P1 to P7).
//
// The world is two workers that act as the engine does, one conversation in a
// store, a channel that keeps everything a person would see, and people who write.
// Nothing in it is random: whatever can happen is a [move], and all of them
// are tried. Faults are moves too; a [Scope] says how many of each kind may
// happen on one path, which keeps the world finite. Two states that differ
// only in what can no longer matter (absolute times, numbers that were given
// out) are one state, see hash.go.
//
// Read the files in this order:
//
//	scope.go    what may happen, how often, under which policies
//	world.go    what there is: a store, two workers, people, a ledger
//	store.go    the store: compare-and-swap, transcript, timer
//	request.go  what a worker is asked to do, as an event of package turn
//	worker.go   load, Step, commit; and what follows from a committed step
//	moves.go    everything that can happen next
//	people.go   moves: inputs and operators
//	attempt.go  moves: wake-ups, results of the responder, sends, crashes
//	ledger.go   what an onlooker remembers in order to judge
//	check.go    P1 to P7
//	endings.go  P3 for who watches: each turn ends once
//	quiescence.go  with faults stopped, every state must come to rest
//	hash.go     when two states are one
//	names.go    another world: names that lead to conversations
//	duty.go     a third one: a job that one node at a time does
//	search.go   the walk
//	report.go   its numbers, and the shortest sequence to a violation
//
// The package must never import the engine, a store, a responder or a channel:
// it judges the core alone.
package explore
