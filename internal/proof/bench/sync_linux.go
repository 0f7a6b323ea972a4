package bench

import (
	"errors"
	"os"
	"syscall"
)

func syncData(file *os.File) error {
	for {
		err := syscall.Fdatasync(int(file.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

func syncNames(folder *os.File) error { return folder.Sync() }
