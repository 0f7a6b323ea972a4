// Package testservers starts real database servers for tests: private ones, on
// a free port of the loopback interface, in a temporary folder that goes with
// them.
//
// Its one job is to hand out addresses. One server of a kind serves all tests of
// a test binary, and each test gets a database of its own there; a test that
// wants to stop and restart a server starts one for itself. A package that uses
// it has
//
//	func TestMain(m *testing.M) { testservers.Main(m) }
//
// which stops the shared servers at the end. They also end by themselves when the
// test binary is killed. Where a server is not installed the test is skipped; it
// fails if CI is set to "true".
//
// The package is for tests only. It must never import a store or the engine.
package testservers
