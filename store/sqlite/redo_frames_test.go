package sqlite

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
)

// died is what a store leaves that dies with so many batches in its log, of two
// messages for each conversation before them if it was used before.
func died(t *testing.T, batches int, usedBefore bool) (left remains) {
	t.Helper()
	inBubble(t, func(t *testing.T) {
		d := newDisk(t)
		s := d.open(t)
		seq := int64(0)
		next := func() {
			seq++
			mustTogether(t, s, burst(minLogged, seq)...)
		}
		if usedBefore {
			next()
			next()
			time.Sleep(maxIdle)
		}
		for range batches {
			next()
		}
		left = d.left("-redo", "-wal")
		mustClose(t, s)
	})
	return left
}

// frameEnds are where the frames of a file end that holds nothing else.
func frameEnds(t *testing.T, file []byte) []int {
	t.Helper()
	ends := []int{0}
	for end := 0; end < len(file); {
		payload, ok := frameAt(file, end)
		if !ok {
			t.Fatalf("there is no frame at %d of %d", end, len(file))
		}
		end += frameHeader + len(payload)
		ends = append(ends, end)
	}
	return ends
}

func generationOf(t *testing.T, left remains) int64 {
	t.Helper()
	db, err := connect(left.lay(t).path, "os")
	if err != nil {
		t.Fatal(err)
	}
	generation, err := number(db, selectGeneration)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return generation
}

// validFrames is how much of a file counts beside tables of a generation.
func validFrames(file []byte, generation int64) int {
	valid, err := (&redo{generation: generation}).valid(file)
	if err != nil {
		return 0
	}
	return valid
}

func TestALogEndsWhereItIsTornOrDamaged(t *testing.T) {
	left := died(t, 3, false)
	file, generation := left["-redo"], generationOf(t, left)
	ends := frameEnds(t, file)
	if len(ends) != 4 || validFrames(file, generation) != len(file) {
		t.Fatalf("the frames end at %v, want 3", ends)
	}
	whole := func(at int) int { // the end of the last frame before a place
		i, found := slices.BinarySearch(ends, at)
		if !found {
			i--
		}
		return ends[i]
	}
	for at := range file {
		if got := validFrames(file[:at], generation); got != whole(at) {
			t.Errorf("of the first %d bytes %d are valid, want %d", at, got, whole(at))
		}
		for _, flip := range []byte{1, 0x80, 0xff} {
			file[at] ^= flip
			if got := validFrames(file, generation); got != whole(at) {
				t.Errorf("byte %d damaged: %d are valid, want %d", at, got, whole(at))
			}
			file[at] ^= flip
		}
	}
	for frames, end := range ends { // what follows is as it was made, of zeros
		left["-redo"] = append(bytes.Clone(file[:min(end+100, len(file))]), make([]byte, 1000)...)
		d := left.lay(t)
		checkBurst(t, openAt(t, d.path), minLogged, int64(frames))
	}
}

// The frames of before end where the new ones do, so each could be taken for the next.
func TestFramesOfAnEarlierGenerationDoNotCount(t *testing.T) {
	left := died(t, 1, true)
	if ends := frameEnds(t, left["-redo"]); len(ends) != 3 {
		t.Fatalf("the frames end at %v, want a new one before an old one", ends)
	}
	d := left.lay(t)
	s := openAt(t, d.path)
	checkBurst(t, s, minLogged, 3)
	mustTogether(t, s, burst(minLogged, 4)...)
	mustClose(t, s)
	left["-redo"] = append(left["-redo"][:0], died(t, 3, false)["-redo"]...)
	s = openAt(t, left.lay(t).path) // the log of another file
	checkBurst(t, s, minLogged, 2)
	mustTogether(t, s, burst(minLogged, 3)...)
}

