package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// secret is a text of some length that is found nowhere else.
func secret(name string, length int) string {
	return strings.Repeat("secret of "+name+". ", 1+length/(12+len(name)))
}

// secretsIn are the names whose secrets are still in the files of a store.
func secretsIn(t *testing.T, path string, names ...string) (found []string) {
	t.Helper()
	for _, suffix := range []string{"", logSuffix, indexSuffix, lockSuffix} {
		content, err := os.ReadFile(path + suffix)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, name := range names {
			if bytes.Contains(content, []byte("secret of "+name+". ")) {
				found = append(found, name+" in "+path[strings.LastIndex(path, "/"):]+suffix)
			}
		}
	}
	return found
}

// confide writes a conversation of some messages and a reply, all of which have its secret.
func confide(t *testing.T, s *Store, name string, op uint64, length int) {
	t.Helper()
	w := message(key(name), store.Op{}, opOf(op), 1)
	w.Append = append(w.Append, w.Append[0], w.Append[0])
	for i := range w.Append {
		e := &w.Append[i]
		e.Seq, e.Version, e.ID, e.Text, e.Sender.Name = int64(i+1), int64(i+1), fmt.Sprint("m", i), secret(name, length), secret(name, 1)
	}
	w.Append[2].Kind, w.Append[2].Status, w.Append[2].Parts = store.Reply, turn.ReplySent, []string{secret(name, length)}
	w.Settle = []turn.Settle{{Through: 2, Status: turn.InputAnswered, ReplySeq: 3}}
	mustCommit(t, s, w)
}

// TestADeletedConversationIsErased: of conversations of many lengths, whose pages are split
// and joined meanwhile, nothing of those that were deleted is left in any file a minute
// later, and all of the others.
func TestADeletedConversationIsErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := newPath(t)
		s := openAt(t, path)
		lengths := []int{1, 40, 300, 900, 1500, 4000, 4096, 20_000, 64 << 10}
		var gone, kept []string
		for i := range 120 {
			name := fmt.Sprintf("number-%03d", i)
			confide(t, s, name, uint64(i+1), lengths[i%len(lengths)])
			if i%5 == 0 {
				kept = append(kept, name)
			} else {
				gone = append(gone, name)
			}
		}
		for i, name := range gone {
			if err := s.Delete(t.Context(), key(name)); err != nil {
				t.Fatal(err)
			}
			if i%10 == 0 { // and new ones take the room
				later := fmt.Sprintf("later-%03d", i)
				confide(t, s, later, uint64(1000+i), lengths[i%len(lengths)])
				kept = append(kept, later)
			}
		}
		time.Sleep(time.Minute)
		if left := secretsIn(t, path, gone...); len(left) > 0 {
			t.Errorf("a minute after their deletion these are left: %q", left)
		}
		for _, name := range kept {
			if len(secretsIn(t, path, name)) == 0 {
				t.Errorf("%s is not found, although it was not deleted", name)
			}
		}
		mustClose(t, s)
		if left := secretsIn(t, path, gone...); len(left) > 0 {
			t.Errorf("after a stop these are left: %q", left)
		}
	})
}

// TestADeletedMessageIsErased, with the texts that it had before.
func TestADeletedMessageIsErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := newPath(t)
		s := openAt(t, path)
		w := message(key("c"), store.Op{}, opOf(1), 1)
		w.Append[0].Text = secret("first", 5000)
		mustCommit(t, s, w)
		edit := w
		edit.Expect, edit.Op, edit.Append = opOf(1), opOf(2), nil
		edit.Change = []store.Entry{w.Append[0]}
		edit.Change[0].Text = secret("second", 700)
		mustCommit(t, s, edit)
		if left := secretsIn(t, path, "first", "second"); len(left) < 2 {
			t.Fatalf("only %q is found before the deletion: nothing is tested", left)
		}
		edit.Expect, edit.Op = opOf(2), opOf(3)
		edit.Change[0].Text, edit.Change[0].Status = "", turn.InputDeleted
		mustCommit(t, s, edit)
		time.Sleep(time.Minute)
		if left := secretsIn(t, path, "first", "second"); len(left) > 0 {
			t.Errorf("a minute after the deletion these are left: %q", left)
		}
	})
}

