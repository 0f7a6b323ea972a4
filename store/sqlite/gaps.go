package sqlite

import (
	"encoding/binary"

	"github.com/ncruces/go-sqlite3/vfs"
)

// databaseFile is what SQLite uses of the driver's main file.
type databaseFile interface {
	vfs.FileHasMoved
	vfs.FileLockState
	vfs.FilePersistWAL
	vfs.FilePowersafeOverwrite
	vfs.FileSharedMemory
	vfs.FileSizeHint
}

// mainFile is the database, in which what was deleted is overwritten with zeros. SQLite
// does that where a row is deleted (secure_delete). But where it moves rows to another
// page, to fill or to empty one, it leaves copies of them in the part of the old page that
// is not in use. So that part, which nobody reads, is written as zeros.
type mainFile struct{ databaseFile }

// WriteAt implements [vfs.File]. It clears the part of p that is not in use.
func (f mainFile) WriteAt(p []byte, offset int64) (int, error) {
	if size, err := f.Size(); err == nil && size < pageSize*maxTold {
		clearGap(p, offset)
	}
	return f.databaseFile.WriteAt(p, offset)
}

const (
	pageSize = 4096

	// maxTold is how many pages a file may have in which pages of trees can be told from
	// others. A page of a tree begins with its kind, 2 at the least, and any other one with
	// the number of a page, whose first byte is less than that. These are 128 GiB; of a
	// larger file nothing is cleared.
	maxTold = 2 << 24
)

// clearGap clears what is not in use of a page of a tree, of tables or of indexes: the
// bytes between the pointers to its cells and the first cell. The format of pages is
// fixed: https://sqlite.org/fileformat2.html#b_tree_pages.
func clearGap(page []byte, offset int64) {
	if len(page) != pageSize || offset%pageSize != 0 {
		return
	}
	header := 0
	if offset == 0 {
		header = 100 // that of the file comes first
	}
	pointers := header + 8
	switch page[header] {
	case 2, 5: // with children
		pointers += 4
	case 10, 13:
	default:
		return
	}
	cells := int(binary.BigEndian.Uint16(page[header+3:]))
	first := int(binary.BigEndian.Uint16(page[header+5:]))
	if gap := pointers + 2*cells; gap < first && first <= pageSize {
		clear(page[gap:first])
	}
}
