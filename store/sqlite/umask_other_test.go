//go:build !unix

package sqlite

import "testing"

func withoutUmask(t *testing.T) { t.Skip("this system has no umask") }
