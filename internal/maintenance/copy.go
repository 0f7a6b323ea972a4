package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/onereply/onereply/internal/parallel"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Bounds of a copy. A page is listed at once and is the step of its progress. A batch bounds
// the size of one write: an entry may have a text of 64 KiB.
const (
	copyPage     = 200 // conversations of one list
	DefaultBatch = 200 // entries of one write

	// workers is how many conversations are read or copied at once: enough to hide the
	// round trips to a server, too few to be felt by the nodes that use it.
	workers = 8
)

// ErrNotEmpty: the target of a copy holds conversations already. A wrong URL of a store
// that is in use is found by this before anything is written.
var ErrNotEmpty = errors.New("the target is not empty")

// Copy copies all conversations of a store that nobody else uses into another.
//
// Each conversation is copied by itself, eight of them at once, in these steps:
//
//  1. Load the target's record. If its Op is the source's, the conversation is there.
//  2. If a copy of it was interrupted, delete the part that is there and begin anew.
//  3. If there is any other record, leave it alone: somebody else wrote it.
//  4. Write the entries, page by page, under a record that says "being copied".
//  5. Write the last page together with the real record, its Op and its timer.
//
// A record is written last, with the Op that it had: a conversation that is
// there with that Op is complete. Until then it shows as paused, without a timer
// or anything to answer, so a node on the target leaves it alone. A copy that was
// interrupted, however it was, can go on at any time.
//
// Two things are not copied: ids of messages that retention has removed, since the
// contract has no way to read them; and records that can't be read.
type Copy struct {
	From, To store.Store
	Batch    int            // entries of one write, 1 to [store.MaxEntries]; 0 means DefaultBatch
	Resume   bool           // the target may hold conversations: those of a copy before
	Progress func(Progress) // is called after each page; required
}

// Progress is how far a copy has come. Each conversation is counted once: as copied,
// skipped, unread or left.
type Progress struct {
	Copied  int `json:"copied"`  // conversations
	Skipped int `json:"skipped"` // conversations that were there already
	Unread  int `json:"unread"`  // conversations that this program can't read, so that they were not copied: [Verify] names them
	Left    int `json:"left"`    // conversations that are there with other writes: [Verify] names them
	Entries int `json:"entries"` // copied
}

// Run copies until all is done. After an error a copy with Resume goes on: it skips
// complete conversations. The Progress beside an error counts the work before it.
func (c *Copy) Run(ctx context.Context) (Progress, error) {
	var done Progress
	if err := c.checkTarget(ctx); err != nil {
		return done, err
	}
	for query := (store.ListQuery{Limit: copyPage}); ; {
		page, err := c.From.List(ctx, query)
		if err != nil {
			return done, fmt.Errorf("list the conversations of the source: %w", err)
		}
		if err := c.page(ctx, page.Items, &done); err != nil {
			return done, err
		}
		c.Progress(done)
		if query.Cursor = page.Next; page.Next == "" {
			return done, nil
		}
	}
}

// checkTarget refuses a target that holds something, unless that is expected. One
// conversation is enough to know.
func (c *Copy) checkTarget(ctx context.Context) error {
	found, _, err := c.To.Sweep(ctx, "", 1)
	switch {
	case err != nil:
		return fmt.Errorf("look into the target: %w", err)
	case len(found) > 0 && !c.Resume:
		return fmt.Errorf("%w: it holds the conversation %v", ErrNotEmpty, found[0].Key)
	}
	return nil
}

// page copies the conversations of one page of the list. One that can't be read, at the
// source or in the target, is counted and passed over: a single damaged record must not
// keep all others from being moved. Any other error ends the copy.
func (c *Copy) page(ctx context.Context, items []store.Item, done *Progress) error {
	var mu sync.Mutex // guards done
	return parallel.Each(ctx, len(items), workers, func(ctx context.Context, i int) error {
		status, entries, err := c.conversation(ctx, items[i])
		if store.IsUnreadable(err) {
			status, err = unread, nil
		}
		if err != nil {
			return fmt.Errorf("copy %v: %w", items[i].Key, err)
		}
		mu.Lock()
		defer mu.Unlock()
		done.Entries += entries
		switch status {
		case copied:
			done.Copied++
		case skipped:
			done.Skipped++
		case unread:
			done.Unread++
		case left:
			done.Left++
		}
		return nil
	})
}

// status is the result of copying one conversation.
type status int

const (
	copied status = iota
	skipped
	left
	unread
)

// conversation copies one, unless it is there. The comparison by Op is safe because an
// Op is drawn at random and never used for a second write.
func (c *Copy) conversation(ctx context.Context, item store.Item) (status, int, error) {
	if item.Err != nil {
		return 0, 0, item.Err
	}
	there, err := c.To.Load(ctx, item.Key)
	switch {
	case err != nil:
		return 0, 0, err
	case there.Op == item.Snapshot.Op:
		return skipped, 0, nil
	case isCopying(there.Record): // the entries that are there may have changed since
		if err := c.To.Delete(ctx, item.Key); err != nil {
			return 0, 0, err
		}
	case !there.Op.IsZero():
		return left, 0, nil
	}
	return c.write(ctx, item)
}

// write writes the entries page by page, each but the last under the record of
// a copy that is under way, and the last with the real one. A conversation without entries
// is one write. A conflict means that somebody else writes to the target: the
// conversation is left as it is.
func (c *Copy) write(ctx context.Context, item store.Item) (status, int, error) {
	expect, written := store.Op{}, 0
	for query := (store.EntryQuery{Limit: cmp.Or(c.Batch, DefaultBatch)}); ; {
		page, more, err := c.From.Entries(ctx, item.Key, query)
		if err != nil {
			return 0, written, err
		}
		write := pageWrite(item, expect, page, !more)
		applied, err := commit(ctx, c.To, write)
		if err != nil {
			return 0, written, err
		}
		if !applied {
			return left, written, nil
		}
		written += len(page)
		if !more {
			return copied, written, nil
		}
		expect, query = write.Op, query.Next(page)
	}
}

// pageWrite is one write of a copy. The last one makes the conversation what it
// was, with its Op, and so complete. Its timer comes from the record and not from the
// source, where a claim may have moved it. The time of the write is the source's too,
// so that lists keep their order and retention counts from the same moment.
func pageWrite(item store.Item, expect store.Op, page []store.Entry, last bool) store.Write {
	write := store.Write{Key: item.Key, Expect: expect, Append: page, At: item.Active}
	if !last {
		write.Op, write.Record = newOp(), copying(page[len(page)-1].Seq)
		return write
	}
	was := item.Snapshot
	write.Op, write.Record, write.Log, write.Timer = was.Op, was.Record, was.Log, wakeUp(was.Record)
	return write
}

// copying is the record of a conversation whose copy is under way. It is a valid one:
// it is idle, on hold, and has no timer. No conversation of people has it, since every
// sequence is given out together with an input or a turn. So no mark besides the record
// is needed.
func copying(seq int64) turn.Record {
	return turn.Record{
		Schema: turn.Schema, Phase: turn.Idle, OnHold: true, WithPeople: true, Seq: seq,
		PauseReason: "this conversation is being copied",
	}
}

// isCopying recognizes such a record by all its fields. A node that was started on the
// target too early and changed one of them has made the conversation its own.
func isCopying(r turn.Record) bool { return r.Seq > 0 && reflect.DeepEqual(r, copying(r.Seq)) }
