package inspect

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// leases gives bots their leases, in seconds.
func leases(of ...any) map[string]time.Duration {
	all := map[string]time.Duration{}
	for i := 0; i < len(of); i += 2 {
		all[of[i].(string)] = time.Duration(of[i+1].(int)) * time.Second
	}
	return all
}

// late stores a conversation that waits since a while before now.
func late(t *testing.T, s store.Store, key store.Key, by time.Duration) {
	due := now.Add(-by)
	put(t, s, store.Write{Key: key, At: due, Timer: due, Record: turn.Record{Phase: turn.Collecting, Window: turn.Window{Due: due}, Pending: 1}})
}

func overdueNames(t *testing.T, s store.Store, q AttentionQuery) (names []string) {
	t.Helper()
	q.Now = now
	found, err := overdue(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		names = append(names, f.Key.Bot+"/"+f.Key.Conversation)
	}
	return names
}

// Each bot's conversations are overdue after two of its own leases, and not a
// millisecond sooner; those of a bot that this node does not have after a minute.
func TestEachBotIsOverdueByItsOwnLease(t *testing.T) {
	all := leases("quick", 1, "slow", 20, "middle", 5)
	for bot, bound := range map[string]time.Duration{"quick": 2 * time.Second, "slow": 40 * time.Second, "middle": 10 * time.Second, "gone": time.Minute} {
		for by, want := range map[time.Duration]int{0: 0, bound - time.Millisecond: 0, bound: 0, bound + time.Millisecond: 1, time.Hour: 1} {
			s := newStore()
			late(t, s, keyOf(bot, 1), by)
			for _, asked := range []string{"", bot} {
				if got := overdueNames(t, s, AttentionQuery{Bot: asked, Limit: 10, Leases: all}); len(got) != want {
					t.Errorf("%s, late by %v, asked for %q: %v, want %d", bot, by, asked, got, want)
				}
			}
			if got := overdueNames(t, s, AttentionQuery{Bot: "another", Limit: 10, Leases: all}); len(got) != 0 {
				t.Errorf("of another bot: %v", got)
			}
		}
	}
}

// This node's bots come first, then the others; within a group in the order of the
// timers. A page has no more than its limit, and may be full to the last place.
func TestOwnBotsComeFirst(t *testing.T) {
	s := newStore()
	late(t, s, keyOf("gone", 1), 5*time.Hour)
	late(t, s, keyOf("a", 2), 3*time.Hour)
	late(t, s, keyOf("b", 3), 4*time.Hour)
	late(t, s, keyOf("c", 4), 2*time.Hour)
	all := []string{"b/c0003", "a/c0002", "c/c0004", "gone/c0001"}
	for limit := 1; limit <= 5; limit++ {
		if got, want := overdueNames(t, s, AttentionQuery{Limit: limit, Leases: leases("a", 1, "b", 1, "c", 1)}), all[:min(limit, 4)]; !slices.Equal(got, want) {
			t.Errorf("at most %d: %v, want %v", limit, got, want)
		}
	}
}

// A claim moves a timer on, by less than ten seconds; the record is as late as before.
func TestATimerThatIsClaimedHidesNothing(t *testing.T) {
	for ahead, want := range map[time.Duration]int{9999 * time.Millisecond: 1, 10 * time.Second: 1, 10*time.Second + time.Millisecond: 0} {
		s := newStore()
		due := now.Add(-time.Hour)
		put(t, s, store.Write{Key: keyOf("bot", 1), At: due, Timer: now.Add(ahead), Record: turn.Record{Phase: turn.Collecting, Window: turn.Window{Due: due}, Pending: 1}})
		if got := overdueNames(t, s, AttentionQuery{Limit: 10, Leases: leases("bot", 1)}); len(got) != want {
			t.Errorf("a timer %v ahead: %v, want %d", ahead, got, want)
		}
	}
}

