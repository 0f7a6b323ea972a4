package onereply_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// deliveries remembers to whom replies went.
type deliveries struct{ all []string }

func (d *deliveries) Send(_ context.Context, one *onereply.Delivery) error {
	d.all = append(d.all, fmt.Sprintf("%s: %s to %s of %s", one.ID, one.Text, one.Address, one.Conversation))
	return nil
}

// named plays a test with two nodes that each remember what they saw.
func named(t *testing.T, play func(t *testing.T, w *world, d *deliveries)) {
	synctest.Test(t, func(t *testing.T) {
		d := &deliveries{}
		w := newWorld(t, settings{nodes: 2, model: time.Second, bot: onereply.Bot{Debounce: time.Second, Sender: d}})
		defer w.close()
		play(t, w, d)
	})
}

// sayTo sends a message under a name to a node.
func (w *world) sayTo(node int, name, id string) onereply.Receipt {
	w.t.Helper()
	r, err := w.nodes[node].Receive(w.t.Context(), "bot", name, onereply.Message{ID: id, Text: "text of " + id})
	if err != nil {
		w.t.Errorf("message %s: %v", id, err)
	}
	return r
}

func wantSent(t *testing.T, d *deliveries, want ...string) {
	t.Helper()
	if !slices.Equal(d.all, want) {
		t.Errorf("sent %q, want %q", d.all, want)
	}
}

// What comes under an alias belongs to the conversation: one reply, and a repeat under
// the other name is a repeat, whichever node it comes to.
func TestAlias(t *testing.T) {
	named(t, func(t *testing.T, w *world, d *deliveries) {
		ctx := t.Context()
		if _, err := w.nodes[0].SetAlias(ctx, "bot", "phone", "c"); err != nil {
			t.Fatal(err)
		}
		w.sayTo(0, "c", "m1")
		w.sayTo(1, "phone", "m2")
		if r := w.sayTo(1, "phone", "m1"); !r.Duplicate {
			t.Errorf("a repeat under the other name: %+v", r)
		}
		rest(10 * time.Second)
		wantSent(t, d, "c/1: m1 m2 to phone of c")
		for _, name := range []string{"c", "phone"} {
			state, err := w.nodes[1].State(ctx, "bot", name)
			if err != nil || state.Conversation != "c" || !slices.Equal(state.Aliases, []string{"phone"}) || state.Version != 2 {
				t.Errorf("the state of %s: %+v, %v", name, state, err)
			}
			if page, err := w.nodes[0].Transcript(ctx, "bot", name, 0, 0); err != nil || len(page.Entries) != 4 {
				t.Errorf("the transcript of %s has %d entries, %v", name, len(page.Entries), err)
			}
		}
		if got, err := w.nodes[1].Alias(ctx, "bot", "phone"); err != nil || got.Conversation != "c" {
			t.Errorf("the alias leads to %+v, %v", got, err)
		}
		page, err := w.nodes[0].Conversations(ctx, onereply.ConversationQuery{})
		if err != nil || len(page.Conversations) != 1 {
			t.Errorf("the list has %+v, %v", page.Conversations, err)
		}
	})
}

// An alias that is freed on one node leads nowhere on the other, which remembers it.
func TestRemoveAlias(t *testing.T) {
	named(t, func(t *testing.T, w *world, d *deliveries) {
		ctx := t.Context()
		if _, err := w.nodes[0].SetAlias(ctx, "bot", "phone", "c"); err != nil {
			t.Fatal(err)
		}
		w.sayTo(1, "phone", "m1")
		rest(5 * time.Second)
		if err := w.nodes[0].RemoveAlias(ctx, "bot", "phone"); err != nil {
			t.Fatal(err)
		}
		_, err := w.nodes[1].State(ctx, "bot", "phone")
		wantRefused(t, err, onereply.CodeNotFound, "conversation")
		if r := w.sayTo(1, "phone", "m1"); r.Duplicate {
			t.Error("a message under a name that was freed is a repeat")
		}
		rest(5 * time.Second)
		wantSent(t, d, "c/1: m1 to phone of c", "phone/1: m1 to phone of phone")
		_, err = w.nodes[0].SetAlias(ctx, "bot", "phone", "c")
		wantRefused(t, err, onereply.CodeConflict, "")
	})
}

