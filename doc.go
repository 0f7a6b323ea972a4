// Package onereply gives every burst of messages exactly one reply, a current
// one: however fast a person types, however often a message is delivered
// again, and whichever process dies.
//
// A program opens a store, names its bots (a function that answers and a
// function that sends) and hands over what it receives; see the example of
// [Open]. All that waits becomes one prompt. A reply that newer input has
// overtaken is discarded and answered afresh. What is promised, and what is
// not, is in docs/guarantee.md.
//
// This package is what a program uses; internal/node does the work. The package
// must never import the server, the console, a command or a concrete store.
package onereply
