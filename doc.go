// Package onereply gives every burst of messages exactly one reply, a current
// one: however fast a person types, however often a message is delivered
// again, and whichever process dies.
//
// A program opens a store, names its bots (a function that answers and a
// function that sends) and hands over what it receives; see the example of
// [Open]. All messages that wait become one prompt. A reply that newer input has
// overtaken is discarded and answered afresh. What is promised, and what is
// not, is in docs/guarantee.md.
//
// # Words
//
// A conversation has the name of a bot and a name that the program chooses, such as a
// chat's; its messages are answered together. An input is a message, or its edit or deletion.
// A turn is all the work for one reply: the quiet time in which messages are
// collected, one or more attempts of the responder, and the sending. A node is one
// [App]. Several nodes may share a store; each takes any message, and carries on the work
// that another one left.
//
// # Times and errors
//
// Durations and moments have milliseconds; moments are by the store's clock. Methods
// that name a bot return an [*Error] with a [Code]. An error of a method that changes
// something may come after it was stored: a repeat with the same message ID is safe,
// and [CodeUnknown] marks the one case where it is not.
package onereply
