package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/internal/datafile"
	"github.com/onereply/onereply/store"
)

// redo is a log of the writes of a transaction that stays open. Where many writes
// come at once, committing each batch to the tables costs more than the rows
// themselves. So the batch is appended to this log, synced and answered, and the
// transaction goes on with the next one, until it is committed as a whole a moment
// later (see writer.go). If the process dies before that, [Open] carries out what
// the log holds.
//
// The tables name a generation, and each commit of what was logged counts it up, in
// the same transaction. A frame of another generation is in the tables already, or
// never counted. That makes each write count once, whatever happened in between.
//
// The file is a sequence of frames from its beginning, one for each batch:
//
//	length of the payload  4 bytes, little endian, as all numbers here
//	CRC-32C                4 bytes, of the rest of the frame
//	generation             8 bytes
//	place in the file      4 bytes
//	format of the payload  4 bytes
//	payload                writes, see redo_write.go
//
// It ends with the first frame that is not valid. Only one goroutine uses it.
type redo struct {
	path string
	open func(path string) (redoFile, error)
	file redoFile // nil until it is first needed
	from int      // how many writes must have come at once for it to be used

	off        bool      // the tables are of an older schema, and can't be tied to it
	notBefore  time.Time // when to try again to make the file
	generation int64     // of the tables
	frames     []byte    // what is logged and not in the tables, and behind it what is being added
	logged     int       // how much of frames is logged
	doubtful   bool      // an append failed: nobody knows what the file holds behind it
}

// redoFile is what redo needs of a file.
type redoFile interface {
	WriteAt(p []byte, offset int64) (int, error)
	Sync() error
	Close() error
}

const (
	frameHeader = 24
	redoFormat  = 1 // counts up with each change of redo_write.go
	// maxRedo bounds the file, and what has to be carried out after a crash: 4 MiB.
	maxRedo = 4 << 20
	// remakeAfter is when to try again to make a file that could not be made.
	remakeAfter = time.Minute
	// minLogged is how many writes must have come at once for the log to be used.
	// For fewer a commit costs less than a log entry and a commit.
	minLogged = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// In: nothing. Out: the generation, in the one row that there is.
const selectGeneration = `SELECT generation FROM redo`

// In: the generation before and the next one. Out: 1 change. Part of the transaction that
// commits what was logged.
const setGeneration = `UPDATE redo SET generation = ?2 WHERE generation = ?1`

// redoPath is where the log of a file is.
func redoPath(path string) string { return path + "-redo" }

// openRedo finds out what the tables know of the log. Files of older schemas, which
// are only looked at, have none.
func openRedo(path string, db *connection, o Options) (*redo, error) {
	r := &redo{path: redoPath(path), open: o.redo, from: o.logged}
	if r.open == nil {
		r.open = createFile
	}
	if r.from == 0 {
		r.from = minLogged
	}
	version, err := number(db, "PRAGMA user_version")
	if err != nil {
		return nil, err
	}
	if r.off = version < redoSchema; r.off {
		return r, nil
	}
	if err := r.readGeneration(db); err != nil {
		return nil, err
	}
	found, err := os.ReadFile(r.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it may hold what was acknowledged: make it a file that this user can read and write: %w", err)
	}
	if r.logged, err = r.valid(found); err != nil {
		return nil, err
	}
	r.frames = found[:r.logged]
	return r, nil
}

// readGeneration reads the generation of the tables.
func (r *redo) readGeneration(db *connection) error {
	found, err := db.one(func(s *sqlite3.Stmt) error {
		r.generation = s.ColumnInt64(0)
		return nil
	}, selectGeneration)
	if err == nil && !found {
		err = errors.New("the table redo has lost its row, because another program changed it: restore a backup")
	}
	return err
}

// maxAhead is how far a log can be ahead of an older copy of its own file: no copy is
// that old. Generations begin anywhere, so a greater distance is another file's.
const maxAhead = 1 << 40

// valid is the length of the frames at the beginning that the tables lack.
func (r *redo) valid(file []byte) (int, error) {
	for at := 0; ; {
		payload, ok := frameAt(file, at)
		if !ok {
			return at, nil
		}
		ahead := int64(binary.LittleEndian.Uint64(file[at+8:])) - r.generation
		switch format := binary.LittleEndian.Uint32(file[at+20:]); {
		case at == 0 && 0 < ahead && ahead < maxAhead:
			return 0, r.meets(errors.New("the file is an older copy"))
		case ahead != 0:
			return at, nil
		case format != redoFormat:
			return 0, fmt.Errorf("%s was written by a newer version of onereply (format %d, this program knows %d): "+
				"start that version once, and end it: %w", r.path, format, redoFormat, store.ErrNewerSchema)
		}
		at += frameHeader + len(payload)
	}
}

// frameAt is the payload of the frame at a place, if there is a valid one.
func frameAt(file []byte, at int) (payload []byte, ok bool) {
	if len(file)-at < frameHeader {
		return nil, false
	}
	header := file[at : at+frameHeader]
	length := int64(binary.LittleEndian.Uint32(header))
	if length == 0 || length > int64(len(file)-at-frameHeader) || int64(binary.LittleEndian.Uint32(header[16:])) != int64(at) {
		return nil, false
	}
	frame := file[at : at+frameHeader+int(length)]
	return frame[frameHeader:], crc32.Checksum(frame[8:], castagnoli) == binary.LittleEndian.Uint32(header[4:])
}

// takes reports whether a batch should be answered once it is logged.
func (r *redo) takes(batch []*task) bool {
	switch {
	case r.off, r.logged == 0 && len(batch) < r.from:
		return false
	case r.file == nil && time.Now().Before(r.notBefore):
		return false
	}
	for _, t := range batch {
		if t.write == nil {
			return false
		}
	}
	return true
}

// add adds a write that was applied to the frame that comes next.
func (r *redo) add(p *pending) {
	if len(r.frames) == r.logged {
		r.frames = append(r.frames, make([]byte, frameHeader)...)
	}
	r.frames = appendWrite(r.frames, p)
}

// added reports whether there is anything to sync.
func (r *redo) added() bool { return len(r.frames) > r.logged }

// drop takes back what was added since the last frame.
func (r *redo) drop() { r.frames = r.frames[:r.logged] }

// errRedoFull: the tables must be committed first.
var errRedoFull = errors.New("the log is full")

// sync makes durable what was added. After an error that makes it doubtful it is not
// known whether it is.
func (r *redo) sync() error {
	frame := r.frames[r.logged:]
	if len(r.frames) > maxRedo {
		return errRedoFull
	}
	if r.file == nil {
		file, err := r.open(r.path)
		if err != nil {
			r.notBefore = time.Now().Add(remakeAfter)
			return err
		}
		r.file = file
	}
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-frameHeader))
	binary.LittleEndian.PutUint64(frame[8:], uint64(r.generation))
	binary.LittleEndian.PutUint32(frame[16:], uint32(r.logged))
	binary.LittleEndian.PutUint32(frame[20:], redoFormat)
	binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(frame[8:], castagnoli))
	r.doubtful = true
	if _, err := r.file.WriteAt(frame, int64(r.logged)); err != nil {
		return err
	}
	if err := r.file.Sync(); err != nil {
		return err
	}
	r.doubtful = false
	r.logged = len(r.frames)
	return nil
}

