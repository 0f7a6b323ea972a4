// Package console holds the web pages that come with onereply. Its one job is
// to serve them: plain files that are embedded in the program, need no build
// step, load nothing from elsewhere and run under a strict content security
// policy.
//
// The pages speak to the public HTTP API like any other client. So this
// package must never import the root package, the engine, a store, a
// responder or the server; the standard library is all it needs.
//
// The playground is the first page. Its files, under web/assets:
//
//	main.js          finds the conversation and wires the parts together
//	api.js           the calls to the HTTP API
//	events.js        the event stream, and whether it is connected
//	conversation.js  what the page knows: the one place that events change
//	words.js         an event as a sentence
//	chat.js          the messages and replies
//	composer.js      the field to write in, and the buttons that send for you
//	log.js           the events in words
//	timeline.js      what happened when, as a drawing
//	timescale.js     from time to place on that drawing
//	dom.js           the few helpers that touch the document
//	base.css         colours, type and controls, for every page
//	playground.css   this page's own layout
package console
