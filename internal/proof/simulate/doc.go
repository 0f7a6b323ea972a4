// Package simulate runs the shipped engine in a world made of nothing but a
// seed: one thread, virtual time, a store behind links that delay, lose and
// lie about answers, nodes that crash, freeze and come back, a model and a
// channel that fail, and people who write as people do.
//
// [engine.Node] does no I/O and has no clock, so this is the second runtime of
// the same code, beside internal/node. What that decides itself, in functions that
// take a store, is run here too (remote.go). An onlooker keeps a ledger of what a
// person would see, and judges the promise P1 to P7 by it.
//
// A run comes from a [Plan]: a list of what people do and what breaks. All
// else is drawn from a hash of the seed and of what the number is for, so a
// plan without one of its events plays the rest as before. That is how a
// failing seed is cut down to a few lines.
//
// Read the files in this order:
//
//	simulate.go      many runs: options, and what they add up to
//	report.go        that for people
//	settings.go      what a seed makes of bots, nodes and durations
//	dice.go          numbers, drawn for a purpose
//	plan.go          what happens, drawn from a seed
//	typists.go       how people write
//	faultkinds.go    what breaks
//	timeline.go      virtual time, and the queue of what will happen
//	world.go         one run
//	node.go          a process: the runtime around an engine.Node
//	remote.go        functions of the runtime that the simulation runs
//	link.go          its way to the store, and what it reads there
//	commit.go        what it writes there, and how the store answers
//	model.go         the model
//	channel.go       the channel
//	people.go        requests, and arrivals aimed at an instant
//	ledger.go        what an onlooker remembers
//	acknowledged.go  what people were told, and whether it is so
//	changes.go       what they edited and deleted, in any order
//	judge.go         the promise, checked at each write
//	failedturns.go   the promise, for what is given up
//	history.go       what the model is told of before
//	bots.go          other bots, and how often they are answered
//	poll.go          messages that wait at a platform until a node with that duty fetches them
//	names.go         other names of conversations, and that nothing begins under them until they are freed
//	words.go         the words of people, and what they close
//	holds.go         pauses beside each other, and what ends each
//	talks.go         where a talk ends, and that nothing of it is told
//	sends.go         the promise, checked at each send
//	verdict.go       the promise, checked when all is at rest
//	shrink.go        a failing plan, cut down
//	seededfaults.go  the engine with a fault put in on purpose
//	corefaults.go    faults of the core
//	saidfaults.go    those in words, silence, and what stands in for a reply
//	prove.go         all of them, and which check catches each
//	table.go         the table of them in docs/proof.md
//	protocols.go     the same traffic through the designs that failed
//	picture.go       and a picture of it
//
// The package must never import a server, a responder, a channel or a store
// other than memory.
package simulate
