// Package redis is a store on Redis 7 or later, or Valkey, for many nodes.
//
// Its one job is to carry out package store's contract there. Each write is one
// script, which the server runs with nothing in between: it checks everything
// before it changes anything. Every conversation belongs to one of a fixed
// number of shards, and all keys of a shard share a hash slot, so the same
// scripts work on a single server and on a cluster. Calls that span shards (Claim,
// Due, List, Sweep, Expire) ask each of them, and merge the answers here.
//
// Read the files in this order:
//
//	keys.go          how a conversation becomes a key, and which shard has it
//	scripts/*.lua    the server's part of each call; each says which race it closes
//	scripts.go       scripts by digest, loaded again after a restart
//	options.go       settings and the URL
//	store.go         opening and closing
//	settings.go      what the server's own settings mean for messages
//	schema.go        schema version and shard count, fixed at creation
//	shard_count.go   all nodes use the same number of shards, even after data was lost
//	commit.go        Commit, the compare-and-swap
//	entries.go       the transcript
//	timers.go        Claim and Due
//	list.go          Load and List
//	attention.go     what needs attention
//	sweep.go         Sweep
//	remove.go        Delete and Expire
//	rights.go        a user that lacks a right is refused at the start
//	hints.go         telling other nodes, lossily
//	broadcast.go     the same for what is no conversation
//	errors.go        what a failure means
//
// The keys of shard N, which all begin with {onereply:N}:
//
//	record:NAME      hash: op, schema, phase, active, last (sequence), attention (1 or empty), record (JSON)
//	entries:NAME     sorted set: the heads of the transcript's entries, by sequence
//	bodies:NAME      hash: sequence → body of an entry, its text among others
//	open:NAME        sorted set: sequences of pending and failed entries
//	settled:NAME     sorted set: sequences of settled entries, by age
//	ids:NAME         hash: claimed message id → sequence and time
//	gone:NAME        sorted set: ids whose entry expired, by age
//	timers           sorted set: conversations by due time
//	all              sorted set: conversations by name, for sweeps
//	list:PHASE:BOT   sorted set: conversations, newest activity first
//	list:attention:BOT  sorted set: those of them that need attention
//	bots             hash: bot → number of its conversations
//	settled, gone    sorted sets: conversations by the oldest in their own set
//	bare             sorted set: idle conversations with nothing left in them
//
// The record is the truth, and commit.lua writes its op last. All other keys of a
// conversation, and its places in the shard's sets, follow from the same write. Somebody
// may still lose a key, by eviction or by hand. Then the scripts go on with the others,
// and refuse only a write that would mix a new conversation with an old transcript.
//
// No key has an expiry: [Store.Expire] removes what is old and nothing else
// does, so a server that evicts keys under memory pressure is refused.
//
// The package must never import the engine, a responder or a channel.
package redis
