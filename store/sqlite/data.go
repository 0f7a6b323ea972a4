package sqlite

import (
	"errors"
	"os"
)

// dataFile is a file whose Sync brings its contents to the disk, and of what
// describes them only what is needed to read them.
type dataFile struct{ *os.File }

func (f dataFile) Sync() error { return syncData(f.File) }

// syncFolder makes sure that a file that was made in it is found after a crash.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncNames(folder), folder.Close())
}
