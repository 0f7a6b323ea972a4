package sqlite

import "github.com/onereply/onereply/store"

// recent is what the writer remembers of the conversations that it wrote last,
// so that it need not read them again to compare the op: a tenth of its work.
// It belongs to one connection and holds what the running transaction made, so
// it must be forgotten when a transaction fails, and when somebody else wrote.
type recent struct {
	known   map[store.Key]conversation
	version int64 // of the file, as far as other connections changed it
}

// maxRecent bounds what is remembered: about 2 MB.
const maxRecent = 8192

// In: nothing. Out: a number that is another one where some other connection
// has written since. Within a transaction, so that nobody can write after it:
// this closes the race with a person who writes to the file.
const fileVersion = `PRAGMA data_version`

// begin is called at the begin of each transaction.
func (r *recent) begin(db *connection) error {
	version, err := number(db, fileVersion)
	if err != nil {
		return err
	}
	if version != r.version {
		r.forget()
	}
	r.version = version
	return nil
}

// find is what is there, of a key.
func (r *recent) find(db *connection, key store.Key) (conversation, error) {
	if there, ok := r.known[key]; ok {
		return there, nil
	}
	return find(db, key)
}

// keep notes what was just written.
func (r *recent) keep(key store.Key, there conversation) {
	if len(r.known) >= maxRecent {
		r.forget()
	}
	if r.known == nil {
		r.known = map[store.Key]conversation{}
	}
	r.known[key] = there
}

// drop forgets a conversation that was written to without the record.
func (r *recent) drop(key store.Key) { delete(r.known, key) }

// forget is also for conversations that were removed: that is rare.
func (r *recent) forget() { clear(r.known) }
