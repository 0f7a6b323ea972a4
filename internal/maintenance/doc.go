// Package maintenance is what onereply doctor and onereply copy do: it checks every
// conversation of a store against rules that always hold, repairs what can be repaired
// without guessing, and copies one store into another.
//
// It uses nothing but the contract of package store, so it works with every store, and
// the doctor may run beside nodes. It needs no lock for that: each of its writes is a
// compare-and-swap, as those of a node are, so it can't overwrite a change that it has
// not seen. Read the files in this order:
//
//	transcript.go  what has to be known of a conversation's entries
//	rules.go       what holds for every conversation
//	mend.go        what can be put right, and how
//	doctor.go      the sweep: looking twice before something is a finding
//	unserved.go    bots that have work and no node
//	copy.go        from one store into another, conversation by conversation
//	verify.go      that both hold the same
//
// The package must never import a concrete store, the engine or a responder.
package maintenance
