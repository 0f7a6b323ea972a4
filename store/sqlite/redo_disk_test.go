package sqlite

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/onereply/onereply/store"
)

// disk is where a store has its files. The redo log and the write-ahead log on it
// fail on demand, and it knows what of them a loss of power leaves.
type disk struct {
	path string
	base vfs.VFSFilename

	mu     sync.Mutex
	fails  map[string]error // by step
	once   map[string]bool  // of those that do so once
	seen   func(step string)
	synced map[string][]byte // by suffix
}

// The steps that can fail. Of a write that fails half is written.
const (
	redoOpen   = "open the redo log"
	redoAppend = "append to the redo log"
	redoSync   = "sync the redo log"
	walWrite   = "write to the write-ahead log"
	walSync    = "sync the write-ahead log"
)

var errFault = errors.New("the test's fault")

// faults are what can go wrong with each step.
var faults = map[string][]error{
	redoOpen: {errFault}, redoAppend: {errFault}, redoSync: {errFault},
	walWrite: {sqlite3.FULL.ExtendedCode(), sqlite3.IOERR_WRITE}, walSync: {sqlite3.IOERR_FSYNC},
}

func newDisk(t *testing.T) *disk { return diskAt(newPath(t)) }

func diskAt(path string) *disk {
	d := &disk{path: path, base: vfs.Find("os").(vfs.VFSFilename), fails: map[string]error{}, once: map[string]bool{}, synced: map[string][]byte{}}
	for _, suffix := range []string{"-wal", "-redo"} {
		d.synced[suffix] = d.content(suffix)
	}
	return d
}

// open opens a store on the disk. The caller checks how it closes.
func (d *disk) open(t *testing.T) *Store {
	t.Helper()
	o := Options{base: d, redo: d.openRedo}
	t.Cleanup(func() { vfs.Unregister(o.register()) })
	s, err := Open(d.path, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() }) // where the test ends early
	return s
}

// fail makes a step fail, until the disk is mended.
func (d *disk) fail(step string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails[step] = err
}

func (d *disk) failOnce(step string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails[step], d.once[step] = err, true
}

func (d *disk) mend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.fails)
	clear(d.once)
}

// watch has seen called after each step.
func (d *disk) watch(seen func(step string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = seen
}

// do is one step; it is seen whether it fails or not.
func (d *disk) do(step string, work func() error) error {
	d.mu.Lock()
	err, seen := d.fails[step], d.seen
	if d.once[step] {
		delete(d.fails, step)
		delete(d.once, step)
	}
	d.mu.Unlock()
	if err == nil {
		err = work()
	}
	if seen != nil {
		seen(step)
	}
	return err
}

// write writes half of p in any case.
func (d *disk) write(step string, to io.WriterAt, p []byte, offset int64) error {
	half := len(p) / 2
	if _, err := to.WriteAt(p[:half], offset); err != nil {
		return err
	}
	if err := d.do("half of: "+step, func() error { return nil }); err != nil {
		return err
	}
	return d.do(step, func() error {
		_, err := to.WriteAt(p[half:], offset+int64(half))
		return err
	})
}

func (d *disk) isSynced(suffix string) {
	content := d.content(suffix)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced[suffix] = content
}

func (d *disk) content(suffix string) []byte {
	content, err := os.ReadFile(d.path + suffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	return content
}

// remains are the contents of the files, by suffix.
type remains map[string][]byte

// left is what the death of the process leaves; of the named ones only what was synced.
func (d *disk) left(lost ...string) remains {
	r := remains{"": d.content(""), "-wal": d.content("-wal"), "-redo": d.content("-redo")}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, suffix := range lost {
		r[suffix] = d.synced[suffix]
	}
	return r
}

// lay writes them into a new folder.
func (r remains) lay(t *testing.T) *disk {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	for suffix, content := range r {
		write(t, path+suffix, string(content))
	}
	return diskAt(path)
}

func (d *disk) openRedo(path string) (redoFile, error) {
	var file *os.File
	err := d.do(redoOpen, func() (err error) {
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		return err
	})
	if err != nil {
		return nil, err
	}
	return diskRedo{file, d}, nil
}

type diskRedo struct {
	*os.File
	disk *disk
}

func (f diskRedo) WriteAt(p []byte, offset int64) (int, error) {
	return len(p), f.disk.write(redoAppend, f.File, p, offset)
}

func (f diskRedo) Sync() error {
	return f.disk.do(redoSync, func() error {
		f.disk.isSynced("-redo")
		return nil
	})
}

// FullPathname, Open, Delete and Access make the disk a file system for SQLite.
func (d *disk) FullPathname(name string) (string, error) { return d.base.FullPathname(name) }

func (d *disk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	return d.base.Open(name, flags)
}

func (d *disk) Delete(name string, sync bool) error { return d.base.Delete(name, sync) }

func (d *disk) Access(name string, flags vfs.AccessFlag) (bool, error) {
	return d.base.Access(name, flags)
}

func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := d.base.OpenFilename(name, flags)
	if err != nil || flags&vfs.OPEN_WAL == 0 {
		return file, flags, err
	}
	return &diskWAL{file, d}, flags, nil
}

type diskWAL struct {
	vfs.File
	disk *disk
}

func (f *diskWAL) WriteAt(p []byte, offset int64) (int, error) {
	return len(p), f.disk.write(walWrite, f.File, p, offset)
}

func (f *diskWAL) Sync(vfs.SyncFlag) error {
	return f.disk.do(walSync, func() error {
		f.disk.isSynced("-wal")
		return nil
	})
}

func (f *diskWAL) Truncate(size int64) error {
	defer f.disk.isSynced("-wal")
	return f.File.Truncate(size)
}

// answer is what a commit was told.
type answer struct {
	result store.Result
	err    error
}

func (a answer) ok() bool { return a.err == nil && a.result.Status == store.OK }

// together has writes share a batch, and returns their answers. Each is also given
// to told, where that is not nil, before the writer goes on.
func together(t testing.TB, s *Store, told func(i int, a answer), writes ...store.Write) []answer {
	t.Helper()
	answers := make([]answer, len(writes))
	tasks := make([]*task, len(writes))
	var group sync.WaitGroup
	group.Add(len(writes))
	for i := range writes {
		var err error
		tasks[i], err = s.later(&writes[i], func(result store.Result, err error) {
			if answers[i] = (answer{result, err}); told != nil {
				told(i, answers[i])
			}
			group.Done()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	queueAll(s, tasks)
	group.Wait()
	return answers
}

func queueAll(s *Store, tasks []*task) {
	s.writer.queue.mu.Lock()
	defer s.writer.queue.mu.Unlock()
	s.writer.queue.waiting = append(s.writer.queue.waiting, tasks...)
	s.writer.queue.signal()
}

// inBubble runs a test in which no time passes while it does something: what is
// logged stays so until it sleeps.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}
