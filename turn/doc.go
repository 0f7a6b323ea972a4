// Package turn decides what happens to a conversation: when its waiting inputs
// are answered, by whom, and whether a finished reply is still the right one.
//
// [Step] is a pure function of a [Record], an [Event], a time and a [Policy].
// It has no I/O, no clock, no goroutine and no randomness but what the event
// brings. Everything else in this module carries out what Step decides or
// stores what it returns. The model checker explores this very code, so the
// proof is of the program that ships.
//
// Read the files in this order; they follow the life of a turn:
//
//	record.go          what is remembered of a conversation, and its next wake-up
//	event.go           what can happen, and the policy
//	effects.go         what Step asks its caller to do
//	step.go            the dispatch, and the guards that all events share
//	window.go          inputs arrive: the debounce window
//	waiting_bytes.go   how many bytes may wait
//	daily_budget.go    how often a bot may call its model in a day
//	never_answered.go  messages that are context only
//	bot_turns.go       messages of other bots
//	early_edit.go      edits and deletions that come before their message
//	early_start.go     an attempt may begin before the end of the window
//	attempt.go         a worker takes the lease and runs the responder
//	commit.go          the final check: commit or discard
//	send.go            the reply is delivered
//	signs_of_life.go   people are told that it takes longer
//	stop.go            a person wants no answer any more
//	refused.go         a prompt that the model refuses, and the search for the message
//	culprit.go         a message that brings down its workers, and how that is proved
//	set_aside.go       messages that nobody can answer, and how they come back
//	control.go         people step in: flush, pause, resume, a human's reply
//	reset.go           a fresh start: a history that begins anew
//	names.go           one conversation under several names
//	unconfirmed.go     replies that may not have arrived, and what people do about them
//	receipt.go         what channels say of a reply after they have taken it
//	duty.go            a job that one node at a time does
//	invariant.go       what holds after every step
//
// Two rules hold the rest up. There is work if and only if there is a wake-up:
// [Record.Wake] is a pure function of the record, and a store keeps its value
// in a namespace of its own. And state is the truth while effects are hints:
// an effect that is lost to a crash costs time, never meaning, because the
// next wake-up finds the state that asked for it.
//
// The package imports the standard library only, and of that neither time.Now,
// nor context, sync or math/rand.
package turn
