package datafile

import (
	"os"
	"testing"
)

func TestWhatIsSyncedIsSaidWhereItFails(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	if err := (File{write}).Sync(); err == nil {
		t.Error("a pipe was synced")
	}
	if err := syncFolder(t.TempDir() + "/missing"); err == nil {
		t.Error("a folder that is not there was synced")
	}
}
