package inspect

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/fleet"
	"github.com/onereply/onereply/turn"
)

func timesOf(bound float64) engine.Histogram {
	return engine.Histogram{Bounds: []float64{bound, 2 * bound}, Counts: []uint64{1, 2}, Count: 3, Sum: 4}
}

// node is a report of a node that counted one input.
func node(name string, started, heard turn.Time, state string) fleet.Report {
	return fleet.Report{Node: name, Started: started, At: heard, State: state, Total: engine.Tally{Inputs: 1}, TimeToReply: timesOf(1)}
}

func listed(o Overview) (names []string) {
	for _, n := range o.Nodes {
		names = append(names, n.Node+" "+n.State)
	}
	return names
}

// The nodes are listed by name, then by start, and added up. One that stopped is not
// listed; one that is silent for ten minutes, unless a later start took its place.
func TestNodesOfAnOverview(t *testing.T) {
	const long = now - 3_600_000
	silent := now.Add(-16 * time.Second)
	for name, test := range map[string]struct {
		reports []fleet.Report
		want    []string
	}{
		"order":                      {[]fleet.Report{node("b", long, now, fleet.Ready), node("a", long, now, fleet.Draining), node("c", long, now, fleet.Ready)}, []string{"a draining", "b ready", "c ready"}},
		"two of one name":            {[]fleet.Report{node("a", now-1, now, fleet.Ready), node("a", now-2, now, fleet.Draining)}, []string{"a draining", "a ready"}},
		"stopped":                    {[]fleet.Report{node("a", long, now, fleet.Ready), node("b", long, now, fleet.Stopped)}, []string{"a ready"}},
		"silent":                     {[]fleet.Report{node("a", long, now, fleet.Ready), node("b", long, silent, fleet.Ready)}, []string{"a ready", "b silent"}},
		"silent, started again":      {[]fleet.Report{node("a", now-1, now, fleet.Ready), node("a", now-2, silent, fleet.Ready)}, []string{"a ready"}},
		"silent for ten minutes":     {[]fleet.Report{node("a", long, now, fleet.Ready), node("b", long, now.Add(-10*time.Minute), fleet.Ready)}, []string{"a ready", "b silent"}},
		"silent for longer":          {[]fleet.Report{node("a", long, now, fleet.Ready), node("b", long, now.Add(-10*time.Minute-time.Millisecond), fleet.Ready)}, []string{"a ready"}},
		"silent, the last of a name": {[]fleet.Report{node("a", now-2, silent, fleet.Ready), node("a", now-1, silent, fleet.Ready)}, []string{"a silent"}},
	} {
		for range 2 {
			o := OverviewOf(now, test.reports)
			if got := listed(o); !slices.Equal(got, test.want) {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
			want := uint64(len(test.want))
			if times := (engine.Histogram{Bounds: []float64{1, 2}, Counts: []uint64{want, 2 * want}, Count: 3 * want, Sum: 4 * float64(want)}); o.Totals.Inputs != want || !reflect.DeepEqual(o.TimeToReply, times) {
				t.Errorf("%s: totals %+v, times %+v of %d nodes", name, o.Totals, o.TimeToReply, want)
			}
			slices.Reverse(test.reports)
		}
	}
}

// The last sixty minutes with this one are added up, at both ends, of nodes that are
// gone too.
func TestMinutesOfAnOverview(t *testing.T) {
	this := engine.MinuteOf(now)
	gone := node("gone", now-1, now, fleet.Stopped)
	for number := this - 61; number <= this+1; number++ {
		gone.Minutes = append(gone.Minutes, engine.MinuteTally{Number: number, Tally: engine.Tally{Inputs: uint64(number - this + 100)}})
	}
	own := node("a", now-1, now, fleet.Ready)
	own.Minutes = []engine.MinuteTally{{Number: this, Tally: engine.Tally{Replies: 7}}}
	o := OverviewOf(now, []fleet.Report{own, gone})
	if len(o.Minutes) != 60 {
		t.Fatalf("%d minutes", len(o.Minutes))
	}
	for i, m := range o.Minutes {
		want := engine.MinuteTally{Number: this - 59 + int64(i), Tally: engine.Tally{Inputs: uint64(41 + i)}}
		if i == 59 {
			want.Replies = 7
		}
		if m != want {
			t.Errorf("minute %d is %+v, want %+v", i, m, want)
		}
	}
}

// Times are counted into this node's own bounds, which stand in the first report. A
// node of another release, with other bounds, is left out, and no report is changed.
func TestTimesOfAnOverview(t *testing.T) {
	own, other := node("a", now-1, now, fleet.Ready), node("b", now-1, now, fleet.Ready)
	other.TimeToReply = timesOf(3)
	o := OverviewOf(now, []fleet.Report{own, other})
	if !reflect.DeepEqual(o.TimeToReply, timesOf(1)) || !reflect.DeepEqual(own.TimeToReply, timesOf(1)) {
		t.Errorf("%+v", o.TimeToReply)
	}
	other.TimeToReply = engine.Histogram{Bounds: []float64{1, 2}, Counts: []uint64{1}, Count: 9}
	if o := OverviewOf(now, []fleet.Report{own, other}); o.TimeToReply.Count != 3 {
		t.Errorf("counts without their bounds were added: %+v", o.TimeToReply)
	}
}