// A late conversation is found behind hundreds whose timers are due before its own,
// and each is reported once although timers are asked for again.
func TestTheLateAreFoundBehindTheDue(t *testing.T) {
	s := newStore()
	late(t, s, keyOf("bot", 0), 2*time.Hour)
	for i := 1; i <= 600; i++ {
		at := now.Add(-time.Hour)
		put(t, s, store.Write{Key: keyOf("bot", i), At: at, Timer: at, Record: turn.Record{Phase: turn.Collecting, Window: turn.Window{Due: now}, Pending: 1}})
	}
	late(t, s, keyOf("bot", 601), 30*time.Minute)
	got := overdueNames(t, s, AttentionQuery{Limit: 10, Leases: leases("bot", 1)})
	if want := []string{"bot/c0000", "bot/c0601"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if want := []int{500, 2000, 500, 2000}; !slices.Equal(s.due, want) {
		t.Errorf("timers were asked for %v, want %v: this node's bots, then all", s.due, want)
	}
}

// endless always has more timers, none of them late.
type endless struct {
	store.Store
	asked []int
}

func (e *endless) Due(_ context.Context, _ turn.Time, limit int, _ ...string) ([]store.Timer, error) {
	e.asked = append(e.asked, limit)
	timers := make([]store.Timer, limit)
	for i := range timers {
		timers[i].Key = store.Key{Bot: "bot", Conversation: fmt.Sprint(i)}
	}
	return timers, nil
}

func (e *endless) Load(context.Context, store.Key) (store.Snapshot, error) {
	return store.Snapshot{}, nil
}

func TestTheSearchForTheLateEnds(t *testing.T) {
	e := &endless{}
	if _, err := overdue(t.Context(), e, AttentionQuery{Bot: "bot", Limit: 1, Now: now}); err != nil {
		t.Fatal(err)
	}
	if want := []int{500, 2000, 8000, 32000}; !slices.Equal(e.asked, want) {
		t.Errorf("timers were asked for %v, want %v", e.asked, want)
	}
}

// A record that can't be read is left out, and hides no other; a store that can't be
// read is an error.
func TestWhatCanNotBeRead(t *testing.T) {
	s := newStore()
	for i := range 3 {
		late(t, s, keyOf("bot", i), time.Duration(3-i)*time.Hour)
	}
	s.hidden[keyOf("bot", 0)], s.hidden[keyOf("bot", 1)] = fmt.Errorf("x: %w", store.ErrCorrupt), fmt.Errorf("x: %w", store.ErrNewerSchema)
	if got := overdueNames(t, s, AttentionQuery{Limit: 10}); !slices.Equal(got, []string{"bot/c0002"}) {
		t.Errorf("%v", got)
	}
	s.broken = errors.New("away")
	if _, err := overdue(t.Context(), s, AttentionQuery{Limit: 10, Now: now}); !errors.Is(err, s.broken) {
		t.Errorf("a store that is away: %v", err)
	}
}

// What is overdue says what it waits for, and what helps.
func TestWhatIsOverdueSaysWhy(t *testing.T) {
	const due, waiting = now - 3_600_000, now - 3_700_000
	key := store.Key{Bot: "bot", Conversation: "c"}
	for name, test := range map[string]struct {
		bot    string
		record turn.Record
		want   Finding
	}{
		"held": {
			"bot", turn.Record{Phase: turn.Generating, Turn: 3, Pending: 1, Window: turn.Window{WaitingSince: waiting}, Lease: turn.Lease{Holder: "node-1", Nonce: "n", Expires: due}},
			Finding{Turn: 3, Since: waiting, Reason: "the lease of node-1 has expired, and no node took over", Actions: []string{}},
		},
		"sending": {
			"bot", turn.Record{Phase: turn.Sending, Turn: 3, Reply: &turn.Reply{Turn: 2, Seq: 9, Since: waiting, RetryAt: due}},
			Finding{Turn: 2, Seq: 9, Since: waiting, Reason: "no node sends the reply", Actions: []string{"flush"}},
		},
		"sending, since when is not known": {
			"bot", turn.Record{Phase: turn.Sending, Turn: 3, Reply: &turn.Reply{Turn: 2, Seq: 9, RetryAt: due}},
			Finding{Turn: 2, Seq: 9, Since: due, Reason: "no node sends the reply", Actions: []string{"flush"}},
		},
		"waiting": {
			"bot", turn.Record{Phase: turn.Collecting, Turn: 3, Pending: 1, Window: turn.Window{WaitingSince: waiting, Due: due}},
			Finding{Turn: 3, Since: waiting, Reason: "no node begins the turn", Actions: []string{"flush"}},
		},
		"waiting for another node's bot": {
			"gone", turn.Record{Phase: turn.Collecting, Turn: 3, Window: turn.Window{Due: due}},
			Finding{Turn: 3, Since: due, Reason: "no node begins the turn; this node has no such bot", Actions: []string{}},
		},
	} {
		key.Bot = test.bot
		test.want.Kind, test.want.Key, test.want.At = Overdue, key, due
		got, ok := AttentionQuery{Now: now, Leases: leases("bot", 1)}.late(key, test.record)
		if !ok || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, test.want)
		}
	}
	if f, ok := (AttentionQuery{Now: now}).late(key, turn.Record{Phase: turn.Idle}); ok {
		t.Errorf("what waits for nothing is overdue: %+v", f)
	}
}

// Where some bots are asked for, those of others are not looked at.
func TestOverdueOfSomeBots(t *testing.T) {
	s := newStore()
	for i, bot := range []string{"a", "b", "c", "gone"} {
		late(t, s, keyOf(bot, i), 5*time.Hour-time.Duration(i)*time.Minute)
	}
	q := AttentionQuery{Bots: []string{"a", "c", "gone"}, Limit: 10, Leases: leases("a", 1, "b", 1, "c", 1)}
	if got, want := overdueNames(t, s, q), []string{"a/c0000", "c/c0002", "gone/c0003"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
