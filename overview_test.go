package onereply_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store/memory"
)

func overview(t *testing.T, app *onereply.App) onereply.Overview {
	t.Helper()
	o, err := app.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// states lists the nodes of an overview.
func states(o onereply.Overview) (got []string) {
	for _, n := range o.Nodes {
		got = append(got, n.Node+" "+n.State)
	}
	return got
}

func wantStates(t *testing.T, app *onereply.App, want ...string) {
	t.Helper()
	if got := states(overview(t, app)); !reflect.DeepEqual(got, want) {
		t.Errorf("the nodes are %q, want %q", got, want)
	}
}

// sum adds the minutes up.
func sum(minutes []onereply.MinuteTally) onereply.Tally {
	var all engine.Tally
	for _, m := range minutes {
		all.Add(engine.Tally(m.Tally))
	}
	return onereply.Tally(all)
}

// comparable is what must be the same from any node.
func comparable(o onereply.Overview) string {
	o.Now = onereply.Time{}
	for i := range o.Nodes {
		o.Nodes[i].SeenAt = onereply.Time{}
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestOverview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, apps := onABus(t, 3, onereply.Bot{})
		defer closeAll(apps)
		started := time.Now()
		rest(90 * time.Second)
		for i, app := range apps {
			say(t, app, fmt.Sprint("c", i), "m1")
			say(t, app, fmt.Sprint("c", i), "m1")
			say(t, app, fmt.Sprint("c", i), "m2")
		}
		rest(1500*time.Millisecond + 50*time.Millisecond)
		say(t, apps[2], "c2", "m3") // discards what runs
		rest(90 * time.Second)
		o := overview(t, apps[0])
		want := onereply.Tally{Inputs: 7, Duplicates: 3, Replies: 3, MessagesAnswered: 7, Discards: 1, ModelCalls: 4}
		if o.Totals != want || sum(o.Minutes) != want {
			t.Errorf("totals %+v, minutes %+v; want %+v", o.Totals, sum(o.Minutes), want)
		}
		if len(o.Minutes) != 60 || !o.Minutes[59].At.Equal(o.Now.Truncate(time.Minute)) || o.Minutes[58].At.Sub(o.Minutes[57].At.Time) != time.Minute {
			t.Errorf("the minutes are %v to %v", o.Minutes[0].At, o.Minutes[len(o.Minutes)-1].At)
		}
		if o.Minutes[59].Inputs != 0 {
			t.Errorf("this minute has %+v", o.Minutes[59])
		}
		if r := o.TimeToReply; r.Count != 3 || r.Sum < 6.6 || r.Sum > 6.7 || r.Counts[len(r.Counts)-1] != 3 || r.Counts[1] != 0 {
			t.Errorf("times to reply %+v", r)
		}
		for _, n := range o.Nodes {
			if n.Version == "" || n.Store != "memory" || !n.StartedAt.Equal(started) || o.Now.Sub(n.SeenAt.Time) > 5*time.Second {
				t.Errorf("a node is %+v", n)
			}
		}
		for i, app := range apps {
			if got := comparable(overview(t, app)); got != comparable(o) {
				t.Errorf("node %d:\n%s\nwant\n%s", i+1, got, comparable(o))
			}
		}
		rest(2 * time.Hour)
		if o = overview(t, apps[0]); sum(o.Minutes) != (onereply.Tally{}) || o.Totals != want {
			t.Errorf("two hours later: minutes %+v, totals %+v", sum(o.Minutes), o.Totals)
		}
	})
}

// Nodes that drain, fall silent, are started again or close.
func TestOverviewOfNodesThatComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, b := memory.New(), newBus()
		defer shared.Close()
		node := func(name string) *onereply.App { return b.node(t, shared, name, onereply.Bot{}) }
		first, silent, leaver := node("first"), node("silent"), node("leaver")
		defer first.Close()
		rest(10 * time.Second)
		wantStates(t, first, "first ready", "leaver ready", "silent ready")
		say(t, leaver, "c", "m")
		rest(10 * time.Second)
		leaver.Drain(t.Context())
		rest(6 * time.Second)
		wantStates(t, first, "first ready", "leaver draining", "silent ready")
		leaver.Close()
		rest(time.Second)
		wantStates(t, first, "first ready", "silent ready")
		if got := sum(overview(t, first).Minutes); got.Replies != 1 || got.Inputs != 1 {
			t.Errorf("what the node that left had counted is lost: %+v", got)
		}
		b.silence(silent)
		rest(30 * time.Second)
		wantStates(t, first, "first ready", "silent silent")

		// A node that is new hears of those that live.
		late := node("late")
		defer late.Close()
		rest(time.Second)
		wantStates(t, late, "first ready", "late ready")
		rest(11 * time.Minute)
		wantStates(t, late, "first ready", "late ready")
		again := node("silent")
		defer again.Close()
		rest(6 * time.Second)
		wantStates(t, first, "first ready", "late ready", "silent ready")
		silent.Close()
		wantStates(t, first, "first ready", "late ready", "silent ready")
	})
}

// silence cuts a node off from all others, both ways.
func (b *bus) silence(app *onereply.App) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.ears {
		if onereply.StoreOf(app) == s {
			delete(b.ears, s)
			s.mute = true
		}
	}
}

// A node alone on its store shows itself, and has nothing to do for it.
func TestOverviewOfANodeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{nodes: 2})
		w.say(0, "m")
		rest(time.Minute)
		o := overview(t, w.nodes[0])
		if got := states(o); len(got) != 1 || got[0] != "node1 ready" || o.Totals.Inputs != 1 || o.Totals.Replies != 1 {
			t.Errorf("%q, %+v", got, o.Totals)
		}
		w.close()
		if _, err := w.nodes[0].Overview(t.Context()); err == nil {
			t.Error("a node that is closed tells what goes on")
		}
	})
}

// A node that has nothing to tell says little: one short broadcast every five
// seconds.
func TestAnIdleNodeSaysLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, apps := onABus(t, 1, onereply.Bot{})
		defer closeAll(apps)
		rest(10 * time.Second)
		before, _ := b.count()
		rest(time.Hour)
		if said, _ := b.count(); said-before > 720 || b.longest > 1200 {
			t.Errorf("%d broadcasts in an hour, the longest of %d bytes", said-before, b.longest)
		}
	})
}
