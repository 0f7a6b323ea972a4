package sqlite

import (
	"errors"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// memoryFile is a file that notes what is asked of it.
type memoryFile struct {
	vfs.File
	content []byte
	writes  int
	fails   error
	calls   []string
}

func (f *memoryFile) WriteAt(p []byte, offset int64) (int, error) {
	f.writes++
	if f.fails != nil {
		return 0, f.fails
	}
	if end := int(offset) + len(p); end > len(f.content) {
		f.content = append(f.content, make([]byte, end-len(f.content))...)
	}
	return copy(f.content[offset:], p), nil
}

func (f *memoryFile) ReadAt(p []byte, offset int64) (int, error) {
	return copy(p, f.content[offset:]), nil
}
func (f *memoryFile) Sync(vfs.SyncFlag) error { f.calls = append(f.calls, "sync"); return nil }
func (f *memoryFile) Size() (int64, error)    { return int64(len(f.content)), nil }
func (f *memoryFile) Truncate(size int64) error {
	f.content = f.content[:size]
	return nil
}
func (f *memoryFile) Close() error { f.calls = append(f.calls, "close"); return nil }

func put(t *testing.T, l *walFile, text string, offset int64) {
	t.Helper()
	if n, err := l.WriteAt([]byte(text), offset); err != nil || n != len(text) {
		t.Fatalf("WriteAt: got %d, %v", n, err)
	}
}

// What is gathered is in the file before anything that could tell the difference.
func TestTheLogIsWrittenBeforeItMatters(t *testing.T) {
	for name, call := range map[string]func(l *walFile) error{
		"sync":     func(l *walFile) error { return l.Sync(0) },
		"close":    func(l *walFile) error { return l.Close() },
		"truncate": func(l *walFile) error { return l.Truncate(6) },
		"read": func(l *walFile) error {
			p := make([]byte, 3)
			if n, err := l.ReadAt(p, 2); err != nil || string(p[:n]) != "cde" {
				t.Errorf("read %q, %v", p[:n], err)
			}
			return nil
		},
		"size": func(l *walFile) error {
			if size, err := l.Size(); err != nil || size != 6 {
				t.Errorf("the size is %d, %v", size, err)
			}
			return nil
		},
		"a write elsewhere": func(l *walFile) error { _, err := l.WriteAt([]byte("x"), 100); return err },
	} {
		f := &memoryFile{}
		l := &walFile{File: f}
		put(t, l, "abc", 0)
		put(t, l, "def", 3)
		if f.writes != 0 {
			t.Errorf("%s: it was written at once", name)
		}
		if err := call(l); err != nil || string(f.content) != "abcdef" || f.writes != 1 {
			t.Errorf("%s: %v; the file holds %q after %d writes", name, err, f.content, f.writes)
		}
	}
}

func TestWhatIsGatheredIsBounded(t *testing.T) {
	f := &memoryFile{}
	l := &walFile{File: f}
	const bound = 1 << 20
	page := make([]byte, bound/2)
	for i := range int64(2) {
		put(t, l, string(page), i*bound/2)
	}
	if f.writes != 0 {
		t.Errorf("it was written before the bound")
	}
	put(t, l, "x", bound)
	if f.writes != 1 || len(f.content) != bound {
		t.Errorf("%d writes, %d bytes", f.writes, len(f.content))
	}
	if size, err := l.Size(); err != nil || size != bound+1 {
		t.Errorf("the size is %d, %v", size, err)
	}
}

// What could not be written is dropped, and SQLite is told of a full disk.
func TestALogThatCannotBeWritten(t *testing.T) {
	for _, test := range []struct{ fault, want error }{{syscall.ENOSPC, sqlite3.FULL}, {errFault, errFault}} {
		for name, call := range map[string]func(l *walFile) error{
			"sync":     func(l *walFile) error { return l.Sync(0) },
			"close":    func(l *walFile) error { return l.Close() },
			"truncate": func(l *walFile) error { return l.Truncate(0) },
			"read":     func(l *walFile) error { _, err := l.ReadAt(make([]byte, 1), 0); return err },
			"size":     func(l *walFile) error { _, err := l.Size(); return err },
			"write":    func(l *walFile) error { _, err := l.WriteAt([]byte("x"), 100); return err },
		} {
			f := &memoryFile{fails: test.fault}
			l := &walFile{File: f}
			put(t, l, "abc", 0)
			if err := call(l); !errors.Is(err, test.want) {
				t.Errorf("%s: got error %v, want %v", name, err, test.want)
			}
			if name == "close" != (len(f.calls) == 1) {
				t.Errorf("%s: then %q", name, f.calls)
			}
			f.fails = nil
			put(t, l, "new", 0)
			if err := l.Sync(0); err != nil || string(f.content) != "new" {
				t.Errorf("%s: %v; the file holds %q", name, err, f.content)
			}
		}
	}
}
