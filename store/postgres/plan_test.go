package postgres

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// plantIdle makes conversations that wait for nothing: idle-1 to idle-count.
func plantIdle(t testing.TB, s *Store, count int) {
	t.Helper()
	record, err := toJSON(turn.Record{Schema: turn.Schema, Phase: turn.Idle, Version: 1, Answered: 1})
	if err != nil {
		t.Fatal(err)
	}
	sql(t, s, `INSERT INTO onereply.conversations (bot, conversation, phase, active_ms, last_seq, schema, attention, op, record)
		SELECT 'support', 'idle-' || n, 'idle', $2::bigint, 2, $3::int, false, $4::bytea, $5::text
		FROM generate_series(1, $1::int) AS n`, count, int64(start), turn.Schema, make([]byte, 16), record)
	sql(t, s, `ANALYZE`)
}

// Idle conversations cost a claim nothing: it reads as many pages with a hundred
// thousand of them as with none.
func TestIdleConversationsDoNotCostAClaim(t *testing.T) {
	s := openAt(t, testservers.Postgres(t))
	const waiting = 200
	for i := range waiting {
		mustCommit(t, s, message(key(string(rune('a'+i))), store.Op{}, opOf(uint64(i+1)), int64(i%10+1)))
	}
	sql(t, s, `ANALYZE`)
	alone := pagesOfClaim(t, s)
	plantIdle(t, s, 100_000)
	among := pagesOfClaim(t, s)
	if among > 2*alone {
		t.Errorf("a claim reads %d pages among idle conversations, and %d without them", among, alone)
	}
}

// pagesOfClaim claims ten timers and returns how many pages that touched.
func pagesOfClaim(t *testing.T, s *Store) int {
	t.Helper()
	now := start + 1500 + 10
	text := read[string](t, s, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+claimTimers,
		int64(now), 10, int64(now.Add(time.Millisecond)), []string{"support"}, turn.Schema)
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}
