package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// In: now, limit, the time to move to, the bots that are wanted or nothing, the
// newest schema of a record that the caller knows. Out: the timers that were
// moved, as they were, earliest first.
// Races: it locks the rows and skips those that another node's claim, or a
// commit, has locked, so that two nodes never get one timer and never wait for
// each other; a row that was moved meanwhile is compared again. The locks last as
// long as this statement.
const claimTimers = `WITH due AS (
		SELECT t.conversation_id, t.due_ms FROM onereply.timers AS t
		JOIN onereply.conversations AS c ON c.id = t.conversation_id
		WHERE t.due_ms <= $1::bigint AND ($4::text[] IS NULL OR c.bot = ANY ($4::text[])) AND c.schema <= $5::int
		ORDER BY t.due_ms LIMIT $2::bigint FOR UPDATE OF t SKIP LOCKED
	), moved AS (
		UPDATE onereply.timers AS t SET due_ms = $3::bigint FROM due WHERE t.conversation_id = due.conversation_id
	)
	SELECT due.due_ms, c.bot, c.conversation
	FROM due JOIN onereply.conversations AS c ON c.id = due.conversation_id ORDER BY due.due_ms`

// In: time, limit, the bots that are wanted or nothing. Out: timers up to then, earliest
// first. It locks nothing, so another node may claim the same timers a moment later.
const dueTimers = `SELECT t.due_ms, c.bot, c.conversation
	FROM onereply.timers AS t JOIN onereply.conversations AS c ON c.id = t.conversation_id
	WHERE t.due_ms <= $1::bigint AND ($3::text[] IS NULL OR c.bot = ANY ($3::text[]))
	ORDER BY t.due_ms LIMIT $2::bigint`

// Out: the server's clock, which is the same for all nodes.
const readClock = `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// Claim implements [store.Store]. It is one statement, so a claim whose answer was lost
// has moved its timers or has not: those that it moved come back after hold.
func (s *Store) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
	timers, err := s.timers(ctx, claimTimers, int64(now), max(limit, 0), int64(now.Add(hold)), bots, turn.Schema)
	if err != nil {
		return nil, s.failed(err, "claim timers")
	}
	return timers, nil
}

// Due implements [store.Store].
func (s *Store) Due(ctx context.Context, until turn.Time, limit int, bots ...string) ([]store.Timer, error) {
	timers, err := s.timers(ctx, dueTimers, int64(until), max(limit, 0), bots)
	if err != nil {
		return nil, s.failed(err, "due timers")
	}
	return timers, nil
}

// timers runs a statement that gives a timer in each row: its time, bot and conversation.
func (s *Store) timers(ctx context.Context, query string, arguments ...any) ([]store.Timer, error) {
	var timers []store.Timer
	err := s.queryEach(ctx, query, arguments, func(row pgx.Rows) error {
		var timer store.Timer
		err := row.Scan((*int64)(&timer.At), &timer.Key.Bot, &timer.Key.Conversation)
		timers = append(timers, timer)
		return err
	})
	return timers, err
}

// Now implements [store.Store]. It is the clock of the server.
func (s *Store) Now(ctx context.Context) (turn.Time, error) {
	var now int64
	if err := s.queryOne(ctx, readClock, nil, &now); err != nil {
		return 0, s.failed(err, "read the clock")
	}
	return turn.Time(now), nil
}
