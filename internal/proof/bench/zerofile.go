package bench

import (
	"errors"
	"os"
	"path/filepath"
)

// zeroFile is a file that is written over and synced often. Its Sync brings its
// contents to the disk, and of what describes them only what is needed to read them.
type zeroFile struct{ *os.File }

// createZeroFile makes a file of zeros, readable for this user only, with all its
// blocks in place, so that a sync need not note that it has grown. It is found after a
// crash. Where it fails nothing is left, because the disk may be full.
func createZeroFile(path string, size int) (zeroFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return zeroFile{}, err
	}
	if _, err = file.Write(make([]byte, size)); err == nil {
		err = errors.Join(file.Sync(), syncFolder(filepath.Dir(path)))
	}
	if err != nil {
		return zeroFile{}, errors.Join(err, file.Close(), os.Remove(path))
	}
	return zeroFile{file}, nil
}

// Sync hides that of [os.File].
func (f zeroFile) Sync() error { return syncData(f.File) }

// syncFolder makes sure that a file that was made in it is found after a crash.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncNames(folder), folder.Close())
}
