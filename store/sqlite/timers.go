package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// In: conversation, time. Out: nothing. It is part of the write of the record,
// so a timer and the record that it belongs to can't come apart.
const armTimer = `INSERT INTO timers (conversation_id, due_ms) VALUES (?1, ?2)
	ON CONFLICT DO UPDATE SET due_ms = excluded.due_ms WHERE due_ms <> excluded.due_ms`

// In: conversation. Out: nothing. Part of a write, as above.
const clearTimer = `DELETE FROM timers WHERE conversation_id = ?1`

// In: time. Out: timers up to then, earliest first, as one transaction left them.
// The reader stops when it has enough.
const dueTimers = `SELECT t.due_ms, c.bot, c.conversation, t.conversation_id, c.schema
	FROM timers AS t JOIN conversations AS c ON c.id = t.conversation_id
	WHERE t.due_ms <= ?1 ORDER BY t.due_ms`

// A timer is when somebody must look at a conversation next. It has a table of its own,
// and no statement but these writes to it: saving a record can't lose a timer. A node
// claims the timer before it looks at the conversation. The claim moves the timer into
// the future, so that it comes back if the node dies.

// setTimer arms or clears the timer of a conversation.
func setTimer(db *connection, conversation int64, at turn.Time) error {
	if at == 0 {
		_, err := db.run(clearTimer, conversation)
		return err
	}
	_, err := db.run(armTimer, conversation, int64(at))
	return err
}

// Due implements [store.Store].
func (s *Store) Due(ctx context.Context, until turn.Time, limit int, bots ...string) ([]store.Timer, error) {
	var due []store.Timer
	err := s.read(ctx, func(db *connection) (err error) {
		due, _, err = selectDue(db, until, limit, func(bot string, _ int) bool {
			return len(bots) == 0 || slices.Contains(bots, bot)
		})
		return err
	}, "due timers")
	return due, err
}

// Claim implements [store.Store]. It reads and moves the timers in one
// transaction of the only writer, so no two callers get the same one.
func (s *Store) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
	var due []store.Timer
	err := s.write(ctx, func(db *connection) error {
		timers, conversations, err := selectDue(db, now, limit, func(bot string, schema int) bool {
			return (len(bots) == 0 || slices.Contains(bots, bot)) && schema <= turn.Schema
		})
		if err != nil {
			return err
		}
		for _, id := range conversations {
			if err := setTimer(db, id, now.Add(hold)); err != nil {
				return err
			}
		}
		due = timers
		return nil
	}, "claim timers")
	if err != nil {
		return nil, err
	}
	return due, nil
}

// errEnough ends a query whose reader has enough rows.
var errEnough = errors.New("enough")

// selectDue returns timers of conversations that are wanted, by bot and schema,
// and the numbers of these.
func selectDue(db *connection, until turn.Time, limit int, wanted func(bot string, schema int) bool) (due []store.Timer, conversations []int64, err error) {
	if limit <= 0 {
		return nil, nil, nil
	}
	err = db.each(func(row *sqlite3.Stmt) error {
		bot := row.ColumnText(1)
		if !wanted(bot, row.ColumnInt(4)) {
			return nil
		}
		due = append(due, store.Timer{
			At:  turn.Time(row.ColumnInt64(0)),
			Key: store.Key{Bot: bot, Conversation: row.ColumnText(2)},
		})
		conversations = append(conversations, row.ColumnInt64(3))
		if len(due) == limit {
			return errEnough
		}
		return nil
	}, dueTimers, int64(until))
	if err != nil && !errors.Is(err, errEnough) {
		return nil, nil, err
	}
	return due, conversations, nil
}
