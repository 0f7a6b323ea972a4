//go:build !darwin && !linux

package sqlite

import "os"

// lockInode does nothing: these systems have no lock on a file that would not be in the
// way of SQLite's own. There a file is locked under one name only.
func lockInode(*os.File) error { return nil }
