package storetest

import (
	"math/rand/v2"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// call is one random call with all that was drawn for it. It makes the call on
// both stores of a pair and compares the answers. What depends on the calls
// before it, such as the record that a write expects, it finds out when it
// runs, so that it still means something when some of them are left out.
type call func(*pair)

// The names that calls draw from: few, so that they meet.
var (
	drawnKeys = []store.Key{
		{Bot: "a:b", Conversation: "c"}, {Bot: "a", Conversation: "b:c"}, {Bot: "é", Conversation: `"'%`},
	}
	drawnIDs    = []string{"m1", "m2", "m3", "m4", "m5", "M1", "m'", "m%", "m"}
	drawnPhases = []turn.Phase{
		turn.Idle, turn.Idle, turn.Collecting, turn.Collecting, turn.Generating, turn.Sending, turn.Failed,
	}
)

func drawCalls(r *rand.Rand, steps int) []call {
	kinds := []func(*rand.Rand) call{
		drawClaim, drawDue, drawEntries, drawList, drawDelete, drawExpire,
	}
	var calls []call
	for range steps {
		draw := drawCommit // the others live on writes
		if oneIn(r, 3) {
			draw = pick(r, kinds)
		}
		calls = append(calls, draw(r))
	}
	return calls
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func oneIn(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// between draws from low to high, both included.
func between(r *rand.Rand, low, high int) int { return low + r.IntN(high-low+1) }

// moment is one of a few times, so that many are equal.
func moment(r *rand.Rand) turn.Time { return start + turn.Time(between(r, 0, 20)) }

// since is a time as people read it in a history.
func since(t turn.Time) turn.Time {
	if t == 0 {
		return 0
	}
	return t - start
}

func drawClaim(r *rand.Rand) call {
	now, atMost, hold := moment(r), between(r, 1, 3), time.Duration(between(r, 0, 10))*time.Millisecond
	bots := pick(r, [][]string{nil, nil, {"a"}, {"é"}, {"a:b"}, {"é", "a:b"}})
	return func(p *pair) {
		limit := p.withoutTie(now, atMost, bots...)
		p.note("Claim now %d limit %d hold %v of %q", since(now), limit, hold, bots)
		got, err := p.subject.Claim(p.ctx, now, limit, hold, bots...)
		want, wantErr := p.oracle.Claim(p.ctx, now, limit, hold, bots...)
		p.both("Claim", err, wantErr)
		equalLists(p, "Claim", byTimeAndKey(got), byTimeAndKey(want))
		p.compareTimers()
	}
}

func drawDue(r *rand.Rand) call {
	until, atMost := moment(r), between(r, 1, 3)
	bots := pick(r, [][]string{nil, nil, {"a"}, {"é", "a:b"}})
	return func(p *pair) {
		limit := p.withoutTie(until, atMost, bots...)
		p.note("Due until %d limit %d of %q", since(until), limit, bots)
		got, err := p.subject.Due(p.ctx, until, limit, bots...)
		want, wantErr := p.oracle.Due(p.ctx, until, limit, bots...)
		p.both("Due", err, wantErr)
		equalLists(p, "Due", byTimeAndKey(got), byTimeAndKey(want))
		p.compareTimers()
	}
}

func drawEntries(r *rand.Rand) call {
	key, query := pick(r, drawnKeys), store.EntryQuery{Limit: between(r, 0, 4), Backward: oneIn(r, 2)}
	if oneIn(r, 2) {
		query.Bytes = between(r, 1, 400)
	}
	if oneIn(r, 2) {
		query.After = int64(between(r, 1, 10))
	}
	if oneIn(r, 2) {
		query.Before = int64(between(r, 1, 20))
	}
	if oneIn(r, 3) {
		query.ID = pick(r, drawnIDs)
	}
	if oneIn(r, 3) {
		query.Status = pick(r, []turn.Status{turn.InputPending, turn.InputAnswered, turn.InputFailed, turn.ReplySent})
	}
	return func(p *pair) {
		p.note("Entries of %v: %+v", key, query)
		p.compareEntries(key, query)
	}
}

func drawList(r *rand.Rand) call {
	query := store.ListQuery{Limit: between(r, 1, 3)}
	if oneIn(r, 3) {
		query.Bot = pick(r, drawnKeys).Bot
	}
	if oneIn(r, 2) {
		query.Phase = pick(r, append([]turn.Phase{turn.Paused, turn.Paused}, drawnPhases...))
	}
	query.Attention = oneIn(r, 3)
	return func(p *pair) {
		p.note("List all pages of %+v", query)
		got, err := listAll(p.ctx, p.subject, query)
		want, wantErr := listAll(p.ctx, p.oracle, query)
		p.both("List", err, wantErr)
		equalLists(p, "List", got, want)
	}
}

func drawDelete(r *rand.Rand) call {
	key := pick(r, drawnKeys)
	return func(p *pair) {
		p.note("Delete %v", key)
		p.both("Delete", p.subject.Delete(p.ctx, key), p.oracle.Delete(p.ctx, key))
		p.compareAll()
	}
}

// drawExpire expires until nothing is left to remove, since a store may choose
// where it begins.
func drawExpire(r *rand.Rand) call {
	ids, limit := moment(r), between(r, 1, 5)
	entries := ids + turn.Time(between(r, 0, 5))
	return func(p *pair) {
		p.note("Expire entries before %d, ids before %d, by %d until done", since(entries), since(ids), limit)
		for _, of := range []store.Store{p.subject, p.oracle} {
			if err := expireAll(p.ctx, of, entries, ids, limit); err != nil {
				p.Fatalf("Expire of %s: %v", of.Guarantees().Name, err)
			}
		}
		p.compareAll()
	}
}
