package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onereply/onereply/store"
)

// TestAFileIsOpenedOnceWhateverItsName: a hard link has a lock file of its own.
func TestAFileIsOpenedOnceWhateverItsName(t *testing.T) {
	path := newPath(t)
	first := openAt(t, path)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Link(path, link); err != nil {
		t.Fatal(err)
	}
	s, err := Open(link, Options{})
	if err == nil {
		mustClose(t, s)
	}
	if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), "another name") {
		t.Errorf("Open of a hard link: got error %v, want ErrInUse", err)
	}
	mustCommit(t, first, message(key("c"), store.Op{}, opOf(1), 1))
	mustClose(t, first)
	second := openAt(t, link)
	if got := mustEntries(t, second, key("c")); len(got) != 1 {
		t.Errorf("there are %d messages, want the one that was written under the other name", len(got))
	}
}

// TestAFileThatIsGone: the store takes no writes, says what to do, and proves no write by
// a read. It goes on when the same file is back.
func TestAFileThatIsGone(t *testing.T) {
	for _, suffix := range []string{"", logSuffix} {
		for name, replace := range map[string]bool{"moved": false, "replaced": true} {
			t.Run(fmt.Sprintf("%s%s", name, suffix), func(t *testing.T) {
				path := newPath(t)
				s := openAt(t, path)
				mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
				elsewhere := path + suffix + ".elsewhere"
				if err := os.Rename(path+suffix, elsewhere); err != nil {
					t.Fatal(err)
				}
				if replace {
					write(t, path+suffix, "")
				}
				_, now := s.Now(t.Context())
				_, load := s.Load(t.Context(), key("c"))
				_, commit := s.Commit(t.Context(), message(key("new"), store.Op{}, opOf(2), 1))
				for call, err := range map[string]error{"Now": now, "Load": load, "Commit": commit} {
					if !errors.Is(err, errReplaced) || !strings.Contains(err.Error(), "put the same file back") {
						t.Errorf("%s: got error %v, want that the file is gone, and what to do", call, err)
					}
				}
				if !errors.Is(commit, store.ErrNotApplied) {
					t.Errorf("Commit: got error %v, want that it was not applied", commit)
				}
				if !replace {
					if _, err := os.Stat(path + suffix); err == nil {
						t.Errorf("%s was made anew", path+suffix)
					}
				}
				if err := os.Rename(elsewhere, path+suffix); err != nil {
					t.Fatal(err)
				}
				mustCommit(t, s, message(key("new"), store.Op{}, opOf(3), 1))
				if got := mustEntries(t, s, key("c")); len(got) != 1 {
					t.Errorf("there are %d messages of before, want 1", len(got))
				}
			})
		}
	}
}

// TestAWriteIntoAFileThatGoesMeanwhile is in a file that nobody finds any more. So it is
// not acknowledged, and no read takes it for applied.
func TestAWriteIntoAFileThatGoesMeanwhile(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	w := message(key("c"), store.Op{}, opOf(1), 1)
	err := s.write(t.Context(), func(db *connection) error {
		encoded, err := encode(&w)
		return errors.Join(err, encoded.apply(db), os.Remove(path))
	}, "write, and remove the file")
	if !errors.Is(err, store.ErrUnknown) {
		t.Errorf("got error %v, want an unknown outcome", err)
	}
	if got, err := s.Load(t.Context(), key("c")); err == nil {
		t.Errorf("Load: got %v, want an error", got.Op)
	}
}

// TestNoReaderMakesAFile where the one that it is to read is gone.
func TestNoReaderMakesAFile(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), key("c")); !errors.Is(err, errReplaced) {
		t.Errorf("Load: got error %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file again")
	}
}
