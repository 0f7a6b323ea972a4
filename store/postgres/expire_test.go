package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Expire never waits for a commit, which could then wait for it: it leaves for
// later what another transaction has locked.
func TestExpireDoesNotWaitForACommit(t *testing.T) {
	s := openNew(t)
	write := message(key("c"), store.Op{}, opOf(1), 1)
	write.Append[0].Status, write.Record.Phase, write.Timer = turn.InputAnswered, turn.Idle, 0
	mustCommit(t, s, write)
	write.Key, write.Append = key("empty"), nil
	mustCommit(t, s, write)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	err := s.withConnection(ctx, func(db *pgx.Conn) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			for _, table := range []string{"conversations", "entries", "message_ids"} {
				if _, err := tx.Exec(ctx, "SELECT FROM onereply."+table+" FOR UPDATE"); err != nil {
					return err
				}
			}
			if removed, err := s.Expire(ctx, start+1, start+1, 10); removed != 0 || err != nil {
				t.Errorf("Expire: got %d, %v; want nothing, at once", removed, err)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := s.Expire(ctx, start+1, start+1, 10); removed != 4 || err != nil {
		t.Errorf("Expire: got %d, %v; want an entry, an id and two conversations", removed, err)
	}
}
