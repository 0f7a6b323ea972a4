//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processorTime is what this process has used so far. Where other programs are
// busy beside it, it tells more than the time that passed.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
