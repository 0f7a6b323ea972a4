package sqlite

import (
	"context"
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

// In: time, limit. Out: timers up to then, earliest first, as one transaction
// left them.
const dueTimers = `SELECT t.due_ms, c.bot, c.conversation, t.conversation_id
	FROM timers AS t JOIN conversations AS c ON c.id = t.conversation_id
	WHERE t.due_ms <= ?1 ORDER BY t.due_ms LIMIT ?2`

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
func (s *Store) Due(ctx context.Context, until turn.Time, limit int) ([]store.Timer, error) {
	var due []store.Timer
	err := s.read(ctx, func(db *connection) (err error) {
		due, _, err = selectDue(db, until, limit)
		return err
	}, "due timers")
	return due, err
}

// Claim implements [store.Store]. It reads and moves the timers in one
// transaction of the only writer, so no two callers get the same one.
func (s *Store) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration) ([]store.Timer, error) {
	var due []store.Timer
	err := s.write(ctx, func(db *connection) error {
		timers, conversations, err := selectDue(db, now, limit)
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

// selectDue returns timers, and the numbers of their conversations.
func selectDue(db *connection, until turn.Time, limit int) (due []store.Timer, conversations []int64, err error) {
	err = db.each(func(row *sqlite3.Stmt) error {
		due = append(due, store.Timer{
			At:  turn.Time(row.ColumnInt64(0)),
			Key: store.Key{Bot: row.ColumnText(1), Conversation: row.ColumnText(2)},
		})
		conversations = append(conversations, row.ColumnInt64(3))
		return nil
	}, dueTimers, int64(until), max(limit, 0))
	return due, conversations, err
}
