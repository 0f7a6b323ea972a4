// Package fleet is what nodes tell each other while they run, besides the store
// that they share: hints and events.
//
// A hint says that a conversation changed (hints.go), so that the node that works on
// it looks at once and not only when it renews its lease. Events are what happened,
// for people who watch. A [Broker] keeps the last of them for the watchers of its own
// node, who take them when they can; each node tells the others what its watchers want to
// see (topics.go), and gets only that from them (outgoing.go). Every few seconds a node
// also tells how it is, for the overview (report.go).
//
// All of this is lossy, and nothing that must be true rests on it. It needs a store
// with the optional powers [store.Hinter] and [store.Broadcaster]; on another store a
// node keeps to itself. Payloads come from whoever can reach the store's server, so
// everything in them is checked and bounded.
//
// The package must never import the root, internal/node, a concrete store, a
// responder or a channel.
package fleet
