package maintenance

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/store/postgres"
	"github.com/onereply/onereply/store/redis"
	"github.com/onereply/onereply/store/sqlite"
	"github.com/onereply/onereply/turn"
)

// start is the time of all writes: some moment in 2025.
const start turn.Time = 1_750_000_000_000

// later is a wake-up that is not due when the tests run.
const later = start + 1<<42

// stores open an empty store of each kind.
var stores = map[string]func(t *testing.T) store.Store{
	"memory": func(*testing.T) store.Store { return memory.New() },
	"sqlite": func(t *testing.T) store.Store {
		return opened(t)(sqlite.Open(filepath.Join(t.TempDir(), "onereply.db"), sqlite.Options{}))
	},
	"postgres": func(t *testing.T) store.Store {
		return opened(t)(postgres.Open(t.Context(), testservers.Postgres(t), postgres.Options{}))
	},
	"redis": func(t *testing.T) store.Store {
		return opened(t)(redis.Open(t.Context(), testservers.Redis(t), redis.Options{Prefix: rand.Text(), Shards: 3}))
	},
}

// opened closes a store at the end of the test.
func opened(t *testing.T) func(s store.Store, err error) store.Store {
	return func(s store.Store, err error) store.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
}

func keyOf(conversation string) store.Key {
	return store.Key{Bot: "support", Conversation: conversation}
}

// message is one that was answered by the reply, or waits if that is 0.
func message(seq, version, reply int64) store.Entry {
	e := store.Entry{
		Seq: seq, Kind: store.Message, ID: fmt.Sprint("m", seq), Status: turn.InputPending,
		At: start + turn.Time(seq), Version: version, ReplySeq: reply, Body: store.Body{Text: "a text"},
	}
	if reply != 0 {
		e.Status = turn.InputAnswered
	}
	return e
}

// sent is a reply that was sent.
func sent(seq, version int64, covers ...string) store.Entry {
	return store.Entry{
		Seq: seq, Kind: store.Reply, ID: fmt.Sprint("c/", seq), Status: turn.ReplySent,
		At: start + turn.Time(seq), Version: version, Body: store.Body{Text: "a reply", Covers: covers},
	}
}

// idle is a conversation in which each of n messages has its reply.
func idle(conversation string, n int64) store.Write {
	w := store.Write{Key: keyOf(conversation), Op: newOp(), At: start + turn.Time(n)}
	w.Log.Trace = w.Log.Trace.Add(turn.Notice{Kind: turn.KindTurnScheduled, At: start})
	w.Log = w.Log.Audited(store.AuditEntry{At: start, Action: "pause", By: "ann"})
	w.Record = turn.Record{
		Schema: turn.Schema, Phase: turn.Idle, Version: n, Answered: n, Turn: n, Seq: 2 * n, AfterSeq: 2 * n,
	}
	for i := int64(1); i <= n; i++ {
		w.Append = append(w.Append, message(2*i-1, i, 2*i), sent(2*i, i, fmt.Sprint("m", 2*i-1)))
	}
	return w
}

// waiting is a conversation that goes on after an idle one: one message waits.
func waiting(conversation string, answered int64) store.Write {
	w := idle(conversation, answered)
	r := &w.Record
	r.Version++
	r.Seq++
	r.Pending = 1
	r.Phase, r.Window.WaitingSince, r.Window.Start, r.Window.QuietUntil, r.Window.Due = turn.Collecting, start, start, later, later+turn.Time(answered)
	w.Append = append(w.Append, message(r.Seq, r.Version, 0))
	w.Timer = r.Window.Due
	return w
}

// generating is waiting, while a node works on it.
func generating(conversation string, answered int64) store.Write {
	w := waiting(conversation, answered)
	r := &w.Record
	r.Phase, r.Attempt.Through, r.Attempt.ThroughSeq, r.Tries.Runs, r.Tries.Attempts, r.Token = turn.Generating, r.Version, r.Seq, 1, 1, 7
	r.Lease = turn.Lease{Holder: "node", Nonce: "nonce", Token: 7, Expires: r.Window.Due}
	return w
}

// sending is generating, with a reply on its way.
func sending(conversation string, answered int64) store.Write {
	w := generating(conversation, answered)
	r := &w.Record
	r.Phase = turn.Sending
	r.Seq++
	r.Turn++
	r.Reply = &turn.Reply{
		Turn: r.Turn, Seq: r.Seq, Through: r.Attempt.Through, From: r.Answered, AfterSeq: r.AfterSeq, ThroughSeq: r.Attempt.ThroughSeq,
		Parts: 1, Since: start, RetryAt: later,
	}
	reply := sent(r.Seq, r.Version, fmt.Sprint("m", r.Seq-1))
	reply.Status = turn.ReplyCommitted
	w.Append = append(w.Append, reply)
	return w
}

// seed writes conversations of every kind; long ones need several pages.
func seed(t *testing.T, s store.Store) []store.Write {
	t.Helper()
	empty := idle("empty", 0)
	empty.Record.OnHold, empty.Record.PauseReason = true, "a human has it"
	all := []store.Write{empty, idle("short", 1), idle("long", 4), waiting("waiting", 2), generating("generating", 3), sending("sending", 1)}
	for _, w := range all {
		put(t, s, w)
	}
	return all
}

func put(t *testing.T, s store.Store, w store.Write) {
	t.Helper()
	result, err := s.Commit(t.Context(), w)
	if err != nil || result.Status != store.OK {
		t.Fatalf("Commit %v: %v, %v", w.Key, result.Status, err)
	}
}
