package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is where a store has its files. Each thing that SQLite does to a file is a
// step: making it, a read, a half and the whole of a write, a truncation, a sync, a
// deletion. Steps fail on demand, and after each of them the disk can tell what a
// crash would leave.
//
// It keeps two states of the folder. The one that is seen is in the real files.
// The durable one is what is certain to survive a loss of power: the content of a
// file as of its last sync, under a name that was there at the last sync of the
// folder. The driver syncs the folder when it syncs a journal or a write-ahead log
// for the first time after it opened it to be made, and with deletions where SQLite
// asks for it; so does this one.
type disk struct {
	path string
	base vfs.VFSFilename

	mu      sync.Mutex
	steps   int
	failing func(number int, step string) error // nil: nothing fails
	seen    func(step string)                   // called after each step
	names   map[string]*inode                   // by suffix, as they are seen
	durable map[string]*inode                   // those that a loss of power leaves
}

// inode is the content of a file, whatever its names are.
type inode struct{ synced []byte }

// The files of a database, by what follows its path.
const (
	suffixMain    = ""
	suffixWAL     = "-wal"
	suffixShared  = "-shm"
	suffixJournal = "-journal"
)

// Steps that tests make fail by name.
const (
	walWrite = "write -wal"
	walSync  = "sync -wal"
)

// faults are what goes wrong with each of them, as SQLite is told.
var faults = map[string][]error{
	walWrite: {sqlite3.FULL.ExtendedCode(), sqlite3.IOERR_WRITE}, walSync: {sqlite3.IOERR_FSYNC},
}

var errFault = errors.New("the test's fault")

// faultOf is how SQLite is told that a step failed.
func faultOf(step string) error {
	kind, _, _ := strings.Cut(step, " ")
	switch kind {
	case "write":
		return sqlite3.IOERR_WRITE
	case "read":
		return sqlite3.IOERR_READ
	case "sync":
		return sqlite3.IOERR_FSYNC
	case "truncate":
		return sqlite3.IOERR_TRUNCATE
	case "delete":
		return sqlite3.IOERR_DELETE
	}
	return sqlite3.CANTOPEN
}

func newDisk(t testing.TB) *disk { return diskAt(newPath(t)) }

// diskAt is a disk on which all that is there is durable.
func diskAt(path string) *disk {
	d := &disk{path: path, base: vfs.Find("os").(vfs.VFSFilename), names: map[string]*inode{}}
	for _, suffix := range []string{suffixMain, suffixWAL, suffixJournal} {
		if content, there := d.content(suffix); there {
			d.names[suffix] = &inode{content}
		}
	}
	d.durable = maps.Clone(d.names)
	return d
}

// tryOpen opens a store on the disk.
func (d *disk) tryOpen(t testing.TB) (*Store, error) {
	o := Options{files: d}
	t.Cleanup(func() { vfs.Unregister(o.register()) })
	s, err := Open(d.path, o)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() }) // where the test ends early
	}
	return s, err
}

