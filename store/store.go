// Package store is the contract between the engine and the places where
// conversations live.
//
// A store keeps three namespaces that are never written through each other:
// conversations (the record of package turn: counters, phase, lease, never a
// text), timers (conversation → when), and messages (the transcript). It decides
// nothing. Its one hard promise is [Store.Commit].
//
// # A commit
//
// All that changes a conversation is one [Write]: the next record, the timer that
// belongs to it, what is added to the transcript and changed in it, and the message
// ids that it claims. A commit is a compare-and-swap. The write names the record
// that it replaces by its [Op], the id of the write that made that record, and the
// zero Op where there must be none. The store compares and applies everything in one
// atomic step, or nothing. It answers OK when the write is durable. Of two writes
// that expect the same Op one is applied, so nodes need no other lock: a node reads,
// decides and writes, and a node that was overtaken gets a conflict.
//
// An Op is unique and is never used again, not even after a conversation was deleted
// and began anew. So an Op that matches is proof that nothing came between.
//
// # A conflict
//
// If the record is another one, the answer is Conflict, and [Result] holds the record
// that is there and which of the ids are claimed. The caller decides afresh on that
// record and writes again. A node that does not know a conversation need not read it
// first: it writes as if there were no record, and either that is so, or the conflict
// tells it. An acknowledgement therefore costs one round trip where the record is
// known or new, and two where it is old or unknown.
//
// The record of a conflict is a snapshot like any other: it was right when the store
// answered, and may be old by the time it is used. That does no harm, since the next
// write names its Op too.
//
// # A duplicate
//
// Each message id is claimed by the write that appends it, once in a conversation. If
// an id of a write is claimed already, nothing of that write is applied, and the
// answer is Duplicate with these ids. The caller leaves these messages out and writes
// the rest. That is how a message that a provider delivers twice is answered once.
//
// # An unknown outcome
//
// A call can fail after its write was sent: a time-out, a lost connection. Then nobody
// knows whether it was applied, or still will be ([ErrUnknown]). The caller loads the
// record and looks at its Op:
//
//   - it is the Op of the write: the write was applied;
//   - it is the Op that the write expected: it was not applied yet. The write may
//     still be on its way, so the caller may send the same write again, with the same
//     Op: it can't be applied twice, since the first one changes what both expect;
//   - it is any other: some write came since, and this one can't be applied any more.
//     Whether it had been, and was replaced, shows in the transcript: a message
//     carries its id.
//
// [ErrNotApplied] is the certain kind of failure: nothing was written, and nothing
// will be.
//
// # Timers and claims
//
// The timer of a conversation is when some node must look at it next, and it is always
// [turn.Record.Wake] of the record that the same write left. The node that wrote it
// usually acts on it from its own memory. The timers in the store are for all others:
// if that node dies, another one finds what is due with [Store.Claim]. A claim moves a
// timer a little into the future, so that nodes do not all look at the same
// conversation. It gives no right to anything: the lease in the record does, which is
// taken by a commit. So a claim that dies costs a moment, and one that is made twice
// costs a conflict.
//
// # Reads
//
// All reads may be stale, and decide nothing. A record of a newer program, or one that
// can't be read, is reported as an error by every call that meets it, and is never
// rewritten.
//
// Every store passes the suite in store/storetest; one folder below this one holds
// each engine. The package must never import the engine, a responder or a channel.
package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/onereply/onereply/turn"
)

// Key names a conversation: a bot, and what that bot answers as one.
// Both are any non-empty UTF-8 of up to 512 bytes; stores must keep them
// apart without a separator that could occur in either.
type Key struct {
	Bot          string
	Conversation string
}

// String is for logs; it is quoted, so that two keys never look the same.
func (k Key) String() string { return fmt.Sprintf("%q/%q", k.Bot, k.Conversation) }

// Compare orders keys by bot, then conversation, bytewise.
func (k Key) Compare(o Key) int {
	switch {
	case k.Bot < o.Bot:
		return -1
	case k.Bot > o.Bot:
		return 1
	case k.Conversation < o.Conversation:
		return -1
	case k.Conversation > o.Conversation:
		return 1
	}
	return 0
}

// Op identifies one write. It is drawn at random, so that it is unique among all writes
// of all nodes. A record carries the Op of the write that made it: that is its revision.
// The zero Op stands for "there is no record".
type Op [16]byte

// String is the Op in hexadecimal.
func (o Op) String() string { return hex.EncodeToString(o[:]) }

// IsZero reports whether o stands for "there is no record".
func (o Op) IsZero() bool { return o == Op{} }

