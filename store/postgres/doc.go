// Package postgres is the store for several nodes on one PostgreSQL server,
// version 13 or later.
//
// Its one job is to carry out package store's contract there. Each call is one
// statement in a transaction of its own, so a commit is one round trip, no lock is
// held between two calls, and no session has a state: it works through a
// transaction-pooling proxy too. What takes several steps is a function in the
// database.
//
// Read the files in this order:
//
//	schema.sql     the tables, and the functions with the races that they close
//	schema.go      creates the schema once, and refuses a newer one
//	options.go     settings, and what the URL may say
//	store.go       opening, what the server guarantees, closing
//	call.go        a call: a connection, a statement, an error that says enough
//	commit.go      Commit, the compare-and-swap
//	group.go       writes that share a round trip and a transaction
//	append.go      what a commit appends, and the ids that it claims
//	encode.go      the rest of what it says, and what it may not say
//	transcript.go  Entries
//	timers.go      Claim, Due and the clock
//	list.go        Load, List and Sweep
//	remove.go      Delete and Expire
//	hint.go        telling other nodes, many changes at once
//	listen.go      hearing from them
//	errors.go      what a failure means, and what to do about it
//
// The package must never import the engine, a responder or a channel.
package postgres
