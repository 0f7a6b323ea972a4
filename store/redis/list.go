package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// shownPhases are the lists that a bot has in each shard. The variable lists in
// conversation.lua names the same, and attention.
func shownPhases() []turn.Phase {
	return []turn.Phase{turn.Idle, turn.Collecting, turn.Generating, turn.Sending, turn.Failed, turn.Paused, turn.Alias}
}

// Load implements [store.Store]. One command reads all fields, so the Op and the record
// are of one write.
func (s *Store) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return store.Snapshot{}, s.failed(err, "load %v", key)
	}
	defer end()
	items, err := s.records(ctx, []store.Key{key})
	if err == nil {
		err = items[0].Err
	}
	if err != nil {
		return store.Snapshot{}, s.failed(err, "load %v", key)
	}
	return items[0].Snapshot, nil
}

// records reads records in one round trip. Those that are not there are zero, and those
// that can't be read have an error of their own. A failure of the server fails all: a
// page with holes would look like conversations that are gone.
func (s *Store) records(ctx context.Context, keys []store.Key) ([]store.Item, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var commands []rueidis.Completed
	for _, key := range keys {
		name := nameOf(key)
		commands = append(commands, s.client.B().Hmget().Key(s.shards.of(name)+":record:"+name).
			Field("op", "schema", "record").Build())
	}
	items := make([]store.Item, len(keys))
	for i, result := range send(ctx, s.client, commands) {
		fields, err := result.ToArray()
		if err != nil {
			return nil, err
		}
		var values [3]string
		for j := range min(len(fields), len(values)) {
			if values[j], err = fields[j].ToString(); err != nil && !isNothing(err) {
				return nil, err
			}
		}
		items[i].Key = keys[i]
		items[i].Snapshot, items[i].Err = decodeSnapshot(keys[i], values[0], values[1], values[2])
	}
	return items, nil
}

// decodeSnapshot refuses a record of a newer program before it tries to
// understand it.
func decodeSnapshot(key store.Key, op, schema, record string) (store.Snapshot, error) {
	var snapshot store.Snapshot
	if op == "" {
		return snapshot, nil
	}
	version, err := strconv.Atoi(schema)
	if err != nil || len(op) != len(snapshot.Op) {
		return snapshot, fmt.Errorf("the record of %v: %w: schema %q, op %q", key, store.ErrCorrupt, schema, op)
	}
	if err := store.CheckRecord(key, turn.Record{Schema: version}); err != nil {
		return snapshot, err
	}
	if err := storejson.ReadDocument([]byte(record), &snapshot); err != nil {
		return store.Snapshot{}, fmt.Errorf("the record of %v: %w: %w", key, store.ErrCorrupt, err)
	}
	copy(snapshot.Op[:], op)
	return snapshot, nil
}

// List implements [store.Store]. It merges the lists of all shards, phases and
// bots that the query selects: of one bot that is 7 for each shard, and of all
// bots so many for each of them.
func (s *Store) List(ctx context.Context, query store.ListQuery) (store.Page, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return store.Page{}, s.failed(err, "list")
	}
	defer end()
	page, err := s.list(ctx, query)
	if err != nil {
		return store.Page{}, s.failed(err, "list")
	}
	return page, nil
}

// list makes a page in three steps: which lists there are (bots), which conversations stand
// where in them (places), and their records (items). They are separate reads, so a
// conversation that is written to between them may be missed, which the contract allows.
func (s *Store) list(ctx context.Context, query store.ListQuery) (store.Page, error) {
	after, err := parsePlace(query.Cursor)
	if err != nil {
		return store.Page{}, err
	}
	limit := paging.Limit(query.Limit)
	calls, err := s.listCalls(ctx, query, after, limit+1) // one more tells whether there is a next page
	if err != nil {
		return store.Page{}, err
	}
	places, err := s.places(ctx, calls)
	if err != nil {
		return store.Page{}, err
	}
	var page store.Page
	if len(places) > limit {
		places = places[:limit]
		page.Next = places[limit-1].String()
	}
	page.Items, err = s.items(ctx, places, query)
	return page, err
}

