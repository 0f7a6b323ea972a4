// Package e2e tests the whole from outside: the page, as a person in a real
// browser meets it, and the program, as processes that are killed, stopped,
// frozen and run out of disk. It is a module of its own so that what it needs
// stays out of the modules of those who import onereply; nothing imports it,
// and it must never import the engine or cmd: it builds the program and talks to
// it over HTTP. Only the tests of several nodes open a store themselves, to look
// at what the nodes left there.
//
// The browser's tests need Chromium: the one that ONEREPLY_CHROMIUM names, else
// the one found in PATH. Without it they are skipped, and fail where CI is true.
// Those of the console (console_…_test.go) run the program. Those of the
// playground run against a small stand-in for the server (backend_test.go); where
// ONEREPLY_E2E_URL names a running server with a bot "demo", as "onereply
// demo" starts one, they run against that. The accessibility rules of axe-core
// are checked after "npm ci" in this folder.
//
// ONEREPLY_E2E_PICTURES names a folder for screenshots of what tests saw;
// "make screenshots" makes those of the documentation.
//
// Tests run side by side, since they mostly wait. Flags say how much they do:
// -kills and -seed for the kill test, -faults and -herd for several nodes, -idle for
// idle conversations, -many for what the console shows.
package e2e
