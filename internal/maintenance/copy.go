package maintenance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Bounds of a copy.
const (
	copyPage     = 200 // conversations of one list
	DefaultBatch = 200 // entries of one write
)

// ErrNotEmpty: the target of a copy holds conversations already.
var ErrNotEmpty = errors.New("the target is not empty")

// Copy copies all conversations of a store that nobody else uses into another.
//
// A record is written last, with the Op that it had: a conversation that is
// there with that Op is complete. Until then it shows as paused, without a timer
// or anything to answer. So a copy that was interrupted, however it was, can go
// on at any time.
type Copy struct {
	From, To store.Store
	Batch    int            // entries of one write, 1 to [store.MaxEntries]; 0 means DefaultBatch
	Resume   bool           // the target may hold conversations: those of a copy before
	Progress func(Progress) // is called after each page
}

// Progress is how far a copy has come.
type Progress struct {
	Copied  int `json:"copied"`  // conversations
	Skipped int `json:"skipped"` // conversations that were there already
	Unread  int `json:"unread"`  // conversations that this program can't read, so that they were not copied: [Verify] names them
	Left    int `json:"left"`    // conversations that are there with other writes: [Verify] names them
	Entries int `json:"entries"` // copied
}

// Run copies until all is done. After an error a copy with Resume goes on.
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

// checkTarget refuses a target that holds something, unless that is expected.
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

func (c *Copy) page(ctx context.Context, items []store.Item, done *Progress) error {
	var mu sync.Mutex // guards done
	return each(ctx, len(items), func(ctx context.Context, i int) error {
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

// status is the result for one conversation.
type status int

const (
	copied status = iota
	skipped
	left
	unread
)

// conversation copies one, unless it is there.
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
// a copy that is under way, and the last with the real one.
func (c *Copy) write(ctx context.Context, item store.Item) (status, int, error) {
	page, err := c.entries(ctx, item.Key, 0)
	if err != nil {
		return 0, 0, err
	}
	expect, written := store.Op{}, 0
	for {
		next, err := c.after(ctx, item.Key, page)
		if err != nil {
			return 0, written, err
		}
		write := pageWrite(item, expect, page, len(next) == 0)
		applied, err := commit(ctx, c.To, write)
		if err != nil {
			return 0, written, err
		}
		if !applied {
			return left, written, nil
		}
		written += len(page)
		if len(next) == 0 {
			return copied, written, nil
		}
		expect, page = write.Op, next
	}
}

// after returns the page after a page.
func (c *Copy) after(ctx context.Context, key store.Key, page []store.Entry) ([]store.Entry, error) {
	if len(page) == 0 {
		return nil, nil
	}
	return c.entries(ctx, key, page[len(page)-1].Seq)
}

// pageWrite is one write of a copy. The last one makes the conversation what it
// was, with its Op, and so complete.
func pageWrite(item store.Item, expect store.Op, page []store.Entry, last bool) store.Write {
	write := store.Write{Key: item.Key, Expect: expect, Append: page, At: item.Active}
	if !last {
		write.Op, write.Record = newOp(), copying(page[len(page)-1].Seq)
		return write
	}
	write.Op, write.Record, write.Timer = item.Snapshot.Op, item.Snapshot.Record, wakeUp(item.Snapshot.Record)
	return write
}

func (c *Copy) entries(ctx context.Context, key store.Key, after int64) ([]store.Entry, error) {
	limit := c.Batch
	if limit == 0 {
		limit = DefaultBatch
	}
	return c.From.Entries(ctx, key, store.EntryQuery{After: after, Limit: limit})
}

// copying is the record of a conversation whose copy is under way. No
// conversation of people has it, since every sequence is given out together with an
// input or a turn.
func copying(seq int64) turn.Record {
	return turn.Record{
		Schema: turn.Schema, Phase: turn.Idle, OnHold: true, Seq: seq,
		PauseReason: "this conversation is being copied",
	}
}

func isCopying(r turn.Record) bool { return r.Seq > 0 && reflect.DeepEqual(r, copying(r.Seq)) }
