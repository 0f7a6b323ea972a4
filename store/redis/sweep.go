package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// swept is where a page of a sweep ended. An empty After is the beginning of the shard.
type swept struct {
	Shard int
	After []byte // a name, which need not be UTF-8 text
}

// Sweep implements [store.Store]. It goes by shard, then by name. Neither changes in the
// life of a conversation, so one that is there during the whole sweep is seen once.
// Record and timer are read at one moment by sweep.lua: a write between them would make a
// correct conversation look as if its timer were wrong.
func (s *Store) Sweep(ctx context.Context, cursor string, limit int) ([]store.Found, string, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, "", s.failed(err, "sweep")
	}
	defer end()
	var from swept
	if cursor != "" {
		if err := paging.Decode(cursor, &from); err != nil {
			return nil, "", s.failed(err, "sweep")
		}
	}
	if from.Shard < 0 || from.Shard >= s.shards.count {
		return nil, "", s.failed(fmt.Errorf("%w: %q", store.ErrCursor, cursor), "sweep")
	}
	found, next, err := s.sweep(ctx, from, paging.Limit(limit))
	if err != nil {
		return nil, "", s.failed(err, "sweep")
	}
	return found, next, nil
}

// sweep fills a page from one shard after the other. A page that is full has a cursor, also
// at the very end: then the next page is empty. A shard that does not answer fails the
// page, since a sweep that left it out would prove nothing.
func (s *Store) sweep(ctx context.Context, from swept, limit int) (found []store.Found, next string, err error) {
	for from.Shard < s.shards.count {
		left := limit - len(found)
		part, err := s.sweepShard(ctx, from, left)
		if err != nil {
			return nil, "", err
		}
		found = append(found, part...)
		if len(part) == left {
			from.After = []byte(nameOf(part[left-1].Key))
			return found, paging.Encode(from), nil
		}
		from = swept{Shard: from.Shard + 1}
	}
	return found, "", nil
}

// foundFields is how many values sweep.lua gives for each conversation.
const foundFields = 5

// sweepShard reads a part of one shard, with one run of sweep.lua.
func (s *Store) sweepShard(ctx context.Context, from swept, limit int) ([]store.Found, error) {
	values, err := s.scripts.sweep.run(ctx, s.client, s.shards.root(from.Shard),
		string(from.After), strconv.Itoa(limit)).AsStrSlice()
	if err != nil {
		return nil, err
	}
	var found []store.Found
	for fields := range slices.Chunk(values, foundFields) {
		f, err := decodeFound(fields)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}

// decodeFound reads the values of one conversation. A record that can't be read is an error
// of this conversation only; a name that can't be read fails the page.
func decodeFound(fields []string) (f store.Found, err error) {
	if len(fields) != foundFields {
		return f, fmt.Errorf("the script answered %q", fields)
	}
	if f.Key, err = keyOf(fields[0]); err != nil {
		return f, err
	}
	f.Snapshot, f.Err = decodeSnapshot(f.Key, fields[1], fields[2], fields[3])
	if fields[4] != "" {
		at, err := strconv.ParseFloat(fields[4], 64)
		if err != nil {
			return f, err
		}
		f.Timer = turn.Time(at)
	}
	return f, nil
}
