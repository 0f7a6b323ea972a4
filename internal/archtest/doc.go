// Package archtest holds the tests that keep the shape of this repository: which
// package may import which, that each package says what it is for, that no test
// sleeps, that docs/architecture.md names files and identifiers that exist, and
// which modules the command links. It has no code of its own, and nothing imports
// it.
package archtest