// A frame that was moved is none, even of the right generation.
func TestAFrameBelongsToItsPlace(t *testing.T) {
	left := died(t, 2, false)
	file, generation := left["-redo"], generationOf(t, left)
	ends := frameEnds(t, file)
	if got := validFrames(slices.Concat(file[:ends[1]], file[:ends[1]]), generation); got != ends[1] {
		t.Errorf("%d bytes are valid, want %d: the first frame is taken twice", got, ends[1])
	}
	if got := validFrames(file[ends[1]:], generation); got != 0 {
		t.Errorf("%d bytes of the second frame are valid at the place of the first", got)
	}
}

func TestARedoFileWithNothingInIt(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "text": "this is no log", "zeros": string(make([]byte, maxRedo)),
		"huge":   strings.Repeat("\xff", maxRedo+100),
		"length": "\xff\xff\xff\xff" + strings.Repeat("\x00", 100),
	} {
		path := newPath(t)
		write(t, redoPath(path), content)
		s := openAt(t, path)
		mustTogether(t, s, burst(minLogged, 1)...)
		checkBurst(t, s, minLogged, 1)
		mustClose(t, s)
		if _, err := os.Stat(redoPath(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it is still there (%v)", name, err)
		}
	}
}

func TestARedoFileThatCannotBeRead(t *testing.T) {
	check := func(path string) {
		t.Helper()
		_, err := Open(path, Options{})
		if err == nil || !strings.Contains(err.Error(), redoPath(path)) || !strings.Contains(err.Error(), "make it a file that this user can read and write") {
			t.Errorf("Open: got error %v, want one that says what to do", err)
		}
	}
	folder := newPath(t)
	if err := os.Mkdir(redoPath(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	check(folder)
	if err := os.Remove(redoPath(folder)); err != nil {
		t.Fatal(err)
	}
	openAt(t, folder)
	if os.Getuid() == 0 {
		return // root may read every file
	}
	d := died(t, 1, false).lay(t)
	if err := os.Chmod(redoPath(d.path), 0); err != nil {
		t.Fatal(err)
	}
	check(d.path)
	if err := os.Chmod(redoPath(d.path), 0o600); err != nil {
		t.Fatal(err)
	}
	checkBurst(t, openAt(t, d.path), minLogged, 1)
}

// What was acknowledged must not be applied to something else, nor be forgotten.
func TestALogThatMeetsAnotherProgramsChange(t *testing.T) {
	d := died(t, 1, true).lay(t)
	sqlOn(t, d.path, "UPDATE conversations SET op = zeroblob(16) WHERE conversation = '3'")
	before := read(t, redoPath(d.path))
	for range 2 {
		_, err := Open(d.path, Options{})
		if err == nil || !strings.Contains(err.Error(), redoPath(d.path)) || !strings.Contains(err.Error(), "put the right file back, or move the log aside") {
			t.Fatalf("Open: got error %v, want one that says what to do", err)
		}
		if store.IsUnreadable(err) {
			t.Errorf("%v: that reads as if it were about one conversation", err)
		}
	}
	if read(t, redoPath(d.path)) != before {
		t.Error("the log was changed")
	}
	if err := os.Remove(redoPath(d.path)); err != nil {
		t.Fatal(err)
	}
	checkBurst(t, openAt(t, d.path), minLogged, 2)
}

// Who only looks sees what was acknowledged, all the same.
func TestWhoOnlyLooksSeesWhatADeadProcessLogged(t *testing.T) {
	d := died(t, 2, true).lay(t)
	for range 2 {
		s := openWith(t, d.path, Options{ReadOnly: true})
		checkBurst(t, s, minLogged, 4)
		mustClose(t, s)
		if _, err := os.Stat(redoPath(d.path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the log is still there (%v)", err)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte{}, int64(0))
	f.Add(make([]byte, 100), int64(0))
	f.Add(append([]byte("\xff\xff\xff\xff"), make([]byte, 100)...), int64(0))
	f.Fuzz(func(t *testing.T, file []byte, generation int64) {
		valid := validFrames(file, generation)
		if again := validFrames(file[:valid], generation); valid > len(file) || again != valid {
			t.Errorf("of %d bytes %d are valid, of those %d", len(file), valid, again)
		}
	})
}
