//go:build !windows

package sqlite

import (
	"errors"
	"syscall"
)

// isFull reports whether err says that the disk, or this user's part of it, is
// full.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
