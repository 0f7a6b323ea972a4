package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/onereply/onereply/store"
)

// smallDisk mounts a file system of 4 MiB in memory.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk; TestAFileThatCannotGrow and TestAWriteThatFailsSaysWhatIsLeft stand in")
	}
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("this machine does not allow a mount (%v); TestAFileThatCannotGrow and TestAWriteThatFailsSaysWhatIsLeft stand in", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return folder
}

func TestAFullDisk(t *testing.T) {
	folder := smallDisk(t)
	s := openAt(t, filepath.Join(folder, "test.db"))
	filler := filepath.Join(folder, "filler")
	write(t, filler, strings.Repeat("x", 2<<20))
	acknowledged := writeUntilFull(t, s)
	for range 3 {
		_, err := s.Commit(t.Context(), fat(acknowledged+1))
		if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "the disk is full") {
			t.Fatalf("Commit: got error %v, want ErrNotApplied and advice", err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, fat(acknowledged+1))
	mustClose(t, s)
	again := openAt(t, s.path)
	for i := range acknowledged + 1 {
		if entries := mustEntries(t, again, key(fmt.Sprint(i+1))); len(entries) != 1 {
			t.Errorf("acknowledged message %d of %d is gone", i+1, acknowledged+1)
		}
	}
}

// writeUntilFull returns how many writes were acknowledged.
func writeUntilFull(t *testing.T, s *Store) int {
	t.Helper()
	for i := range 10_000 {
		_, err := s.Commit(t.Context(), fat(i+1))
		if err != nil {
			if !errors.Is(err, store.ErrNotApplied) {
				t.Fatalf("Commit: got error %v, want ErrNotApplied", err)
			}
			return i
		}
	}
	t.Fatal("the disk is never full")
	return 0
}

// fat is a first message of 20 kB, in a conversation of its own.
func fat(number int) store.Write {
	w := message(key(fmt.Sprint(number)), store.Op{}, opOf(uint64(number)), 1)
	w.Append[0].Text = strings.Repeat("long ", 4_000)
	return w
}

func TestAReadOnlyDisk(t *testing.T) {
	folder := smallDisk(t)
	path := filepath.Join(folder, "test.db")
	mustClose(t, openAt(t, path))
	if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("this machine does not allow a remount: %v", err)
	}
	_, err := Open(path, Options{})
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Fatalf("Open: got error %v, want one that says read-only", err)
	}
	if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
}

func TestAStartOnAFullDisk(t *testing.T) {
	folder := smallDisk(t)
	path := filepath.Join(folder, "test.db")
	s := openAt(t, path)
	mustCommit(t, s, fat(1))
	mustClose(t, s)
	filler := filepath.Join(folder, "filler")
	fill(t, filler)
	for _, path := range []string{path, filepath.Join(folder, "new.db")} {
		_, err := Open(path, Options{})
		if err == nil || !strings.Contains(err.Error(), "full") {
			t.Errorf("Open: got error %v, want one that says full", err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if entries := mustEntries(t, openAt(t, path), key("1")); len(entries) != 1 {
		t.Errorf("got %d entries, want 1", len(entries))
	}
}

// fill takes what room is left.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