// open is tryOpen of a disk that is well. The caller checks how the store closes.
func (d *disk) open(t testing.TB) *Store {
	t.Helper()
	s, err := d.tryOpen(t)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

// fail makes a step fail, until the disk is mended.
func (d *disk) fail(step string, err error) {
	d.failIf(func(_ int, now string) error {
		if now == step {
			return err
		}
		return nil
	})
}

// failOnce makes the next such step fail.
func (d *disk) failOnce(step string, err error) {
	failed := false
	d.failIf(func(_ int, now string) error {
		if now != step || failed {
			return nil
		}
		failed = true
		return err
	})
}

func (d *disk) failIf(failing func(number int, step string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failing = failing
}

func (d *disk) mend() { d.failIf(nil) }

// watch has seen called after each step.
func (d *disk) watch(seen func(step string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = seen
}

// do is one step; it is seen whether it fails or not. done changes what is durable.
func (d *disk) do(step string, work func() error, done func()) error {
	err := d.mayFail(step)
	if err == nil {
		err = work()
	}
	d.mu.Lock()
	if err == nil && done != nil {
		done()
	}
	seen := d.seen
	d.mu.Unlock()
	if seen != nil {
		seen(step)
	}
	return err
}

// mayFail counts a step, and returns why it fails.
func (d *disk) mayFail(step string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps++
	if d.failing == nil {
		return nil
	}
	return d.failing(d.steps, step)
}

// content is what is seen of a file.
func (d *disk) content(suffix string) (content []byte, there bool) {
	content, err := os.ReadFile(d.path + suffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	return content, err == nil
}

// suffix is the part of a name by which the files of a database differ.
func (d *disk) suffix(name string) string { return strings.TrimPrefix(name, d.path) }

// syncFolder is called with the lock held.
func (d *disk) syncFolder() { d.durable = maps.Clone(d.names) }

// remains are the contents of the files that a crash left, by suffix.
type remains map[string][]byte

func (r remains) equal(other remains) bool { return maps.EqualFunc(r, other, bytes.Equal) }

// left is what the death of the process leaves: all that is seen.
func (d *disk) left() remains {
	r := remains{}
	for _, suffix := range []string{suffixMain, suffixWAL, suffixJournal, suffixShared, lockSuffix} {
		if content, there := d.content(suffix); there {
			r[suffix] = content
		}
	}
	return r
}

// leftByPower are the states that a loss of power may leave: of the files either all
// that was written or only what was synced, and that for all of them or for one, under
// the names that are seen or those that are certain.
func (d *disk) leftByPower() (all []remains) {
	seen := d.left()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, names := range []map[string]*inode{d.names, d.durable} {
		for _, lost := range [][]string{nil, {suffixMain}, {suffixWAL}, {suffixJournal}, {suffixMain, suffixWAL, suffixJournal}} {
			r := remains{lockSuffix: seen[lockSuffix]}
			for suffix, file := range names {
				if file == d.names[suffix] && !slices.Contains(lost, suffix) {
					r[suffix] = seen[suffix]
				} else {
					r[suffix] = file.synced
				}
			}
			all = append(all, r)
		}
	}
	return all
}

// lay writes them into a new folder.
func (r remains) lay(t testing.TB) *disk {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	for suffix, content := range r {
		if err := os.WriteFile(path+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return diskAt(path)
}

// FullPathname, Open, Delete and Access make the disk a file system for SQLite.
func (d *disk) FullPathname(name string) (string, error) { return d.base.FullPathname(name) }

func (d *disk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	return d.base.Open(name, flags)
}

func (d *disk) Delete(name string, sync bool) error {
	suffix := d.suffix(name)
	return d.do("delete "+suffix, func() error { return d.base.Delete(name, sync) }, func() {
		delete(d.names, suffix)
		if sync {
			d.syncFolder()
		}
	})
}

func (d *disk) Access(name string, flags vfs.AccessFlag) (bool, error) {
	return d.base.Access(name, flags)
}

func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name == nil || name.String() == "" {
		return d.base.OpenFilename(name, flags)
	}
	suffix := d.suffix(name.String())
	made := false
	if flags&vfs.OPEN_CREATE != 0 {
		_, there := d.content(suffix)
		made = !there
	}
	var file vfs.File
	open := func() (err error) {
		file, flags, err = d.base.OpenFilename(name, flags)
		return err
	}
	known := func() {
		if d.names[suffix] == nil {
			d.names[suffix] = &inode{}
		}
	}
	var err error
	if made {
		err = d.do("make "+suffix, open, known)
	} else if err = open(); err == nil {
		d.mu.Lock()
		known()
		d.mu.Unlock()
	}
	if err != nil {
		return nil, flags, err
	}
	log := flags&(vfs.OPEN_MAIN_JOURNAL|vfs.OPEN_SUPER_JOURNAL|vfs.OPEN_WAL) != 0
	return &diskFile{File: file, disk: d, suffix: suffix, folder: log && flags&vfs.OPEN_CREATE != 0}, flags, nil
}

// diskFile is a file of the disk.
type diskFile struct {
	vfs.File
	disk   *disk
	suffix string
	folder bool // the next sync is one of the folder too
}

// SharedMemory is what the main file must have for a write-ahead log.
func (f *diskFile) SharedMemory() vfs.SharedMemory {
	if file, ok := f.File.(vfs.FileSharedMemory); ok {
		return file.SharedMemory()
	}
	return nil
}

func (f *diskFile) WriteAt(p []byte, offset int64) (int, error) {
	half := len(p) / 2
	err := f.disk.do("half of a write "+f.suffix, func() error {
		_, err := f.File.WriteAt(p[:half], offset)
		return err
	}, nil)
	if err != nil {
		return 0, err
	}
	err = f.disk.do("write "+f.suffix, func() error {
		_, err := f.File.WriteAt(p[half:], offset+int64(half))
		return err
	}, nil)
	return len(p), err
}

// ReadAt is a step that leaves nothing new.
func (f *diskFile) ReadAt(p []byte, offset int64) (n int, err error) {
	if err := f.disk.mayFail("read " + f.suffix); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, offset)
}

func (f *diskFile) Truncate(size int64) error {
	return f.disk.do("truncate "+f.suffix, func() error { return f.File.Truncate(size) }, nil)
}

// Sync leaves the real disk alone: what is durable is told by this one.
func (f *diskFile) Sync(vfs.SyncFlag) error {
	content, _ := f.disk.content(f.suffix)
	return f.disk.do("sync "+f.suffix, func() error { return nil }, func() {
		f.disk.names[f.suffix].synced = content
		if f.folder {
			f.folder = false
			f.disk.syncFolder()
		}
	})
}

// String is for failures.
func (r remains) String() string {
	var parts []string
	for _, suffix := range slices.Sorted(maps.Keys(r)) {
		parts = append(parts, fmt.Sprintf("%q: %d bytes", suffix, len(r[suffix])))
	}
	return strings.Join(parts, ", ")
}
