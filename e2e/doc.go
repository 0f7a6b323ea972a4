// Package e2e plays a person at the pages of package console, in a real
// browser. It is a module of its own so that the browser's driver stays out
// of the modules of those who import onereply; nothing imports it.
//
// The tests need Chromium: the one that ONEREPLY_CHROMIUM names, else the one
// found in PATH. Without it they are skipped, and fail where CI is true.
// They run against a small stand-in for the server (backend_test.go); where
// ONEREPLY_E2E_URL names a running server with a bot "demo", as "onereply
// demo" starts one, they run against that. The accessibility rules of axe-core
// are checked after "npm ci" in this folder.
package e2e