// counts reports whether the file holds, or may hold, a frame that would be carried out
// after a crash.
func (r *redo) counts() bool { return r.logged > 0 || r.doubtful }

// again applies what was logged to a transaction that has just begun: the one
// before is gone, with the process or by a failure. Where that one was committed
// after all, there is nothing to do.
func (r *redo) again(db *connection) error {
	before := r.generation
	if err := r.readGeneration(db); err != nil {
		return err
	}
	switch r.generation {
	case before:
	case before + 1:
		r.restart()
		return nil
	default:
		r.generation = before
		return r.meets(errors.New("the file is not the one that it was"))
	}
	for at := 0; at < r.logged; {
		payload, ok := frameAt(r.frames, at)
		if !ok {
			return fmt.Errorf("%s: what was logged is not in memory any more", r.path) // not to be expected
		}
		if err := applyAgain(db, payload); err != nil {
			if isSQLite(err) && !errors.Is(err, sqlite3.CONSTRAINT) {
				return err // the disk's fault, not the log's
			}
			return r.meets(err)
		}
		at += frameHeader + len(payload)
	}
	return nil
}

func applyAgain(db *connection, payload []byte) error {
	for len(payload) > 0 {
		p, rest, err := readWrite(payload)
		if err != nil {
			return err
		}
		payload = rest
		if err := p.apply(db); err != nil {
			return err
		}
		if p.refused != nil {
			return p.refused
		}
		if p.result.Status != store.OK {
			return fmt.Errorf("the write %v of %v is not possible any more: %v", p.Op, p.Key, p.result.Status)
		}
	}
	return nil
}

// meets says what to do about acknowledged writes that don't fit the tables. Only
// somebody else's hand brings that about.
func (r *redo) meets(err error) error {
	return fmt.Errorf("%s holds acknowledged writes that don't fit the file beside it, because another program changed it or a backup was restored: "+
		"stop the node, and put the right file back, or move the log aside, and what it holds is lost: %w", r.path, err)
}

// count makes the transaction the one that commits what was logged.
func (r *redo) count(db *connection) error {
	if !r.counts() {
		return nil
	}
	changes, err := db.run(setGeneration, r.generation, r.generation+1)
	if err == nil && changes != 1 {
		err = r.meets(errors.New("the file is not the one that it was"))
	}
	return err
}

// counted follows the commit of the tables, with what the log did not take.
func (r *redo) counted() {
	if r.counts() {
		r.generation++
	}
	r.restart()
}

// restart begins at the beginning of the file: what it holds counts no more.
func (r *redo) restart() {
	r.logged, r.doubtful = 0, false
	if r.frames = r.frames[:0]; cap(r.frames) > 2*maxRedo {
		r.frames = nil // a batch that was far too long
	}
}

// close removes the file, if it holds nothing that counts.
func (r *redo) close() error {
	var err error
	if r.file != nil {
		err = r.file.Close()
		r.file = nil
	}
	if r.counts() || r.off {
		return err
	}
	if removed := os.Remove(r.path); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// createFile makes the file anew: what was in it counts no more.
func createFile(path string) (redoFile, error) {
	file, err := datafile.Create(path, maxRedo)
	if err != nil {
		return nil, err
	}
	return file, nil
}
