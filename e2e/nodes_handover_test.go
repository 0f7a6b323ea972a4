package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// stretch is how much longer than promised something may take on a machine that
// does much else. What it took is printed.
const stretch = 3

// promised compares how long something took with the promise.
func promised(t testing.TB, what string, took, promise time.Duration) {
	t.Helper()
	t.Logf("%s: %v, %.2f of the promised %v", what, took.Round(time.Millisecond), took.Seconds()/promise.Seconds(), promise)
	if took > stretch*promise {
		t.Errorf("%s took %v, promised are %v", what, took, promise)
	}
}

// team is a cluster with a model that thinks without end until it is calm, and
// a receiver that takes all.
type team struct {
	*cluster
	model    *model
	receiver *receiver
	caller   *caller
}

// teamConfig is one bot.
func teamConfig(model, receiver string, lease time.Duration) string {
	return fmt.Sprintf(`
drain: 300ms
bots:
  support:
    debounce: 50ms
    lease: %v
    on_new_input: interrupt
    responder: {kind: openai, base_url: "%s", model: echo, attempts: 100, timeout: 1h, idle_timeout: 1h, headers: {X-Instance: "${INSTANCE}"}}
    delivery: {kind: webhook, url: "%s", secret: %s}
`, lease, model, receiver, signingSecret)
}

func newTeam(t *testing.T, e engine, size int, lease time.Duration) *team {
	t.Helper()
	nobody := func(moment) {}
	team := &team{
		model:    newModel(t, func() time.Duration { return time.Hour }, nobody),
		receiver: newReceiver(t, takesAll, nobody),
		caller:   newCaller(t),
	}
	team.cluster = newCluster(t, e, size, teamConfig(team.model.server.URL, team.receiver.server.URL, lease))
	return team
}

// begins lets a conversation begin, and returns who generates, and somebody else.
func (c *team) begins(conversation string) (holder, other *member) {
	c.t.Helper()
	c.model.calm.Store(false)
	c.caller.mustSay(c.t, c.members[0].url, "support", conversation, "m1", "[m1] hello")
	call := c.call(conversation, 1)
	for _, m := range c.members {
		if m.instance == call.instance {
			holder = m
		} else {
			other = m
		}
	}
	if holder == nil || other == nil {
		c.t.Fatalf("instance %s asked the model", call.instance)
	}
	return holder, other
}

// call waits for the n-th call of the model.
func (c *team) call(conversation string, n int) modelCall {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("call %d for %s", n, conversation), func() bool {
		return len(c.model.of("support", conversation)) >= n
	})
	return c.model.of("support", conversation)[n-1]
}

// answers waits for rest, and checks what the person saw.
func (c *team) answers(at *member, conversation string, want ...string) {
	c.t.Helper()
	c.caller.rests(c.t, at.url, "support", conversation)
	var got []string
	for _, a := range c.receiver.of("support", conversation) {
		got = append(got, fmt.Sprint(a.covers))
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("%s: the person saw replies to %v, want %v", conversation, got, want)
	}
}

// TestTakeOverAfterKill: the turn of a node that is killed while the model
// writes is taken over within a lease and a second.
func TestTakeOverAfterKill(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	onEachEngine(t, func(t *testing.T, e engine) {
		c := newTeam(t, e, 2, lease)
		for i := range 3 {
			conversation := fmt.Sprintf("c%d", i)
			holder, other := c.begins(conversation)
			wait(t.Context(), time.Duration(i)*lease/3) // between two renewals
			c.model.calm.Store(true)
			killed := time.Now()
			c.kills(holder)
			promised(t, "take-over after kill -9", c.call(conversation, 2).began.Sub(killed), lease+time.Second)
			c.answers(other, conversation, "[m1]")
			c.start(holder)
		}
	})
}

// TestCutOffNodeStopsItself: a node that can't reach the store ends its model
// call before another may take over, and changes nothing when it is back.
func TestCutOffNodeStopsItself(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, e engine) {
		c := newTeam(t, e, 2, 2*time.Second)
		holder, other := c.begins("c")
		c.model.calm.Store(true)
		holder.wire.stall()
		c.call("c", 2)
		eventually(t, "the first call ends", func() bool { return !c.call("c", 1).ended.IsZero() })
		faults, _ := c.overlaps(c.model.of("support", "c"))
		for _, fault := range faults {
			t.Error(fault)
		}
		c.answers(other, "c", "[m1]")
		holder.wire.flow()
		c.works(holder, "c", "[m1]")
	})
}

