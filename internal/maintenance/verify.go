package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/onereply/onereply/internal/parallel"
	"github.com/onereply/onereply/store"
)

// Counts are what a store holds. Two equal Counts are no proof by themselves; they find
// entries and timers that are missing under a record that is the right one.
type Counts struct {
	Conversations int `json:"conversations"`
	Entries       int `json:"entries"`
	Timers        int `json:"timers"`
	Pending       int `json:"pending"`
}

// Verify counts what both stores hold, and compares the revision of every
// conversation of the source with the target's. It reports each that is not the
// same to differs, from one goroutine at a time.
//
// A revision is enough: a copy writes it last, so the entries were there before it.
// Texts are not compared. Nodes must be stopped, or their writes look like
// differences.
//
// The source's timers are counted by its records, since that is what a copy
// writes: a timer that was moved, or lost, is right again in the target.
func Verify(ctx context.Context, from, to store.Store, differs func(Finding)) (source, target Counts, err error) {
	var mu sync.Mutex // differs is called alone
	revisions := func(ctx context.Context, f store.Found) error {
		there, err := to.Load(ctx, f.Key)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case store.IsUnreadable(cmp.Or(f.Err, err)):
			differs(Finding{
				Bot: f.Key.Bot, Conversation: f.Key.Conversation, Rule: Record,
				Problem: "it was not copied: " + cmp.Or(f.Err, err).Error(),
			})
			return nil
		case err == nil && there.Op != f.Snapshot.Op:
			differs(Finding{
				Bot: f.Key.Bot, Conversation: f.Key.Conversation, Rule: Copied,
				Problem: "the target holds other writes: it had this conversation before, or a node ran meanwhile; it was left as it is",
			})
		}
		return err
	}
	wakes := func(f store.Found) bool { return wakeUp(f.Snapshot.Record) != 0 }
	if source, err = count(ctx, from, wakes, revisions); err != nil {
		return source, target, fmt.Errorf("verify the source: %w", err)
	}
	armed := func(f store.Found) bool { return f.Timer != 0 }
	if target, err = count(ctx, to, armed, func(context.Context, store.Found) error { return nil }); err != nil {
		return source, target, fmt.Errorf("verify the target: %w", err)
	}
	return source, target, nil
}

// count sums up a store, and calls also for each of its conversations. armed tells
// whether a conversation counts as one with a timer. An unreadable one counts with the
// entries before the first page that can't be read.
func count(ctx context.Context, kept store.Store, armed func(store.Found) bool, also func(context.Context, store.Found) error) (Counts, error) {
	var total Counts
	var mu sync.Mutex // guards total
	for cursor := ""; ; {
		found, next, err := kept.Sweep(ctx, cursor, copyPage)
		if err != nil {
			return total, err
		}
		err = parallel.Each(ctx, len(found), workers, func(ctx context.Context, i int) error {
			entries, err := countEntries(ctx, kept, found[i].Key)
			if err == nil || store.IsUnreadable(err) { // what it has is not copied either
				err = also(ctx, found[i])
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			total.Conversations++
			total.Entries += entries
			total.Pending += found[i].Snapshot.Record.Pending
			if armed(found[i]) {
				total.Timers++
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		if cursor = next; next == "" {
			return total, nil
		}
	}
}

// countEntries reads the whole transcript, because the contract has no count of entries.
func countEntries(ctx context.Context, kept store.Store, key store.Key) (int, error) {
	total := 0
	for page, err := range store.Pages(ctx, kept, key, store.EntryQuery{}) {
		if err != nil {
			return total, err
		}
		total += len(page)
	}
	return total, nil
}
