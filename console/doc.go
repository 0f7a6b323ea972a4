// Package console holds the web pages that come with onereply. Its one job is
// to serve them: plain files that are embedded in the program, need no build
// step, load nothing from elsewhere and run under a strict content security
// policy.
//
// The pages speak to the public HTTP API like any other client. So this
// package must never import the root package, the engine, a store, a
// responder or the server; the standard library is all it needs.
//
// There are two pages. What they share, under web/assets:
//
//	api.js           the calls to the HTTP API
//	events.js        the event stream, and whether it is connected
//	conversation.js  what a page knows: the one place that events change
//	chat.js          the messages and replies
//	lanes.js         what happened, and the sentences that say why
//	timeline.js      what happened when, as a drawing
//	timescale.js     from time to place on that drawing, and back
//	words.js         reasons, times and numbers in words
//	dom.js           the few helpers that touch the document
//	base.css, chat.css, timeline.css
//
// The playground, web/index.html:
//
//	main.js          finds the conversation and wires the parts together
//	outbox.js        a conversation in which the page writes
//	own.js           the person's own messages, which can be changed
//	composer.js      the field to write in, and the buttons that send for you
//	log.js           the events in words
//	beside.js        the demo's settings, and the broken lock beside it
//	origin.js        the design that failed, played again
//	playground.css
//
// The console, web/console/index.html:
//
//	console.js       the frame: the session, the address, the connection
//	overview.js      how it goes, with charts.js and savings.js
//	list.js          the conversations
//	talk.js          one conversation
//	actions.js       what a person can do to it, and the same as command lines
//	attention.js     what needs a person
//	login.js         the way in
//	console.css
//
// The modules lanes, timescale, savings, origin and actions know no document
// when they are loaded; scripttest tests them with plain Node.
package console