// Errors that a store returns, wrapped with what it was doing. Any other error
// of a read means that the store is out of reach for now.
var (
	// ErrUnknown: nobody knows whether the write was applied (a time-out, a lost
	// connection). Any error of Commit that wraps neither ErrUnknown nor
	// ErrNotApplied is taken for unknown too.
	ErrUnknown = errors.New("the outcome of the write is unknown")
	// ErrNotApplied: the write failed and has left nothing behind.
	ErrNotApplied = errors.New("the write was not applied")
	// ErrNewerSchema: the record was written by a newer program. It is refused,
	// never rewritten.
	ErrNewerSchema = errors.New("written by a newer version of onereply: upgrade this node")
	// ErrCorrupt: the stored form was changed or damaged, so no program can read it.
	ErrCorrupt = errors.New("what is stored is not what was written")
	// ErrCursor: the cursor of a list or a sweep was not made by this store.
	ErrCursor = errors.New("the cursor is not one that a page before gave")
	// ErrInUse: another process has the store open, and it takes one only.
	ErrInUse = errors.New("the store is open in another process")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// Status is the outcome of a write that is known.
type Status int

// The outcomes.
const (
	OK        Status = iota // applied and durable
	Conflict                // the record is not the expected one; nothing was written
	Duplicate               // the record is the expected one, and an id was claimed before; nothing was written
)

func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case Conflict:
		return "conflict"
	case Duplicate:
		return "duplicate"
	}
	return fmt.Sprintf("status(%d)", int(s))
}

// Result is the store's answer to a [Write] whose outcome is known.
type Result struct {
	Status Status

	// Current is the record that a Conflict met, exactly as Load would give it, or
	// the zero Snapshot where there is no record. The next write can expect
	// Current.Op, so trying again costs one round trip and no Load. It is as old as
	// the answer: by the time it arrives another node may have written again, and
	// then the next write conflicts too. It is zero for the other outcomes.
	Current Snapshot

	// Duplicates are the ids of the write's messages that are claimed already or
	// occur twice in the write, in the order of the write. A Conflict holds them
	// too, as of the moment of Current: so a message that is delivered again is
	// recognized with one round trip by a node that does not know the record.
	Duplicates []string
}

// Write is one commit: all of it or none of it.
type Write struct {
	Key    Key
	Expect Op          // the record that is there now; zero: there is none
	Op     Op          // of this write; never zero
	Record turn.Record // replaces it
	Log    Log         // likewise

	// Timer is when somebody must look next; zero clears it. It is always what
	// Record.Wake says.
	Timer turn.Time

	// Append adds entries to the transcript, with the sequences that they carry,
	// which are greater than all before. The id of each entry of kind message is
	// claimed; replies have ids that nobody else gives out.
	Append []Entry
	// Change replaces entries of the same sequence. Changes of entries that do
	// not exist are ignored.
	Change []Entry
	// Settle and Mark are applied after Append and Change, in this order.
	Settle []turn.Settle
	Mark   []turn.Mark
	// At is the time of the write, for List's order and for retention.
	At turn.Time
}

// Snapshot is a record as it was at some moment.
type Snapshot struct {
	Record turn.Record
	Log    Log
	Op     Op // zero where there is no record
}

// Timer is a conversation and when somebody must look at it.
type Timer struct {
	Key Key
	At  turn.Time
}

// EntryQuery selects entries of one conversation. Zero fields select all.
type EntryQuery struct {
	After    int64  // sequences greater than this
	Before   int64  // sequences less than this, 0: no bound
	ID       string // the message with this id (replies have no claimed id)
	Status   turn.Status
	Limit    int  // at most so many; 0 means MaxEntries, which is also the bound
	Bytes    int  // whose bodies have at most so many bytes together; 0 means MaxPageBytes, which is also the bound
	Backward bool // greatest sequence first
}

// The bounds of an [EntryQuery]. They bound the memory of every reader, whatever people
// have written.
const (
	MaxEntries   = 1000
	MaxPageBytes = 1 << 20
)

// Next is the query for the page after this one, which holds at least one entry.
func (q EntryQuery) Next(page []Entry) EntryQuery {
	if last := page[len(page)-1].Seq; q.Backward {
		q.Before = last
	} else {
		q.After = last
	}
	return q
}

// Pages gives all entries that a query selects, page by page, up to the first error. Limit
// and Bytes bound each page.
func Pages(ctx context.Context, from Store, key Key, query EntryQuery) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		for more := true; more; {
			var page []Entry
			var err error
			if page, more, err = from.Entries(ctx, key, query); err != nil {
				yield(nil, err)
				return
			}
			if len(page) == 0 || !yield(page, nil) {
				return
			}
			query = query.Next(page)
		}
	}
}

// ListQuery selects conversations, newest activity first (Write.At, then key).
type ListQuery struct {
	Bot    string     // "" means all
	Phase  turn.Phase // as shown; "" means all
	Cursor string     // from the page before; "" starts
	Limit  int        // 0 means 100; bound 1000

	// Attention selects conversations whose record NeedsAttention. A page may
	// have fewer of them than the limit although the list goes on.
	Attention bool
}