// TestStoppedNodeIsFenced: a node that stood still for three leases, while the
// model ended its answer, sends nothing of it when it goes on.
func TestStoppedNodeIsFenced(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	onEachEngine(t, func(t *testing.T, e engine) {
		c := newTeam(t, e, 2, lease)
		c.model.latency = func() time.Duration { return lease }
		holder, other := c.begins("c")
		c.model.calm.Store(true)
		thawed := c.freezes(holder, 3*lease)
		c.answers(other, "c", "[m1]")
		if first := c.call("c", 1); !c.call("c", 2).began.Before(first.began.Add(3 * lease)) {
			t.Error("nobody took over")
		}
		<-thawed
		c.works(holder, "c", "[m1]")
	})
}

// TestStoppedSenderIsFenced: a node that stood still for three leases while the
// receiver held the first part of its reply sends no second one when it goes on:
// another has sent them all.
func TestStoppedSenderIsFenced(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	onEachEngine(t, func(t *testing.T, e engine) {
		c := newTeam(t, e, 0, lease)
		c.model.calm.Store(true)
		first := true
		c.receiver.habit = func() (habit, time.Duration) {
			defer func() { first = false }()
			if first {
				return takes, lease / 4
			}
			return takesAll()
		}
		kept, err := e.open(t.Context(), e.url.String())
		witness, url := newWitness(t, c.receiver, opened(t, kept, err))
		yaml := strings.Replace(teamConfig(c.model.server.URL, url, lease), "secret:", `timeout: 1s, parts: separate, limit: 60, headers: {X-Instance: "${INSTANCE}"}, secret:`, 1)
		for range 2 {
			c.start(c.join(yaml))
		}
		c.caller.mustSay(t, c.members[0].url, "support", "c", "m1", "[m1] hello")
		eventually(t, "the receiver holds a part", func() bool { return c.receiver.count() == 1 })
		sender, at := c.of(c.call("c", 1).instance)
		other := c.members[(at+1)%2]
		thawed := c.freezes(sender, 3*lease)
		c.caller.rests(t, other.url, "support", "c")
		seen := c.receiver.count()
		<-thawed
		if count := witness.from(sender.instance); count != 1 {
			t.Errorf("the node that was stopped has sent %d parts", count)
		}
		c.says(sender, "c", "m2", false)
		c.caller.rests(t, sender.url, "support", "c")
		parts := c.receiver.of("support", "c")[1:seen]
		if len(parts) < 2 || len(parts) != parts[0].of {
			t.Errorf("the other node sent %d parts", len(parts))
		}
		for _, a := range c.receiver.of("support", "c")[seen:] {
			if a.turn == parts[0].turn {
				t.Errorf("part %d of %d came after the reply was sent", a.part, a.of)
			}
		}
	})
}

// from is how many deliveries of an instance were answered.
func (w *witness) from(instance string) (count int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.deliveries {
		if d.instance == instance {
			count++
		}
	}
	return count
}

// works lets a node that is back accept one more message, and checks that the
// person saw nothing else.
func (c *team) works(m *member, conversation string, before ...string) {
	c.t.Helper()
	eventually(c.t, "it takes messages", func() bool {
		_, ok, _ := c.caller.say(m.url, "support", conversation, "m9", "[m9] and now")
		return ok
	})
	c.answers(m, conversation, append(before, "[m9]")...)
}

// TestHandOverAfterTerm: a node that is told to end gives its turn to another
// at once, long before its lease ends.
func TestHandOverAfterTerm(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	onEachEngine(t, func(t *testing.T, e engine) {
		c := newTeam(t, e, 2, lease)
		holder, other := c.begins("c")
		c.model.calm.Store(true)
		told := time.Now()
		c.leave(holder)
		holder.signal(t, syscall.SIGTERM)
		promised(t, "hand-over after SIGTERM, drain included", c.call("c", 2).began.Sub(told), 300*time.Millisecond+time.Second)
		holder.exits(t, 0)
		c.answers(other, "c", "[m1]")
	})
}

