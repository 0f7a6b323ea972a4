package bench

import (
	"os"
	"syscall"
)

func syncData(file *os.File) error { return syscall.Fdatasync(int(file.Fd())) }