// Item is one conversation of a list.
type Item struct {
	Key      Key
	Snapshot Snapshot
	Active   turn.Time // the last write
	// Err is why the record can't be read, where it can't: it wraps [ErrNewerSchema]
	// or [ErrCorrupt], and Snapshot is zero. Such a record stands where it stood when
	// it was written, and is no reason to hide the others.
	Err error
}

// Page is a part of a list. Next is "" at its end. A conversation that is
// written to while somebody pages may be seen again or be missed by that
// reader; others are seen once.
type Page struct {
	Items []Item
	Next  string
}

// Guarantees are what a store promises beyond atomicity. The suite tests them
// and the program prints them.
type Guarantees struct {
	Name      string // for people: "sqlite", "postgres", …
	Durable   bool   // a commit that was answered survives the loss of power
	Exclusive bool   // one process at a time: a lease found at opening is nobody's
	Note      string // what people must know, e.g. of persistence settings
}

// Found is one conversation of a sweep.
type Found struct {
	Key      Key
	Snapshot Snapshot
	Timer    turn.Time // 0: it has none
	Err      error     // as that of an Item
}

// Store keeps conversations. All methods may be called at once from many
// goroutines, and end early when their context does.
type Store interface {
	// Load returns the record and the Op that wrote it. It may be stale, so it
	// never decides anything. A conversation that does not exist gives the zero
	// Snapshot and no error.
	Load(ctx context.Context, key Key) (Snapshot, error)

	// Commit applies a write, durably, or says why it did not. It closes every race
	// between nodes: of two writes that expect the same Op, one is applied. Where
	// the record in the way of a Conflict can't be read, the error wraps
	// [ErrNotApplied] and what Load would say: [ErrNewerSchema] or [ErrCorrupt].
	Commit(ctx context.Context, write Write) (Result, error)

	// Claim returns timers with At <= now, earliest first, at most limit, and
	// moves each to now+hold, so that nodes do not fight over them. The claimer
	// then looks at the conversation; if it dies, the timer comes back.
	//
	// Some timers are left alone, for nodes that can act on them: those of other
	// bots, if bots are given, and those of records of a newer schema. They neither
	// count towards limit nor hide the timers behind them.
	Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]Timer, error)

	// Due returns the timers with At <= until, earliest first, at most limit,
	// without moving them. If bots are given, timers of other bots neither count
	// towards limit nor hide the timers behind them.
	Due(ctx context.Context, until turn.Time, limit int, bots ...string) ([]Timer, error)

	// Entries returns a page of the entries of one conversation, and whether the query
	// selects more behind it. The first entry is given however large it is, so whoever
	// goes on behind the last one ([EntryQuery.Next]) comes to the end. An entry counts
	// with the bytes of its Body in JSON, as internal/storejson writes it.
	Entries(ctx context.Context, key Key, query EntryQuery) (page []Entry, more bool, err error)

	// List returns conversations.
	List(ctx context.Context, query ListQuery) (Page, error)

	// Delete removes all that is stored of a conversation. Deleting one that
	// does not exist is no error.
	Delete(ctx context.Context, key Key) error

	// Now is the store's clock.
	Now(ctx context.Context) (turn.Time, error)

	// Sweep walks all conversations in some fixed order, limit at a time, and
	// gives each with its timer, so that a caller can prove that work and timers
	// agree. It returns the cursor of the next page, "" at the end.
	Sweep(ctx context.Context, cursor string, limit int) (found []Found, next string, err error)

	// Expire removes transcripts of settled inputs and sent replies older than
	// entriesBefore, and forgets claimed ids older than idsBefore, at most limit
	// of them at once; it returns how many it removed. It never removes pending
	// inputs, failed ones (set aside, they may come back), or replies on their
	// way. It also removes conversations that are idle, have no entries left, and
	// were not written to since idsBefore.
	Expire(ctx context.Context, entriesBefore, idsBefore turn.Time, limit int) (int, error)

	// Guarantees says what this store promises.
	Guarantees() Guarantees

	// Close ends all work and releases what the store holds. It may be called
	// more than once.
	Close() error
}

// IsUnreadable reports whether an error concerns the data of one conversation, and not
// the store.
func IsUnreadable(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewerSchema)
}

// CheckRecord is for stores: it refuses a record of a newer schema.
func CheckRecord(key Key, r turn.Record) error {
	if r.Schema > turn.Schema {
		return fmt.Errorf("conversation %v has schema %d, this program knows %d: %w", key, r.Schema, turn.Schema, ErrNewerSchema)
	}
	return nil
}
