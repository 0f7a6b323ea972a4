// Package maintenance looks after what a store holds: it examines every conversation
// for what can't be, mends what can be mended without guessing, and copies one
// store into another.
//
// Its one job is to do so through the contract of package store alone, so that
// it works with every store, and while nodes run. Read the files in this order:
//
//	transcript.go  what has to be known of a conversation's entries
//	rules.go       what holds for every conversation
//	mend.go        what can be put right, and how
//	doctor.go      the sweep: looking twice before something is a finding
//	copy.go        from one store into another, conversation by conversation
//	verify.go      that both hold the same
//	workers.go     several conversations at once
//
// The package must never import a concrete store, the engine or a responder.
package maintenance
