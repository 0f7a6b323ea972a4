package sqlite

import (
	"errors"
	"syscall"
)

// isFull reports whether err says that the disk is full.
func isFull(err error) bool {
	const (
		handleDiskFull = syscall.Errno(39)
		diskFull       = syscall.Errno(112)
	)
	return errors.Is(err, handleDiskFull) || errors.Is(err, diskFull)
}
