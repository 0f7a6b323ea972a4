package onereply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onereply/onereply/internal/atonce"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Bounds of one page of a search. A search that finds nothing in them answers
// with the cursor at which it goes on.
const (
	searchPages   = 5   // of the store, for one of the answer
	searchPage    = 100 // records of each
	lastEntries   = 2   // in which the last input nearly always is: it, and its reply
	olderEntries  = 16  // in which it is looked for otherwise
	searchReaders = 8   // transcripts that are read at once
)

// LastInput is the last message of a conversation that was not deleted.
type LastInput struct {
	Text   string  `json:"text"` // its first MaxPreviewRunes characters
	At     Time    `json:"at"`
	Sender *Person `json:"sender,omitempty"`
}

// list reads one page, and leaves out what a search does not match.
func (a *App) list(ctx context.Context, q ConversationQuery) (found []State, next string, err error) {
	limit := q.Limit
	if limit == 0 {
		limit = 100
	}
	query := q.query()
	sought := strings.ToLower(q.Search)
	for range searchPages {
		query.Limit = limit - len(found) // never more than there is room for: a cursor goes on after a whole page
		if sought != "" {
			query.Limit = min(query.Limit, searchPage)
		}
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, "", err
		}
		rows, err := a.rows(ctx, readable(page.Items), sought, q.Preview)
		if err != nil {
			return nil, "", err
		}
		found = append(found, rows...)
		query.Cursor = page.Next
		if sought == "" || page.Next == "" || len(found) == limit {
			break
		}
	}
	return found, query.Cursor, nil
}

// readable leaves out what this program can't read: an older node's list goes on
// beside records of a newer one.
func readable(items []store.Item) []store.Item {
	return slices.DeleteFunc(items, func(item store.Item) bool { return item.Err != nil })
}

// rows are those of a page that match, with their last inputs where they are
// shown.
func (a *App) rows(ctx context.Context, items []store.Item, sought string, preview bool) ([]State, error) {
	named := make([]bool, len(items))
	var unread []store.Item
	for i, item := range items {
		named[i] = strings.Contains(strings.ToLower(item.Key.Conversation), sought)
		if preview || !named[i] {
			unread = append(unread, item)
		}
	}
	last, err := a.lastInputs(ctx, unread)
	if err != nil {
		return nil, err
	}
	var rows []State
	for i, item := range items {
		input := last[item.Key]
		if !named[i] && (input == nil || !strings.Contains(strings.ToLower(input.Text), sought)) {
			continue
		}
		row := stateOf(item.Key, item.Snapshot.Record)
		row.LastActivityAt = timeOf(item.Active)
		if preview {
			row.LastInput = previewOf(input)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// lastInputs reads the last input of each conversation that has one.
func (a *App) lastInputs(ctx context.Context, items []store.Item) (map[store.Key]*store.Entry, error) {
	found := make([]*store.Entry, len(items))
	err := atonce.Do(ctx, len(items), searchReaders, func(ctx context.Context, i int) (err error) {
		found[i], err = a.lastInput(ctx, items[i])
		return err
	})
	last := make(map[store.Key]*store.Entry, len(items))
	for i, item := range items {
		last[item.Key] = found[i]
	}
	return last, err
}

func (a *App) lastInput(ctx context.Context, item store.Item) (*store.Entry, error) {
	if item.Snapshot.Record.Version == 0 {
		return nil, nil // it never had one
	}
	for _, limit := range []int{lastEntries, olderEntries} {
		entries, err := a.store.Entries(ctx, item.Key, store.EntryQuery{Limit: limit, Backward: true})
		if err != nil {
			return nil, err
		}
		for i, e := range entries {
			if e.Kind == store.Message && e.Status != turn.InputDeleted {
				return &entries[i], nil
			}
		}
		if len(entries) < limit {
			break
		}
	}
	return nil, nil
}

func previewOf(e *store.Entry) *LastInput {
	if e == nil {
		return nil
	}
	out := &LastInput{Text: firstRunes(e.Text, MaxPreviewRunes), At: timeOf(e.At)}
	if e.Sender != (Person{}) {
		sender := e.Sender
		out.Sender = &sender
	}
	return out
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

func checkSearch(text string) error {
	switch {
	case len(text) > MaxNameBytes:
		return errors.New("it must have at most 512 bytes")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return errors.New("it must be UTF-8 without NUL")
	}
	return nil
}