// TestInterruptAcrossNodes: a message that one node accepts ends the call of
// another, long before that renews its lease.
func TestInterruptAcrossNodes(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	onEachEngine(t, func(t *testing.T, e engine) {
		c := newTeam(t, e, 2, lease)
		var took []time.Duration
		for i := range 7 {
			conversation := fmt.Sprintf("c%d", i)
			_, other := c.begins(conversation)
			c.model.calm.Store(true)
			said := time.Now()
			c.caller.mustSay(t, other.url, "support", conversation, "m2", "[m2] wait")
			eventually(t, "the call is cut off", func() bool { return !c.call(conversation, 1).ended.IsZero() })
			took = append(took, c.call(conversation, 1).ended.Sub(said))
			c.answers(other, conversation, "[m1 m2]")
		}
		slices.Sort(took)
		t.Logf("from a message to the end of the call that it interrupts: %v", took)
		promised(t, "the median", took[len(took)/2], 200*time.Millisecond)
		if slowest := took[len(took)-1]; slowest > lease/6 {
			t.Errorf("once it took %v: that was no hint but the renewal", slowest)
		}
	})
}

// TestNodesOnAnEmptyStore: nodes that start at the same moment on a store that
// holds nothing all come up, and work together.
func TestNodesOnAnEmptyStore(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, e engine) {
		nobody := func(moment) {}
		model := newModel(t, func() time.Duration { return 10 * time.Millisecond }, nobody)
		receiver := newReceiver(t, takesAll, nobody)
		caller := newCaller(t)
		yaml := teamConfig(model.server.URL, receiver.server.URL, 2*time.Second)
		for round, size := range []int{2, 10, 2} {
			empty := e.empty()
			var nodes []*node
			for range size {
				nodes = append(nodes, launch(t, []string{"INSTANCE=1"}, onStore(t, *empty, empty.Host, yaml)...))
			}
			conversation := fmt.Sprintf("c%d", round)
			for i, n := range nodes {
				n.await(t)
				caller.mustSay(t, n.url, "support", conversation, fmt.Sprintf("m%d", i), fmt.Sprintf("[m%d] hello", i))
			}
			for _, n := range nodes {
				caller.rests(t, n.url, "support", conversation)
				if got := caller.look(n.url, "support", conversation).Version; got != int64(size) {
					t.Errorf("one of %d nodes knows of %d messages", size, got)
				}
				n.stops(t)
			}
		}
	})
}

// TestRecordOfANewerProgram: a node refuses a conversation that a newer one has
// written, leaves it as it is, and serves all others meanwhile.
func TestRecordOfANewerProgram(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, e engine) {
		c := newTeam(t, e, 1, 2*time.Second)
		c.model.calm.Store(true)
		kept, err := e.open(t.Context(), e.url.String())
		kept = opened(t, kept, err)
		newer := newerWrite(t, kept)
		result, err := kept.Commit(t.Context(), newer)
		if err != nil || result.Status != store.OK {
			t.Fatalf("%v, %v", result, err)
		}
		node := c.members[0]
		there := path(node.url, "support", "newer")
		for _, r := range []struct{ method, path, body string }{
			{http.MethodPost, "/messages", `{"id":"m1","text":"hello"}`},
			{http.MethodGet, "", ""},
			{http.MethodPost, "/pause", ""},
		} {
			if got := c.caller.do(r.method, there+r.path, r.body); got.status < 500 {
				t.Errorf("%s %s: got %v, want a refusal", r.method, r.path, got)
			} else {
				t.Logf("%s %s: %v", r.method, r.path, got)
			}
		}
		for i := range 5 { // the timer of the newer one is due all the while
			conversation := fmt.Sprintf("c%d", i)
			c.caller.mustSay(t, node.url, "support", conversation, "m1", "[m1] hello")
			c.answers(node, conversation, "[m1]")
			wait(t.Context(), 300*time.Millisecond)
		}
		t.Logf("%d lines of the log say why", len(node.log.lines("newer version")))
		again := newer
		again.Expect, again.Op, again.Append = newer.Op, store.Op{2}, nil
		if result, err := kept.Commit(t.Context(), again); err != nil || result.Status != store.OK {
			t.Errorf("the record was rewritten: %v, %v", result, err)
		}
		node.stops(t)
	})
}

// newerWrite is a conversation that is due.
func newerWrite(t *testing.T, kept store.Store) store.Write {
	t.Helper()
	now, err := kept.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	record := turn.Record{Schema: turn.Schema + 1, Phase: turn.Collecting, Version: 1, Pending: 1, Seq: 1, Window: turn.Window{Due: now}}
	return store.Write{
		Key: store.Key{Bot: "support", Conversation: "newer"}, Op: store.Op{1}, Record: record, Timer: now, At: now,
		Append: []store.Entry{{Seq: 1, Kind: store.Message, ID: "m0", Status: turn.InputPending, At: now, Version: 1}},
	}
}
