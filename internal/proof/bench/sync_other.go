//go:build !linux

package bench

import (
	"os"
	"runtime"
)

func syncData(file *os.File) error { return file.Sync() }

// syncNames does nothing on Windows, where a folder can't be synced.
func syncNames(folder *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return folder.Sync()
}
