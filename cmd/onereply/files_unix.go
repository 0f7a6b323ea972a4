//go:build unix

package main

import "syscall"

// openFiles is how many files this process may open, 0 where nobody knows. The runtime has
// raised the soft limit to the hard one.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur)
}
