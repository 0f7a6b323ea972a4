package sqlite

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

func TestOpenSaysWhatToDo(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text.db")
	write(t, text, strings.Repeat("this is not a database\n", 500))
	foreign := filepath.Join(folder, "foreign.db")
	sqlOn(t, foreign, "CREATE TABLE music (title TEXT)")
	for _, test := range []struct{ name, path, want string }{
		{"no path", "", "the path is empty: give the name of a file"},
		{"no folder", filepath.Join(folder, "nowhere", "x.db"), "does not exist: create it"},
		{"a folder", folder, "is a folder"},
		{"not a database", text, "not an SQLite file"},
		{"another program's file", foreign, "belongs to another program"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := Open(test.path, Options{})
			if err == nil {
				mustClose(t, s)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("Open: got error %v, want one that says %q", err, test.want)
			}
		})
	}
	if got := read(t, text); !strings.HasPrefix(got, "this is not") {
		t.Error("Open changed a file that is not its own")
	}
}

func TestOpenRefusesWrongOptions(t *testing.T) {
	for _, readers := range []int{-1, maxReaders + 1} {
		if _, err := Open(newPath(t), Options{Readers: readers}); err == nil {
			t.Errorf("Open took %d readers", readers)
		}
	}
}

func TestASecondOpeningIsRefusedAndNamesTheFile(t *testing.T) {
	path := newPath(t)
	first := openAt(t, path)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		_, err := Open(name, Options{})
		if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("Open %s: got error %v, want ErrInUse with the name of the file", name, err)
		}
	}
	mustClose(t, first)
	openAt(t, path)
}

// TestTheFilesAreForTheirOwnerOnly, whatever the umask: whoever may read the -shm file can
// lock it, and then nobody can write.
func TestTheFilesAreForTheirOwnerOnly(t *testing.T) {
	withoutUmask(t)
	path := newPath(t)
	write(t, path+indexSuffix, "") // a process that was killed left it, with other permissions
	if err := os.Chmod(path+indexSuffix, 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := openAt(t, path)
		mustCommit(t, s, message(key(rand.Text()), store.Op{}, opOf(1), 1))
		if _, err := s.Load(t.Context(), key("c")); err != nil { // a reader opens the files too
			t.Error(err)
		}
		for _, suffix := range []string{"", logSuffix, indexSuffix, lockSuffix} {
			info, err := os.Stat(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v: others can use it", path+suffix, info.Mode())
			}
		}
		mustClose(t, s)
	}
}

func TestClosingLeavesOneFile(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	mustClose(t, s)
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + suffix); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there after Close (%v)", path+suffix, err)
		}
	}
}

func TestAwkwardPaths(t *testing.T) {
	for _, name := range []string{"a b.db", "100%.db", "what?.db", "#1.db", "a+b&c=d.db", "ünï.db", ":memory:"} {
		path := filepath.Join(t.TempDir(), name)
		s := openAt(t, path)
		mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
		mustClose(t, s)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%q: nothing was stored under this name (%v)", name, err)
		}
	}
}

// sqlOn changes a file as another program would.
func sqlOn(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sqlite3.Open(address(path, "os"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Exec(statements), db.Close()); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