// TestRetentionErases what it removes.
func TestRetentionErases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := newPath(t)
		s := openAt(t, path)
		confide(t, s, "old", 1, 2000)
		if removed, err := s.Expire(t.Context(), start+1000, 0, 100); err != nil || removed != 3 {
			t.Fatalf("Expire: %d, %v", removed, err)
		}
		time.Sleep(time.Minute)
		if left := secretsIn(t, path, "old"); len(left) > 0 {
			t.Errorf("a minute after it expired: %q", left)
		}
	})
}

// TestALongReadDelaysTheErasureOnly: nobody waits for it, and the log is emptied once it
// has ended.
func TestALongReadDelaysTheErasureOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := newPath(t)
		s := openAt(t, path)
		confide(t, s, "gone", 1, 100)
		standing, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			ended <- s.read(t.Context(), func(db *connection) error {
				_, err := db.one(func(*sqlite3.Stmt) error {
					close(standing)
					<-goOn
					return nil
				}, "SELECT count(*) FROM entries")
				return err
			}, "stand")
		}()
		<-standing
		if err := s.Delete(t.Context(), key("gone")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(eraseAfter + time.Second)
		begun := time.Now()
		confide(t, s, "next", 2, 100)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("a write took %v while the log could not be emptied", took)
		}
		close(goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		time.Sleep(2 * eraseAgain)
		if left := secretsIn(t, path, "gone"); len(left) > 0 {
			t.Errorf("after the read has ended: %q", left)
		}
	})
}

// TestClearingAGap: only what is not in use of a page of a tree is cleared.
func TestClearingAGap(t *testing.T) {
	page := func(first byte, cells, content byte) []byte {
		p := bytes.Repeat([]byte{7}, pageSize)
		copy(p, []byte{first, 0, 0, 0, cells, content, 0})
		return p
	}
	for name, test := range map[string]struct {
		page      []byte
		offset    int64
		from, end int // what is cleared
	}{
		"a leaf of a table":      {page(13, 3, 2), pageSize, 8 + 2*3, 512},
		"a leaf of an index":     {page(10, 0, 2), pageSize, 8, 512},
		"children of a table":    {page(5, 1, 1), pageSize, 12 + 2, 256},
		"children of an index":   {page(2, 1, 1), pageSize, 12 + 2, 256},
		"a full page":            {page(13, 252, 2), pageSize, 0, 0},
		"a page of a long value": {page(0, 3, 2), pageSize, 0, 0},
		"a number":               {page(1, 3, 2), pageSize, 0, 0},
		"an impossible page":     {page(13, 3, 17), pageSize, 0, 0},
		"half a page":            {page(13, 3, 2)[:pageSize/2], pageSize, 0, 0},
		"between two pages":      {page(13, 3, 2), pageSize + 1, 0, 0},
		"the first page":         {append(bytes.Repeat([]byte{7}, 100), page(13, 3, 2)[:pageSize-100]...), 0, 108 + 2*3, 512},
	} {
		want := bytes.Clone(test.page)
		clear(want[test.from:test.end])
		if clearGap(test.page, test.offset); !bytes.Equal(test.page, want) {
			t.Errorf("%s: other bytes than %d to %d were cleared", name, test.from, test.end)
		}
	}
}

// sizedFile is a file of a size, of which nothing is on a disk.
type sizedFile struct {
	databaseFile
	size    int64
	written []byte
}

func (f *sizedFile) Size() (int64, error) { return f.size, nil }

func (f *sizedFile) WriteAt(p []byte, _ int64) (int, error) {
	f.written = bytes.Clone(p)
	return len(p), nil
}

// TestGapsOfALargeFile: beyond 128 GiB a page can't be told from another.
func TestGapsOfALargeFile(t *testing.T) {
	for size, clears := range map[int64]bool{128<<30 - 1: true, 128 << 30: false} {
		page := bytes.Repeat([]byte{7}, pageSize)
		copy(page, []byte{13, 0, 0, 0, 3, 2, 0})
		f := &sizedFile{size: size}
		if _, err := (mainFile{f}).WriteAt(page, pageSize); err != nil {
			t.Fatal(err)
		}
		if got := f.written[100] == 0; got != clears {
			t.Errorf("%d bytes: cleared %v", size, got)
		}
	}
}
