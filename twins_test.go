package onereply

import (
	"testing"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// Two nodes with one name are both counted while both speak; a life that went
// silent gives way to the one after it.
func TestAnOverviewOfTwins(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	times := engine.Histogram{Bounds: []float64{1}, Counts: []uint64{1}, Count: 1}
	older := report{Node: "n", Life: "a", Started: now - 2000, At: now, State: nodeReady, Times: times}
	newer := report{Node: "n", Life: "b", Started: now - 1000, At: now, State: nodeReady, Times: times}
	o := overviewOf(now, []report{older, newer})
	if len(o.Nodes) != 2 || len(o.TimeToReply.Bounds) != 1 || o.TimeToReply.Count != 2 {
		t.Errorf("as the older one sees it: %d nodes, %+v", len(o.Nodes), o.TimeToReply)
	}
	older.At = now.Add(-silentAfter) - 1
	if o := overviewOf(now, []report{newer, older}); len(o.Nodes) != 1 || o.TimeToReply.Count != 1 {
		t.Errorf("after a restart: %d nodes, %+v", len(o.Nodes), o.TimeToReply)
	}
}

// So many nodes that are gone hide no new one, and a known one is renewed.
func TestManyNodesThatAreGone(t *testing.T) {
	clock, err := newClock(t.Context(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	p := &peers{app: &App{clock: clock}, life: "own", reports: map[string]report{}}
	p.others = map[string]interest{}
	now := p.app.clock.now()
	for i := range maxPeers {
		life := string(rune('A'+i/26)) + string(rune('a'+i%26))
		p.learn(bulletin{Reports: []report{{Node: "n", Life: life, At: now - 1000 + turn.Time(i), State: nodeStopped}}})
		p.setInterest(life, []topic{{}})
	}
	p.learn(bulletin{Reports: []report{{Node: "new", Life: "new", At: now, State: nodeReady}}})
	if _, there := p.reports["new"]; !there || len(p.reports) != maxPeers {
		t.Errorf("the new node is there: %v, of %d", there, len(p.reports))
	}
	if _, there := p.reports["Aa"]; there {
		t.Error("the one that is gone longest was kept")
	}
	p.others["Aa"] = interest{}
	if p.setInterest("Aa", []topic{{}}); p.others["Aa"].until == 0 {
		t.Error("what a known node watches was not renewed")
	}
}
