// Package postgres is the store for several nodes on one PostgreSQL server,
// version 13 or later.
//
// Its one job is to carry out package store's contract there. A commit is one call of
// a function in the database, and all commits that wait at the same time share one
// round trip and one transaction. Every other call is one statement in a transaction of
// its own; Expire alone is several. So no lock is held between two calls, and no call
// relies on the state of a session: with hints=off the store works through a
// transaction-pooling proxy too.
//
// A node uses a pool of connections, 16 by default, and one more on which it listens.
// Where all connections of the pool are in use, calls wait for one until their contexts
// end. The store itself sets no time limit on a call.
//
// Read the files in this order:
//
//	schema.sql     the tables, and the functions with the races that they close
//	schema.go      creates the schema once, and refuses a newer one
//	options.go     settings, and what the URL may say
//	store.go       opening, the guarantees of the server's settings, closing
//	rights.go      a user that lacks a right is refused at the start
//	query.go       a call: a connection, a statement, an error that says enough
//	commit.go      Commit, the compare-and-swap
//	group.go       writes that share a round trip and a transaction
//	append.go      what a commit appends, and the ids that it claims
//	encode.go      the rest of a write, and what PostgreSQL can't keep
//	transcript.go  Entries
//	timers.go      Claim, Due and the clock
//	list.go        Load, List and Sweep
//	remove.go      Delete and Expire
//	hint.go        hints to other nodes, many changes in one NOTIFY
//	listen.go      receiving what other nodes send
//	broadcast.go   messages between nodes, in parts that fit a NOTIFY
//	errors.go      what a failure means, and what to do about it
//
// The package must never import the engine, a responder or a channel.
package postgres
