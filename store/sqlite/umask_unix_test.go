//go:build unix

package sqlite

import (
	"syscall"
	"testing"
)

// withoutUmask has a test make files with all the permissions that are asked for. The
// umask is the process's, so no other test may run meanwhile.
func withoutUmask(t *testing.T) {
	t.Helper()
	t.Setenv("ONEREPLY_TEST_UMASK", "0") // fails where tests run in parallel
	old := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(old) })
}
