package redis

import (
	"context"
	"errors"
	"strconv"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Delete implements [store.Store]. delete.lua removes all keys of the conversation and its
// place in all indexes at one moment. To call it again after an error does no harm.
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return s.failed(err, "delete %v", key)
	}
	defer end()
	name := nameOf(key)
	err = s.scripts.remove.run(ctx, s.client, s.shards.of(name), name).Error()
	if err != nil && !isNothing(err) { // the script returns nothing
		return s.failed(err, "delete %v", key)
	}
	return nil
}

// expireStep bounds what Expire removes in one script, so that commits never
// wait long for it.
const expireStep = 100

// Expire implements [store.Store]. It counts entries, ids and conversations
// alike, and works in scripts of at most 100 of them. A shard that fails stops no
// other; the error says what failed.
//
// The order of the steps matters: an id can be forgotten only after its entry is gone,
// and a conversation only after its entries and ids are. So one call can remove all that
// is left of an old conversation.
func (s *Store) Expire(ctx context.Context, entriesBefore, idsBefore turn.Time, limit int) (int, error) {
	known := strconv.Itoa(turn.Schema)
	steps := []struct {
		script script
		before turn.Time
	}{
		{s.scripts.expireEntries, entriesBefore},
		{s.scripts.expireIDs, idsBefore},
		{s.scripts.expireBare, idsBefore},
	}
	total := 0
	var failures []error
	for _, root := range s.shards.roots() {
		for _, step := range steps {
			removed, err := s.expireAll(ctx, step.script, root, limit-total, decimal(int64(step.before)), known)
			total += removed
			if err == nil {
				continue
			}
			failures = append(failures, s.failed(err, "expire in %s", root))
			if ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
				return total, errors.Join(failures...)
			}
			if _, there := answered(err); !there {
				break // its server would keep the other steps waiting too
			}
		}
	}
	return total, errors.Join(failures...)
}

// expireAll runs a script until nothing is left for it, or limit is reached.
func (s *Store) expireAll(ctx context.Context, expire script, root string, limit int, before, known string) (int, error) {
	total := 0
	for {
		count := min(limit-total, expireStep)
		removed, err := s.expire(ctx, expire, root, before, max(count, 0), known)
		total += removed
		if err != nil || removed < count || count <= 0 {
			return total, err
		}
	}
}

// expire runs a script once, as a call of its own, since many of them may take
// longer than one is allowed to. With a limit of 0 it only tells whether the store is
// usable.
func (s *Store) expire(ctx context.Context, expire script, root, before string, limit int, known string) (int, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	if limit == 0 {
		return 0, nil
	}
	removed, err := expire.run(ctx, s.client, root, before, strconv.Itoa(limit), known).AsInt64()
	return int(removed), err
}
