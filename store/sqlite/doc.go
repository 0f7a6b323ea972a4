// Package sqlite is the embedded store: one SQLite file, for one process, and
// the default where nothing else is configured.
//
// Its one job is to carry out package store's contract on that file. It never
// imports the engine, a responder or a channel.
//
// # The way of a commit
//
//  1. [Store.Commit] or [Store.CommitLater] makes the JSON of the write, on the
//     caller's goroutine, and adds a task to the queue (commit.go, encode.go,
//     queue.go).
//  2. The one goroutine that writes takes all tasks that wait: a batch. It applies
//     them in the order of their arrival in one transaction (writer.go).
//  3. Applying a write compares the record that is there with the one that the
//     write expects, and either replaces it, with its timer and transcript, or finds
//     a conflict or a repeated message id (apply.go, transcript.go, conflict.go).
//  4. COMMIT appends the changed pages to the write-ahead log and syncs it. From then
//     on the batch survives a loss of power, and readers see it.
//  5. Each task of the batch is told the outcome, again in the order of arrival.
//
// So one sync serves many writes: group commit. While one batch is synced, the next
// one gathers in the queue.
//
// # Reads
//
// They go through a few connections of their own and see the last transaction that
// was committed. They wait for no write, and no write waits for them.
//
// # Files
//
//	options.go     settings
//	open.go        finding the file, making it, locking it (lock*.go)
//	files.go       the file that was opened is the one that is there
//	schema.sql     the tables, which a person can read with sqlite3 too
//	schema.go      making the tables, refusing the files of newer programs
//	store.go       the Store and how it closes
//	commit.go      Commit and CommitLater
//	encode.go      a write as it waits: with its JSON
//	queue.go       writes that wait
//	writer.go      the transaction that they share, and what happens if it fails
//	apply.go       the compare-and-swap
//	conflict.go    what a write is told that expected another record
//	transcript.go  what a write does to message ids and entries
//	timers.go      Claim and Due
//	list.go        Load, List and Sweep
//	entries.go     Entries
//	delete.go      Delete
//	erase.go       what was deleted is gone from the files too
//	gaps.go        and from the parts of the pages that are not in use
//	expire.go      Expire
//	readers.go     connections that only read
//	connection.go  one connection and its prepared statements
//	wal.go         the write-ahead log as a file
//	panic.go       a panic of the driver is an error
//	errors.go      what a failure means, and what to do about it
//
// The driver is github.com/ncruces/go-sqlite3, SQLite itself translated to Go:
// no C compiler is needed. The writer is the only goroutine; it starts in [Open]
// and ends in [Store.Close]. The clock is time.Now. So the store works in a
// testing/synctest bubble.
package sqlite
