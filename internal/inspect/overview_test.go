package inspect

import (
	"testing"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/fleet"
	"github.com/onereply/onereply/turn"
)

// Two nodes with one name are both counted while both speak; a start that went
// silent gives way to the one after it.
func TestAnOverviewOfTwins(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	times := engine.Histogram{Bounds: []float64{1}, Counts: []uint64{1}, Count: 1}
	older := fleet.Report{Node: "n", Instance: "a", Started: now - 2000, At: now, State: fleet.Ready, Times: times}
	newer := fleet.Report{Node: "n", Instance: "b", Started: now - 1000, At: now, State: fleet.Ready, Times: times}
	o := OverviewOf(now, []fleet.Report{older, newer})
	if len(o.Nodes) != 2 || len(o.TimeToReply.Bounds) != 1 || o.TimeToReply.Count != 2 {
		t.Errorf("as the older one sees it: %d nodes, %+v", len(o.Nodes), o.TimeToReply)
	}
	older.At = now.Add(-15_001_000_000)
	if o := OverviewOf(now, []fleet.Report{newer, older}); len(o.Nodes) != 1 || o.TimeToReply.Count != 1 {
		t.Errorf("after a restart: %d nodes, %+v", len(o.Nodes), o.TimeToReply)
	}
}