// A move takes everything along: what waits, the ids, the pause; a reply keeps its id.
func TestMove(t *testing.T) {
	named(t, func(t *testing.T, w *world, d *deliveries) {
		ctx := t.Context()
		w.sayTo(0, "group", "m1")
		w.until(1500 * time.Millisecond) // the model runs
		state, err := w.nodes[1].Move(ctx, "bot", "group", "supergroup")
		if err != nil || state.Conversation != "supergroup" || !slices.Equal(state.Aliases, []string{"group"}) {
			t.Fatalf("moved: %+v, %v", state, err)
		}
		if r := w.sayTo(1, "supergroup", "m1"); !r.Duplicate {
			t.Error("a repeat under the new key is not recognised")
		}
		if r := w.sayTo(0, "group", "m2"); r.Version != 2 {
			t.Errorf("a message under the old key: %+v", r)
		}
		rest(20 * time.Second)
		wantSent(t, d, "group/1: m1 m2 to group of supergroup")
		if got, err := w.nodes[0].Alias(ctx, "bot", "group"); err != nil || got.Conversation != "supergroup" {
			t.Errorf("the old key leads to %+v, %v", got, err)
		}
		wantRefused(t, w.nodes[0].RemoveAlias(ctx, "bot", "group"), onereply.CodeConflict, "")
		w.sayTo(0, "other", "x")
		_, err = w.nodes[0].Move(ctx, "bot", "group", "other")
		wantRefused(t, err, onereply.CodeConflict, "to")
		if state, err := w.nodes[0].Move(ctx, "bot", "supergroup", "group"); err != nil || state.Conversation != "group" {
			t.Errorf("moved back: %+v, %v", state, err)
		}
		if err := w.nodes[1].Forget(ctx, "bot", "supergroup"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"group", "supergroup"} {
			_, err := w.nodes[0].State(ctx, "bot", name)
			wantRefused(t, err, onereply.CodeNotFound, "conversation")
		}
		if r := w.sayTo(0, "supergroup", "m1"); r.Duplicate || r.Version != 1 {
			t.Errorf("after the deletion: %+v", r)
		}
	})
}

