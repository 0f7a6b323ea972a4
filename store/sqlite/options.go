package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3/vfs"
)

// Options are the settings of a Store. The zero value is good for most.
type Options struct {
	// Readers is how many reads run at once; others wait. 0 means 4, more than
	// 64 is refused. Each takes about 3 MB once it is used.
	Readers int

	// ReadOnly is for programs that only look: nothing is created. What a process
	// that died left in the write-ahead log is copied into the file all the same.
	ReadOnly bool

	// files is the file system; nil is the operating system's. Tests inject faults.
	files vfs.VFS
}

const (
	defaultReaders = 4
	maxReaders     = 64
)

// Validate reports what is wrong with the options.
func (o Options) Validate() error {
	if o.Readers < 0 || o.Readers > maxReaders {
		return fmt.Errorf("sqlite: Readers is %d: it must be between 0 (which means %d) and %d", o.Readers, defaultReaders, maxReaders)
	}
	return nil
}

// register makes the file system known to SQLite and returns its name there.
func (o Options) register() string {
	if o.files == nil {
		registerFiles(ourFiles, vfs.Find("os"))
		return ourFiles
	}
	name := fmt.Sprintf("%s-%p", ourFiles, o.files)
	registerFiles(name, o.files)
	return name
}
