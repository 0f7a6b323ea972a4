//go:build !unix

package main

// openFiles is 0: these systems have no limit of a process on open files that a node
// would meet.
func openFiles() uint64 { return 0 }
