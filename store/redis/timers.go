package redis

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// claimRounds is how often a claim that lost every timer to other nodes looks
// for more.
const claimRounds = 3

// Due implements [store.Store].
func (s *Store) Due(ctx context.Context, until turn.Time, limit int) ([]store.Timer, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, s.failed(err, "due timers")
	}
	defer end()
	due, err := s.due(ctx, until, limit)
	if err != nil {
		return nil, s.failed(err, "due timers")
	}
	return due, nil
}

// due asks all shards, and merges.
func (s *Store) due(ctx context.Context, until turn.Time, limit int) ([]store.Timer, error) {
	if limit <= 0 {
		return nil, nil
	}
	var commands []rueidis.Completed
	for _, root := range s.shards.roots() {
		commands = append(commands, s.client.B().Zrange().Key(root+":timers").Min("-inf").Max(decimal(int64(until))).
			Byscore().Limit(0, int64(limit)).Withscores().Build())
	}
	var due []store.Timer
	for _, result := range send(ctx, s.client, commands) {
		scores, err := result.AsZScores()
		if err != nil {
			return nil, err
		}
		for _, score := range scores {
			key, err := keyOf(score.Member)
			if err != nil {
				return nil, err
			}
			due = append(due, store.Timer{Key: key, At: turn.Time(score.Score)})
		}
	}
	slices.SortFunc(due, func(a, b store.Timer) int {
		return cmp.Or(cmp.Compare(a.At, b.At), a.Key.Compare(b.Key))
	})
	return due[:min(limit, len(due))], nil
}

// Claim implements [store.Store]. It reads what is due in all shards, and then
// pushes the earliest in each shard by a script, which leaves out those that
// another node has pushed meanwhile. So no two callers get the same one. Where
// nothing is due it only reads. If the outcome of a push is unknown, the timers
// that it moved come back after hold.
func (s *Store) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration) ([]store.Timer, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, s.failed(err, "claim timers")
	}
	defer end()
	for range claimRounds {
		due, err := s.due(ctx, now, limit)
		if err != nil {
			return nil, s.failed(err, "claim timers")
		}
		claimed, err := s.push(ctx, due, now.Add(hold))
		if err != nil {
			return nil, s.failed(err, "claim timers")
		}
		if len(claimed) > 0 || len(due) == 0 {
			return claimed, nil
		}
	}
	return nil, nil
}

// push moves timers, and returns those that were still where they were.
func (s *Store) push(ctx context.Context, due []store.Timer, to turn.Time) ([]store.Timer, error) {
	byShard := make(map[string][]string)
	for _, timer := range due {
		name := nameOf(timer.Key)
		root := s.shards.of(name)
		byShard[root] = append(byShard[root], name, decimal(int64(timer.At)))
	}
	var calls []call
	for root, timers := range byShard {
		calls = append(calls, call{root, append([]string{decimal(int64(to))}, timers...)})
	}
	pushed := make(map[string]bool)
	var failure error
	for _, result := range s.scripts.claim.runAll(ctx, s.client, calls) {
		names, err := result.AsStrSlice()
		if err != nil {
			failure = err
		}
		for _, name := range names {
			pushed[name] = true
		}
	}
	if len(pushed) == 0 && failure != nil {
		return nil, failure
	}
	return slices.DeleteFunc(due, func(t store.Timer) bool { return !pushed[nameOf(t.Key)] }), nil
}