// listCalls are the runs of list.lua for a page. Each reads as many as the whole page has,
// since all of them may come from one list.
func (s *Store) listCalls(ctx context.Context, query store.ListQuery, after *place, limit int) ([]call, error) {
	phases := listsOf(query)
	bots, err := s.bots(ctx, query.Bot)
	if err != nil {
		return nil, err
	}
	var calls []call
	for root, names := range bots {
		for _, bot := range names {
			score, name := after.in(bot)
			for _, phase := range phases {
				calls = append(calls, call{root, []string{string(phase), bot, score, name, strconv.Itoa(limit)}})
			}
		}
	}
	return calls, nil
}

// bots returns the bots that are listed, by the root of each shard that has
// conversations of theirs.
func (s *Store) bots(ctx context.Context, one string) (map[string][]string, error) {
	bots := make(map[string][]string)
	roots := s.shards.roots()
	if one != "" {
		for _, root := range roots {
			bots[root] = []string{one}
		}
		return bots, nil
	}
	var commands []rueidis.Completed
	for _, root := range roots {
		commands = append(commands, s.client.B().Hkeys().Key(root+":bots").Build())
	}
	for i, result := range send(ctx, s.client, commands) {
		names, err := result.AsStrSlice()
		if err != nil {
			return nil, err
		}
		bots[roots[i]] = names
	}
	return bots, nil
}

// places reads lists and merges them, newest first.
func (s *Store) places(ctx context.Context, calls []call) ([]place, error) {
	var places []place
	for _, result := range s.scripts.list.runAll(ctx, s.client, calls) {
		texts, err := result.AsStrSlice()
		if err != nil {
			return nil, err
		}
		for pair := range slices.Chunk(texts, 2) {
			p, err := listedPlace(pair)
			if err != nil {
				return nil, err
			}
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.Active, a.Active), a.Key.Compare(b.Key))
	})
	// A conversation that changed its phase between two reads is in both lists.
	return slices.CompactFunc(places, func(a, b place) bool { return a.Key == b.Key }), nil
}

// listedPlace reads a member of a list and its score, which is the time of the last write
// in milliseconds, negated: sorted sets go up, and lists begin with the newest.
func listedPlace(pair []string) (p place, err error) {
	if len(pair) != 2 {
		return p, fmt.Errorf("the script answered %q", pair)
	}
	if p.Key, err = keyOf(pair[0]); err != nil {
		return p, err
	}
	score, err := strconv.ParseFloat(pair[1], 64)
	p.Active = -turn.Time(score)
	return p, err
}

// items loads the records at places. A conversation that has left the list meanwhile is
// left out.
func (s *Store) items(ctx context.Context, places []place, query store.ListQuery) ([]store.Item, error) {
	keys := make([]store.Key, len(places))
	for i, p := range places {
		keys[i] = p.Key
	}
	records, err := s.records(ctx, keys)
	if err != nil {
		return nil, err
	}
	var items []store.Item
	for i, item := range records {
		item.Active = places[i].Active
		gone := item.Snapshot.Op.IsZero() || !selects(query, item.Snapshot.Record)
		if item.Err != nil || !gone { // a record that can't be read stands where it was written
			items = append(items, item)
		}
	}
	return items, nil
}

// place is where a page of a list ended. It is a time and a key, not a rank, so writes
// between two pages do not shift it.
type place struct {
	Active turn.Time
	Key    store.Key
}

// in returns after which score and name the list of a bot goes on; nil is the
// place before all.
func (p *place) in(bot string) (score, name string) {
	switch {
	case p == nil:
		return "-inf", ""
	case bot < p.Key.Bot:
		return decimal(-int64(p.Active)), "\xff" // after all of that time: names begin with a digit
	case bot > p.Key.Bot:
		return decimal(-int64(p.Active)), ""
	}
	return decimal(-int64(p.Active)), nameOf(p.Key)
}

// String is the place as a cursor.
func (p place) String() string { return paging.Encode(p) }

// parsePlace is the inverse of String; "" gives nil.
func parsePlace(cursor string) (*place, error) {
	if cursor == "" {
		return nil, nil
	}
	p := new(place)
	if err := paging.Decode(cursor, p); err != nil {
		return nil, err
	}
	return p, nil
}
