package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/onereply/onereply/store"
)

// An older copy of the file beside a log that goes on from the right one: the log is
// neither carried out nor thrown away.
func TestALogOfALaterGenerationIsKept(t *testing.T) {
	later := died(t, 1, true)
	d := later.lay(t)
	sqlOn(t, d.path, fmt.Sprintf("UPDATE redo SET generation = %d", generationOf(t, later)-1))
	for _, o := range []Options{{}, {ReadOnly: true}} {
		_, err := Open(d.path, o)
		if err == nil || !strings.Contains(err.Error(), "an older copy") || !strings.Contains(err.Error(), "put the right file back") {
			t.Errorf("Open: got error %v, want one that says what to do", err)
		}
	}
	sqlOn(t, d.path, "UPDATE redo SET generation = generation + 1")
	checkBurst(t, openAt(t, d.path), minLogged, 3)
}

// A file of an older schema knows of no log; the one beside it is another's.
func TestALogBesideAnOlderSchemaIsKept(t *testing.T) {
	path := newPath(t)
	old, err := open(path, Options{}, migrations()[:redoSchema-1])
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, old)
	write(t, redoPath(path), "somebody's")
	look, err := open(path, Options{ReadOnly: true}, migrations()[:redoSchema-1])
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, look)
	if got := read(t, redoPath(path)); got != "somebody's" {
		t.Errorf("the log is %q now", got)
	}
}

func TestALogOfANewerFormatIsLeftAlone(t *testing.T) {
	left := died(t, 1, false)
	frame := left["-redo"]
	frame = frame[:frameEnds(t, frame)[1]]
	binary.LittleEndian.PutUint32(frame[20:], redoFormat+1)
	binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(frame[8:], castagnoli))
	d := left.lay(t)
	before := read(t, redoPath(d.path))
	if _, err := Open(d.path, Options{}); !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), "start that version once") {
		t.Errorf("Open: got error %v, want ErrNewerSchema and what to do", err)
	}
	if read(t, redoPath(d.path)) != before {
		t.Error("the log was changed")
	}
}

// A backup is restored beside what a killed process left. New frames must not
// be continued by the old ones of the same generation behind them.
func TestAFrameBeforeARestoreDoesNotComeBack(t *testing.T) {
	backup, stale := died(t, 0, false), died(t, 2, false)["-redo"]
	ends := frameEnds(t, stale)
	for i, at := range ends[:len(ends)-1] { // as if it had been the backup's
		frame := stale[at:ends[i+1]]
		binary.LittleEndian.PutUint64(frame[8:], uint64(generationOf(t, backup)))
		binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(frame[8:], castagnoli))
	}
	inBubble(t, func(t *testing.T) {
		d := backup.lay(t)
		s := openAt(t, d.path)
		write(t, redoPath(d.path), string(stale)) // too late to be carried out
		mustTogether(t, s, burst(minLogged, 1)...)
		checkBurst(t, openAt(t, d.left().lay(t).path), minLogged, 1)
	})
}

// unreadable is a file system of which one read fails.
type unreadable struct {
	vfs.VFSFilename
	left *int
}

func (u unreadable) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := u.VFSFilename.OpenFilename(name, flags)
	if err != nil || flags&vfs.OPEN_MAIN_DB == 0 {
		return file, flags, err
	}
	return unreadableFile{file, u.left}, flags, nil
}

type unreadableFile struct {
	vfs.File
	left *int
}

func (f unreadableFile) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

func (f unreadableFile) ReadAt(p []byte, offset int64) (int, error) {
	if *f.left--; *f.left == 0 {
		return 0, sqlite3.IOERR_READ
	}
	return f.File.ReadAt(p, offset)
}

// Nobody must throw acknowledged writes away because a disk could not be read.
func TestADiskThatFailsIsNotTheLogsFault(t *testing.T) {
	left := died(t, 2, true)
	failed := 0
	for at := 1; ; at++ {
		d, reads := left.lay(t), at
		o := Options{base: unreadable{vfs.Find("os").(vfs.VFSFilename), &reads}}
		s, err := open(d.path, o, migrations())
		t.Cleanup(func() { vfs.Unregister(o.register()) })
		if reads > 0 { // none was left to fail
			if err != nil {
				t.Fatal(err)
			}
			mustClose(t, s)
			break
		}
		if err == nil {
			mustClose(t, s)
			continue
		}
		failed++
		if strings.Contains(err.Error(), "move the log aside") {
			t.Fatalf("read %d: %v", at, err)
		}
		checkBurst(t, openAt(t, d.path), minLogged, 4)
	}
	if failed < 5 {
		t.Errorf("%d openings failed: nothing was tested", failed)
	}
}

// A reader that gives up while the tables are committed for it.
func TestAReadThatWaitsForACommitCanBeGivenUp(t *testing.T) {
	s := openWith(t, newPath(t), Options{logged: 1})
	release := hold(t, s)
	written := make(chan error, 1)
	w := message(key("c"), store.Op{}, opOf(1), 1)
	s.CommitLater(&w, func(_ store.Result, err error) { written <- err })
	awaitWaiting(t, s, 1)
	release()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	// The transaction is held once more, so the read's turn does not come.
	release = hold(t, s)
	s.writer.ahead.mark([]*task{{write: &pending{Write: &w}}})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := s.Load(ctx, key("c"))
		failed <- err
	}()
	awaitWaiting(t, s, 1)
	cancel()
	if err := <-failed; !errors.Is(err, ctx.Err()) {
		t.Errorf("Load: got %v, want that it was given up", err)
	}
	release()
	mustClose(t, s)
	s.writer.ahead.mark([]*task{{write: &pending{Write: &w}}})
	if _, err := s.Load(t.Context(), key("c")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Load: got %v, want closed", err)
	}
}

// What a batch that was far too long took is given back.
func TestTheMemoryOfALongBatchIsGivenBack(t *testing.T) {
	r := &redo{frames: make([]byte, 3*maxRedo)}
	r.restart()
	if cap(r.frames) > 2*maxRedo {
		t.Errorf("%d bytes are kept", cap(r.frames))
	}
}

// The tables are exchanged while something is logged, and the transaction that it was
// in is lost: it is not carried out in the others, however often that is tried.
func TestTheLogIsNotCarriedOutElsewhere(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := newDisk(t)
		s := d.open(t)
		mustTogether(t, s, burst(minLogged, 1)...)
		d.fail(walWrite, sqlite3.FULL.ExtendedCode())
		if err := s.Delete(t.Context(), key("0")); err == nil {
			t.Fatal("the commit did not fail")
		}
		d.mend()
		sqlOn(t, s.path, "UPDATE redo SET generation = 4711")
		for range 3 {
			_, err := s.Commit(t.Context(), message(key("new"), store.Op{}, opOf(1), 1))
			if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "put the right file back") {
				t.Errorf("Commit: got error %v, want ErrNotApplied and what to do", err)
			}
		}
		if err := s.Close(); err == nil {
			t.Error("Close is satisfied")
		}
		if _, err := os.Stat(redoPath(s.path)); err != nil {
			t.Errorf("the log is gone: %v", err)
		}
	})
}
