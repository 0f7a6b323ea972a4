package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/store"
)

// groupOf are writes that are sent together.
func groupOf(t *testing.T, conversations ...string) []*pending {
	t.Helper()
	var group []*pending
	for i, conversation := range conversations {
		write := message(key(conversation), store.Op{}, opOf(uint64(i+1)), 1)
		arguments, err := encode(write)
		if err != nil {
			t.Fatal(err)
		}
		group = append(group, &pending{ctx: t.Context(), write: write, arguments: arguments, done: make(chan struct{})})
	}
	return group
}

// expectGroup waits for the answers, and expects those of the named conversations to
// be refused and all others applied.
func expectGroup(t *testing.T, s *Store, group []*pending, refused string) {
	t.Helper()
	for _, p := range group {
		receive(t, p.done, "the answer to a write")
		bad := p.write.Key.Conversation == refused
		if bad != errors.Is(p.err, store.ErrNotApplied) || !bad && p.answer.outcome != "ok" {
			t.Errorf("%v: got %q, %v", p.write.Key, p.answer.outcome, p.err)
		}
		if there := mustLoad(t, s, p.write.Key).Op; there.IsZero() != bad {
			t.Errorf("%v has the record %v", p.write.Key, there)
		}
	}
}

// Writes that wait at the same time share transactions.
func TestWritesShareTransactions(t *testing.T) {
	s := openNew(t)
	const writers = 200
	var ops ops
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() { mustCommit(t, s, message(key(fmt.Sprint(i)), store.Op{}, ops.Next(), 1)) })
	}
	group.Wait()
	transactions := read[int](t, s, `SELECT count(DISTINCT xmin::text) FROM onereply.conversations`)
	if transactions > writers/2 {
		t.Errorf("%d writes took %d transactions", writers, transactions)
	}
}

// What the server refuses fails alone, and the rest of its group is applied.
func TestARefusedWriteFailsAlone(t *testing.T) {
	s := openNew(t)
	sql(t, s, `ALTER TABLE onereply.conversations ADD CHECK (conversation <> 'bad')`)
	group := groupOf(t, "a", "bad", "c")
	s.groups.together(group)
	expectGroup(t, s, group, "bad")
}

// The answers come before the end of the transaction. A transaction that fails at its
// end has written nothing, whatever was answered.
func TestAnAnswerCountsOnceItsTransactionEnded(t *testing.T) {
	s := openNew(t)
	sql(t, s, `CREATE FUNCTION onereply.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused at the end'; END $$`)
	sql(t, s, `CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON onereply.conversations DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW WHEN (NEW.conversation = 'bad') EXECUTE FUNCTION onereply.refuse()`)
	for _, conversations := range [][]string{{"bad"}, {"a", "bad", "c"}} {
		group := groupOf(t, conversations...)
		s.groups.together(group)
		expectGroup(t, s, group, "bad")
	}
}

// A conversation that somebody has locked delays no other, and is written once it is
// free. More of them than groups can be under way are no obstacle.
func TestALockedConversationDelaysNoOther(t *testing.T) {
	s := openNew(t)
	var ops ops
	locked := make([]store.Op, maxGroups+2)
	name := func(i int) store.Key { return key(fmt.Sprint("locked", i)) }
	for i := range locked {
		locked[i] = ops.Next()
		mustCommit(t, s, message(name(i), store.Op{}, locked[i], 1))
	}
	var waiting sync.WaitGroup
	err := s.withConnection(t.Context(), func(db *pgx.Conn) error {
		return pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `SELECT FROM onereply.conversations FOR UPDATE`); err != nil {
				return err
			}
			for i := range locked {
				waiting.Go(func() { mustCommit(t, s, message(name(i), locked[i], ops.Next(), 2)) })
			}
			for i := range 50 {
				mustCommit(t, s, message(key(fmt.Sprint("free", i)), store.Op{}, ops.Next(), 1))
			}
			for i := range locked {
				if there := mustLoad(t, s, name(i)).Op; there != locked[i] {
					t.Errorf("%v was written: the test proves nothing", name(i))
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
}

// A write whose context ends before it is sent never is.
func TestAWriteThatWaitsCanBeWithdrawn(t *testing.T) {
	s := openNew(t)
	s.groups.running = maxGroups // nobody takes it
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Commit(ctx, message(key("c"), store.Op{}, opOf(1), 1)); !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: got %v, want ErrNotApplied", err)
	}
	s.groups.running = 0
	mustCommit(t, s, message(key("d"), store.Op{}, opOf(2), 1))
	if there := mustLoad(t, s, key("c")).Op; !there.IsZero() {
		t.Error("it was written all the same")
	}
}

// A group goes on as long as one of its callers waits.
func TestAGroupOutlivesACallerThatGaveUp(t *testing.T) {
	left, leave := context.WithCancel(t.Context())
	stays, end := context.WithCancel(t.Context())
	ctx, cancel := contextOf([]*pending{{ctx: left}, {ctx: stays}})
	defer cancel()
	leave()
	if poll := ctx.Err(); poll != nil {
		t.Errorf("it ended with the first: %v", poll)
	}
	end()
	receive(t, ctx.Done(), "the end of the group's context")
}
