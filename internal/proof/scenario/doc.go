// Package scenario plays stories of what goes wrong between people, providers,
// workers, models and channels, and checks that each ends as it should.
//
// A story is one line of a JSON file: a configuration, events at their times,
// and what to expect. One general player plays them all: real nodes (engine,
// store, HTTP API, responder and channel, configured through server/config)
// talk real HTTP, over connections in memory, to a fake model and a fake
// receiver. It must run inside a testing/synctest bubble, so that an hour of a
// story takes milliseconds, and an instant is exact.
//
// The stores are those in this process, or PostgreSQL and Redis on real servers:
// their calls run outside of the bubble, whose time waits for them.
//
// The files: scenario.go what a story is, features.go what can't be played
// yet, settings.go its configuration; player.go and timeline.go how it is
// played, people.go, seed.go and viewer.go who writes and who watches; world.go,
// node.go, network.go, gate.go, faultstore.go,
// outside.go, model.go and receiver.go the
// world that it is played in, rulebook.go and hooks.go what goes wrong there;
// ledger.go what was seen, expect.go and rules.go what must hold.
//
// What a feature needs beyond the words of an event stands in general ones: "bot" sets
// any key of the bot, a "call" is any call of the API, and a text may be "plain". Our own
// stories are in testdata/own-*.jsonl; scenarios_test.go lists those that do not hold yet.
//
// It is for tests only, and nothing else may import it. No story is treated
// differently from another by its name.
package scenario
