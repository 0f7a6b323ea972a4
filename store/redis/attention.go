package redis

import (
	"context"
	"sync"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// What needs attention is in one of two lists: that of the failed, which programs
// of every release keep, and, where it is shown in another phase, this one. It is
// no phase.
const attentionList turn.Phase = "attention"

// listsOf are the lists in which the conversations of a query are.
func listsOf(query store.ListQuery) []turn.Phase {
	switch {
	case query.Attention && query.Phase == "":
		return []turn.Phase{turn.Failed, attentionList}
	case query.Attention && query.Phase != turn.Failed:
		return []turn.Phase{attentionList}
	case query.Phase != "":
		return []turn.Phase{query.Phase}
	}
	return shownPhases()
}

// selects reports whether a record that was found in a list belongs to the answer
// of a query: it may have changed since the list was read. The list of what needs
// attention may also be out of date, where a program of a release before it wrote.
func selects(query store.ListQuery, list turn.Phase, record turn.Record) bool {
	switch {
	case query.Phase != "" && record.Shown() != query.Phase:
		return false
	case query.Attention && !record.NeedsAttention():
		return false
	}
	return list != attentionList || record.Shown() != turn.Failed // it is in that list
}

// healer finds what a program of a release before the list of what needs attention
// left out of it: a failed conversation that was paused. It looks once, at the
// start, in the background. In a rolling upgrade the node that starts last finds
// whatever the old ones left.
type healer struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (s *Store) startHealing() {
	ctx, cancel := context.WithCancel(context.Background())
	s.healer.cancel = cancel
	s.healer.done.Go(func() { _ = s.heal(ctx) }) // the next start tries again
}

// close ends the search. It must not be called with the store's lock held.
func (h *healer) close() {
	if h.cancel != nil {
		h.cancel()
	}
	h.done.Wait()
}

func (s *Store) heal(ctx context.Context) error {
	query := store.ListQuery{Phase: turn.Paused, Limit: maxPage}
	for {
		page, err := s.List(ctx, query)
		if err != nil {
			return err
		}
		var calls []call
		for _, item := range page.Items {
			if item.Snapshot.Record.NeedsAttention() {
				name := nameOf(item.Key)
				calls = append(calls, call{s.shards.of(name), []string{name, opText(item.Snapshot.Op)}})
			}
		}
		if err := s.attend(ctx, calls); err != nil || page.Next == "" {
			return err
		}
		query.Cursor = page.Next
	}
}

func (s *Store) attend(ctx context.Context, calls []call) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for _, result := range s.scripts.attend.runAll(ctx, s.client, calls) {
		if err := result.Error(); err != nil && !isNothing(err) { // the script returns nothing
			return err
		}
	}
	return nil
}
