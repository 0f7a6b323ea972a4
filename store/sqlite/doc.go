// Package sqlite is the embedded store: one SQLite file, for one process, and
// the default where nothing else is configured.
//
// Its one job is to carry out package store's contract on that file. One
// goroutine writes. It takes all writes that wait, applies them in the order of
// their arrival in one transaction, and answers each when that transaction is
// on the disk, so that many callers share one fsync. Reads go through a few connections of
// their own and see the last finished transaction.
//
// Read the files in this order:
//
//	schema.sql     the tables, which a person can read with sqlite3 too
//	schema.go      making the tables, and the refusal of newer files
//	store.go       opening and closing
//	lock*.go       one process at a time
//	queue.go       writes that wait
//	writer.go      the transaction that they share, and what happens if it fails
//	commit.go      Commit, the compare-and-swap
//	recent.go      what need not be read for it
//	transcript.go  what a commit does to ids and entries, and Entries
//	timers.go      Claim and Due
//	readers.go     connections that only read
//	list.go        Load, List and Sweep
//	remove.go      Delete and Expire
//	connection.go  prepared statements
//	log.go         the write-ahead log as a file
//	errors.go      what a failure means, and what to do about it
//
// The driver is github.com/ncruces/go-sqlite3, SQLite itself translated to Go:
// no C compiler is needed. The writer is the only goroutine; it starts in [Open]
// and ends in [Store.Close]. The clock is time.Now. So the store works in a
// testing/synctest bubble.
//
// The package must never import the engine, a responder or a channel.
package sqlite