// stored changes the record of a conversation behind the nodes' backs.
func (w *world) stored(name string, change func(r *turn.Record)) {
	w.t.Helper()
	key := store.Key{Bot: "bot", Conversation: name}
	there, err := w.store.Load(w.t.Context(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	change(&there.Record)
	timer, _ := there.Record.Wake()
	result, err := w.store.Commit(w.t.Context(), store.Write{Key: key, Expect: there.Op, Op: store.Op{0xff, 1}, Record: there.Record, Log: there.Log, Timer: timer})
	if err != nil || result.Status != store.OK {
		w.t.Fatal(result, err)
	}
}

// A process that dies in the middle of a move leaves it done or not: whoever looks sees
// one or the other, and goes on with it.
func TestMoveThatNobodyFinished(t *testing.T) {
	for name, test := range map[string]struct {
		leads string // where the claimed name leads
		want  string
	}{
		"the name leads here":      {"group", "supergroup"},
		"the name is free":         {"", "group"},
		"the name leads elsewhere": {"other", "group"},
	} {
		t.Run(name, func(t *testing.T) {
			named(t, func(t *testing.T, w *world, d *deliveries) {
				w.sayTo(0, "group", "m1")
				rest(5 * time.Second)
				if test.leads != "" {
					if _, err := w.nodes[0].SetAlias(t.Context(), "bot", "supergroup", test.leads); err != nil {
						t.Fatal(err)
					}
				}
				w.stored("group", func(r *turn.Record) { r.Names = turn.Names{Claim: "supergroup"} })
				for range 2 { // the second look finds what the first one left
					if state, err := w.nodes[1].State(t.Context(), "bot", "group"); err != nil || state.Conversation != test.want {
						t.Errorf("it is %q, %v, want %q", state.Conversation, err, test.want)
					}
				}
				w.sayTo(1, "group", "m2")
				rest(5 * time.Second)
				wantSent(t, d, "group/1: m1 to group of group", "group/2: m2 to group of "+test.want)
			})
		})
	}
}

// An alias of which nobody lived to tell the conversation is told with the next message.
func TestAliasThatTheConversationDoesNotKnow(t *testing.T) {
	named(t, func(t *testing.T, w *world, d *deliveries) {
		if _, err := w.nodes[0].SetAlias(t.Context(), "bot", "phone", "c"); err != nil {
			t.Fatal(err)
		}
		w.stored("c", func(r *turn.Record) { r.Names = turn.Names{} })
		w.sayTo(1, "phone", "m1")
		rest(5 * time.Second)
		wantSent(t, d, "c/1: m1 to phone of c")
		if state, err := w.nodes[0].State(t.Context(), "bot", "c"); err != nil || !slices.Equal(state.Aliases, []string{"phone"}) {
			t.Errorf("the state: %+v, %v", state, err)
		}
	})
}

// A name that a conversation has dropped leads there until it is freed, whoever dies in
// between, and is not listed again.
func TestNameThatIsTakenAway(t *testing.T) {
	named(t, func(t *testing.T, w *world, d *deliveries) {
		ctx := t.Context()
		if _, err := w.nodes[0].SetAlias(ctx, "bot", "phone", "c"); err != nil {
			t.Fatal(err)
		}
		w.sayTo(1, "phone", "m1")
		rest(5 * time.Second)
		w.stored("c", func(r *turn.Record) { r.Names = turn.Names{Dropped: []string{"phone"}} }) // and whoever did so died
		w.sayTo(1, "phone", "m2")
		rest(5 * time.Second)
		wantSent(t, d, "c/1: m1 to phone of c", "c/2: m2 to phone of c")
		if state, err := w.nodes[0].State(ctx, "bot", "phone"); err != nil || state.Conversation != "c" || len(state.Aliases) > 0 {
			t.Errorf("the state: %+v, %v", state, err)
		}
		if err := w.nodes[0].RemoveAlias(ctx, "bot", "phone"); err != nil {
			t.Fatal(err)
		}
		w.sayTo(1, "phone", "m1")
		rest(5 * time.Second)
		wantSent(t, d, "c/1: m1 to phone of c", "c/2: m2 to phone of c", "phone/1: m1 to phone of phone")
	})
}

// A node remembers that a name led to a conversation, which claims it once more now: the
// name is looked up all the same.
func TestClaimOfANameThatIsFree(t *testing.T) {
	named(t, func(t *testing.T, w *world, d *deliveries) {
		ctx := t.Context()
		if _, err := w.nodes[0].SetAlias(ctx, "bot", "phone", "c"); err != nil {
			t.Fatal(err)
		}
		w.sayTo(1, "phone", "m1")
		rest(5 * time.Second)
		if err := w.nodes[0].RemoveAlias(ctx, "bot", "phone"); err != nil {
			t.Fatal(err)
		}
		w.stored("c", func(r *turn.Record) { r.Names.Claim = "phone" }) // and whoever moves it died
		w.sayTo(1, "phone", "m1")
		rest(5 * time.Second)
		wantSent(t, d, "c/1: m1 to phone of c", "phone/1: m1 to phone of phone")
		if state, err := w.nodes[0].State(ctx, "bot", "c"); err != nil || state.Conversation != "c" {
			t.Errorf("the state: %+v, %v", state, err)
		}
	})
}

// The key of a conversation leads nowhere else.
func TestAliasThatIsAKey(t *testing.T) {
	named(t, func(t *testing.T, w *world, _ *deliveries) {
		ctx := t.Context()
		w.sayTo(0, "group", "m1")
		if _, err := w.nodes[0].Move(ctx, "bot", "group", "supergroup"); err != nil {
			t.Fatal(err)
		}
		_, err := w.nodes[1].SetAlias(ctx, "bot", "supergroup", "other")
		wantRefused(t, err, onereply.CodeConflict, "")
		if got, err := w.nodes[1].State(ctx, "bot", "supergroup"); err != nil || got.Conversation != "supergroup" {
			t.Errorf("the key leads to %+v, %v", got, err)
		}
	})
}
