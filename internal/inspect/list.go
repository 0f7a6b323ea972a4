package inspect

import (
	"context"
	"slices"
	"strings"

	"github.com/onereply/onereply/internal/parallel"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// ListQuery selects conversations.
type ListQuery struct {
	// Bot, phase, cursor, and whether only those are wanted that need attention: the
	// store selects by these. Limit, at least 1, is that of the answer.
	store.ListQuery

	// Bots are the only ones whose conversations are listed, within what the store selects;
	// nil means all.
	Bots []string

	// Search leaves out conversations whose name and whose last input's text both
	// lack it, in any case. "" leaves out none.
	Search string

	// Preview gives each conversation's last input, at the cost of a read for each.
	Preview bool
}

// Row is a conversation of a list.
type Row struct {
	store.Item

	// LastInput is the last message that was not deleted. It is nil where there is none,
	// where it lies behind many replies, or where no preview was asked for.
	LastInput *Input
}

// Input is a message as a list shows it.
type Input struct {
	Text   string // its first PreviewRunes characters
	At     turn.Time
	Sender store.Sender
}

// PreviewRunes is how many characters of a text a list shows.
const PreviewRunes = 200

// Bounds of one page of a search. A search that finds nothing within them answers with
// the cursor at which it goes on, so that no call reads the whole store.
const (
	searchPages   = 5   // of the store, for one of the answer
	searchPage    = 100 // records of each
	lastEntries   = 2   // in which the last input nearly always is: it, and its reply
	olderEntries  = 16  // in which it is looked for otherwise
	searchReaders = 8   // transcripts that are read at once
)

// List returns a page of conversations, newest activity first. A page of a search, or of
// some bots, may have fewer rows than its limit, or none, although the list goes on. Records that
// this program can't read are left out.
func List(ctx context.Context, s store.Store, q ListQuery) (rows []Row, next string, err error) {
	limit, query := q.Limit, q.ListQuery
	// Every name and text contains the empty text: without a search all rows match.
	sought := strings.ToLower(q.Search)
	for range searchPages {
		// Never more than there is room for: a cursor goes on after a whole page.
		query.Limit = limit - len(rows)
		if sought != "" || q.Bots != nil {
			query.Limit = min(query.Limit, searchPage)
		}
		page, err := s.List(ctx, query)
		if err != nil {
			return nil, "", err
		}
		matching, err := matchingRows(ctx, s, ofBots(readable(page.Items), q.Bots), sought, q.Preview)
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, matching...)
		query.Cursor = page.Next
		if page.Next == "" || len(rows) == limit {
			break
		}
	}
	return rows, query.Cursor, nil
}

// readable leaves out records that this program can't read, such as those of a newer
// program, and those of aliases, which are no conversations: the list goes on without
// them.
func readable(items []store.Item) []store.Item {
	return slices.DeleteFunc(items, func(item store.Item) bool {
		r := item.Snapshot.Record
		return item.Err != nil || r.LeadsTo != "" || r.Empty()
	})
}

// ofBots leaves out the conversations of other bots; nil means all bots.
func ofBots(items []store.Item, bots []string) []store.Item {
	return slices.DeleteFunc(items, func(item store.Item) bool { return !among(bots, item.Key.Bot) })
}

// among reports whether a bot is one of those that are asked for; nil means all.
func among(bots []string, bot string) bool { return bots == nil || slices.Contains(bots, bot) }

// matchingRows is the rows of a page that match. Transcripts are read only where the
// name does not match, or a preview is shown.
func matchingRows(ctx context.Context, s store.Store, items []store.Item, sought string, preview bool) ([]Row, error) {
	named := make([]bool, len(items)) // whose name matches
	var unread []store.Item           // whose transcript must be read
	for i, item := range items {
		names := item.Snapshot.Record.Names
		named[i] = strings.Contains(strings.ToLower(item.Key.Conversation+"\n"+strings.Join(names.Aliases, "\n")), sought)
		if preview || !named[i] {
			unread = append(unread, item)
		}
	}
	last, err := lastInputs(ctx, s, unread, sought)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i, item := range items {
		input := last[item.Key]
		if !named[i] && !input.matches {
			continue
		}
		row := Row{Item: item}
		if preview {
			row.LastInput = input.shown
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// lastMessage is what is kept of a last input: its text may be a thousand times as long as
// a list shows it.
type lastMessage struct {
	shown   *Input // nil: there is none
	matches bool   // its text has what is sought
}

// lastInputs reads the last input of each conversation that has one.
func lastInputs(ctx context.Context, s store.Store, items []store.Item, sought string) (map[store.Key]lastMessage, error) {
	found := make([]lastMessage, len(items))
	err := parallel.Each(ctx, len(items), searchReaders, func(ctx context.Context, i int) error {
		e, err := lastInput(ctx, s, items[i])
		if e != nil {
			found[i].shown = &Input{Text: strings.Clone(firstRunes(e.Text, PreviewRunes)), At: e.At, Sender: e.Sender}
			found[i].matches = strings.Contains(strings.ToLower(e.Text), sought)
		}
		return err
	})
	last := make(map[store.Key]lastMessage, len(items))
	for i, item := range items {
		last[item.Key] = found[i]
	}
	return last, err
}

// lastInput reads the last message of a conversation that was not deleted. Behind many
// replies it is not found: a preview is not worth more reads.
func lastInput(ctx context.Context, s store.Store, item store.Item) (*store.Entry, error) {
	if item.Snapshot.Record.Version == 0 {
		return nil, nil // it never had one
	}
	// The first read is enough for nearly all; the second goes over the same entries
	// again, since it is rare.
	for _, limit := range []int{lastEntries, olderEntries} {
		entries, more, err := s.Entries(ctx, item.Key, store.EntryQuery{Limit: limit, Backward: true})
		if err != nil {
			return nil, err
		}
		for i, e := range entries {
			if e.Kind == store.Message && e.Status != turn.InputDeleted {
				return &entries[i], nil
			}
		}
		if !more {
			break
		}
	}
	return nil, nil
}

// firstRunes cuts a text after so many characters.
func firstRunes(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}
