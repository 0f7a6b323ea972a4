package redis

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// claimRounds is how often a claim that lost every timer to other nodes looks
// for more. After that it returns none: the other nodes are at work, and the next
// claim comes soon.
const claimRounds = 3

// maxPart is how many timers are read of a shard at once to find those that are
// wanted behind others.
const maxPart = 10_000

// leftMark stands before the name of what claim.lua left to a newer program, or
// removed since its record is lost. No name begins with it.
const leftMark = "!"

// Due implements [store.Store].
func (s *Store) Due(ctx context.Context, until turn.Time, limit int, bots ...string) ([]store.Timer, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, s.failed(err, "due timers")
	}
	defer end()
	due, err := s.due(ctx, until, limit, func(key store.Key) bool {
		return len(bots) == 0 || slices.Contains(bots, key.Bot)
	})
	if err != nil {
		return nil, s.failed(err, "due timers")
	}
	return due, nil
}

// due asks all shards for timers that are wanted, and merges. The answers that come
// count: a server of a cluster that is down must not stop the timers of the others. It
// takes at most half of the time that is left, so that some is left to claim what it
// found.
//
// A sorted set can't select by bot, so unwanted timers are read too. The first round reads
// limit timers of each shard. A shard whose part was full, but held fewer wanted ones than
// limit, is read further, each time four times as many, up to 10,000 (or limit, if that is
// more).
func (s *Store) due(ctx context.Context, until turn.Time, limit int, wanted func(store.Key) bool) ([]store.Timer, error) {
	ctx, cancel := halfOf(ctx)
	defer cancel()
	var due []store.Timer
	var failure error
	someAnswered := false
	skipped, count := 0, limit
	for roots := s.shards.roots(); limit > 0 && len(roots) > 0; skipped, count = skipped+count, min(4*count, max(limit, maxPart)) {
		var full []string
		for i, result := range s.dueIn(ctx, roots, until, count, skipped) {
			scores, err := result.AsZScores()
			if err != nil {
				failure = err
				continue
			}
			someAnswered = true
			found := timersOf(scores, wanted)
			if len(scores) == count && len(found) < limit { // there may be more behind what is not wanted
				full = append(full, roots[i])
			}
			due = append(due, found...)
		}
		roots = full
	}
	if failure != nil && !someAnswered {
		return nil, failure
	}
	slices.SortFunc(due, func(a, b store.Timer) int {
		return cmp.Or(cmp.Compare(a.At, b.At), a.Key.Compare(b.Key))
	})
	return due[:min(max(limit, 0), len(due))], nil
}

// halfOf is a context that ends after half of the time that is left. A first step that
// gets no answer then leaves time for a second one.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, bounded := ctx.Deadline(); bounded {
		return context.WithTimeout(ctx, time.Until(deadline)/2)
	}
	return context.WithCancel(ctx)
}

// dueIn reads a part of what is due in some shards, one command for each, in one round
// trip to each server. A timer that moves between the readings of two parts may be
// missed, and is then found by the next call, or read twice.
func (s *Store) dueIn(ctx context.Context, roots []string, until turn.Time, count, skipped int) []rueidis.RedisResult {
	var commands []rueidis.Completed
	for _, root := range roots {
		commands = append(commands, s.client.B().Zrange().Key(root+":timers").Min("-inf").Max(decimal(int64(until))).
			Byscore().Limit(int64(skipped), int64(count)).Withscores().Build())
	}
	return send(ctx, s.client, commands)
}

// timersOf are the wanted ones. A member of the set that is no name of ours, since somebody
// else put it there, is left out: it must not stop the others.
func timersOf(scores []rueidis.ZScore, wanted func(store.Key) bool) (timers []store.Timer) {
	for _, score := range scores {
		if key, err := keyOf(score.Member); err == nil && wanted(key) {
			timers = append(timers, store.Timer{Key: key, At: turn.Time(score.Score)})
		}
	}
	return timers
}

// Claim implements [store.Store]. It reads what is due in all shards, and then
// pushes the earliest in each shard by a script, which leaves out those that
// another node has pushed meanwhile, and those of newer programs. So no two
// callers get the same one. Where nothing is due it only reads. If the outcome of
// a push is unknown, the timers that it moved come back after hold.
func (s *Store) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, s.failed(err, "claim timers")
	}
	defer end()
	claimed, err := s.claim(ctx, now, limit, now.Add(hold), bots)
	if err != nil {
		return nil, s.failed(err, "claim timers")
	}
	return claimed, nil
}

// claim reads what is due and pushes it, again and again until it has pushed some, nothing
// is due, or other nodes were faster claimRounds times. Timers of newer programs are
// remembered for the rest of the call, so the next reading looks behind them.
func (s *Store) claim(ctx context.Context, now turn.Time, limit int, to turn.Time, bots []string) ([]store.Timer, error) {
	newer := make(map[store.Key]bool)
	wanted := func(key store.Key) bool {
		return (len(bots) == 0 || slices.Contains(bots, key.Bot)) && !newer[key]
	}
	for round := 0; round < claimRounds; {
		due, err := s.due(ctx, now, limit, wanted)
		if err != nil || len(due) == 0 {
			return nil, err
		}
		known := len(newer)
		claimed, err := s.push(ctx, due, to, newer)
		if err != nil || len(claimed) > 0 {
			return claimed, err
		}
		if len(newer) == known {
			round++ // other nodes were faster; else timers of this program may stand behind newer ones
		}
	}
	return nil, nil
}

// push moves timers, and returns those that were still where they were. Those that
// it left to newer programs are added to newer.
func (s *Store) push(ctx context.Context, due []store.Timer, to turn.Time, newer map[store.Key]bool) ([]store.Timer, error) {
	byShard := make(map[string][]string)
	for _, timer := range due {
		name := nameOf(timer.Key)
		root := s.shards.of(name)
		byShard[root] = append(byShard[root], name, decimal(int64(timer.At)))
	}
	var calls []call
	for root, timers := range byShard {
		calls = append(calls, call{root, append([]string{decimal(int64(to)), strconv.Itoa(turn.Schema)}, timers...)})
	}
	pushed := make(map[string]bool)
	var failure error
	for _, result := range s.scripts.claim.runAll(ctx, s.client, calls) {
		names, err := result.AsStrSlice()
		if err != nil {
			failure = err
		}
		for _, name := range names {
			if left, ok := strings.CutPrefix(name, leftMark); ok {
				if key, err := keyOf(left); err == nil {
					newer[key] = true
				}
				continue
			}
			pushed[name] = true
		}
	}
	if len(pushed) == 0 && failure != nil {
		return nil, failure
	}
	return slices.DeleteFunc(due, func(t store.Timer) bool { return !pushed[nameOf(t.Key)] }), nil
}
