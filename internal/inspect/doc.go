// Package inspect answers the questions of people about a store full of conversations:
// which there are, which need attention, who did what, what happened turn by
// turn, and what the nodes do.
//
// Each question is a function that takes the store, the time and the settings that
// it needs, reads, and returns the facts as they are stored: keys, records, times of
// the store. Nothing here writes, wakes a node or changes what a turn will do, so
// every answer may be a little old, and none of them decides anything.
//
// Lists are read in pages. A page ends where its limit is reached, or where enough
// was read for one call; its cursor goes on from there, and is empty at the end. A
// cursor is the caller's to keep: nothing is remembered between two pages.
//
// The questions, each in a file of its own:
//
//	list.go       which conversations there are, with a search and a preview
//	attention.go  which of them need somebody, and why
//	overdue.go    which of them a node should have acted on long ago
//	audit.go      who did what
//	timeline.go   what happened in a conversation, turn by turn
//	overview.go   what the nodes do; it reads their reports, and nothing of the store
//
// The package must never import the root, which turns the answers into the types of
// the API, nor a concrete store, a responder or a channel.
package inspect
