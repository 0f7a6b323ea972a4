package onereply

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
	if p.setInterest("Aa", []topic{{}}); p.others["Aa"].until.IsZero() {
		t.Error("what a known node watches was not renewed")
	}
}

// What another node says of the time changes nothing: it counts its reports, and
// when one was made goes by when it was heard.
func TestReportsOfANodeWithAWrongClock(t *testing.T) {
	clock, err := newClock(t.Context(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	p := &peers{app: &App{clock: clock}, life: "own", reports: map[string]report{}}
	now := clock.now()
	hour := turn.Time(3_600_000)
	tell := func(by, life string, count uint64, at turn.Time, generating int) {
		p.learn(bulletin{Life: by, Reports: []report{{Node: life, Life: life, Count: count, At: at, Generating: generating, State: nodeReady}}})
	}
	tell("fast", "fast", 1, now+hour, 1)
	tell("fast", "fast", 2, now+hour/2, 2) // its clock was set back
	tell("slow", "slow", 1, now-hour, 1)
	tell("slow", "slow", 2, now-hour, 2)
	tell("other", "slow", 1, now, 7)      // an older one, by somebody else
	tell("other", "gone", 5, now+hour, 1) // of one that is gone
	for life, generating := range map[string]int{"fast": 2, "slow": 2, "gone": 1} {
		if r := p.reports[life]; r.Generating != generating || r.At < now || r.At > clock.now() {
			t.Errorf("%s: %d, %v from now; want %d, now", life, r.Generating, r.At.Sub(now), generating)
		}
	}
	tell("old", "old", 0, now-hour, 1) // of a program that does not count
	old := p.reports["old"]
	old.At = now - 1
	p.reports["old"] = old
	if tell("old", "old", 0, now-hour+5000, 2); p.reports["old"].Generating != 2 {
		t.Error("a report of an older program was not taken")
	}
}

// A node that is gone is silent as soon as ever where the store's clock was set back.
func TestTheStoresClockIsSetBackUnderReports(t *testing.T) {
	clock, err := newClock(t.Context(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	p := &peers{app: &App{clock: clock}, life: "own", reports: map[string]report{}}
	p.learn(bulletin{Life: "gone", Reports: []report{{Node: "gone", Life: "gone", Count: 1, State: nodeReady}}})
	back := *clock.base.Load()
	back.told = back.told.Add(-time.Hour)
	clock.base.Store(&back)
	p.forget()
	soon := clock.now().Add(silentAfter + time.Second)
	if r := p.reports["gone"]; r.state(soon) != nodeSilent {
		t.Errorf("it is %s, and was heard %v from now", r.state(soon), r.At.Sub(clock.now()))
	}
}

// Namesakes that crashed leave room for others.
func TestNamesakesThatCrashed(t *testing.T) {
	n, now := namesakes{}, time.Now()
	for i := range maxNamesakes {
		n.meets(now, report{Life: fmt.Sprint(i), State: nodeReady})
	}
	now = now.Add(silentAfter + time.Second)
	if !n.meets(now, report{Life: "0", State: nodeReady}) {
		t.Error("one that speaks again is not told")
	}
	n.meets(now, report{Life: "new", State: nodeReady})
	now = now.Add(overlapAllowed)
	if !n.meets(now, report{Life: "new", State: nodeReady}) {
		t.Error("there is no room for a new one")
	}
	if n.meets(now.Add(reportEvery), report{Life: "new", State: nodeReady}) {
		t.Error("it is told twice")
	}
	if n.meets(now.Add(reportEvery), report{Life: "0", State: nodeReady}) {
		t.Error("one that still speaks was forgotten")
	}
}

// What another node says of itself is cut to what a node may say.
func TestReportsAreBounded(t *testing.T) {
	clock, err := newClock(t.Context(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	p := &peers{app: &App{clock: clock}, life: "own", reports: map[string]report{}}
	p.others = map[string]interest{}
	long := strings.Repeat("ü", 100_000)
	huge := report{Node: "n", Life: "l", Version: long, Store: long, State: long, Minutes: make([][]uint64, 100_000), Times: engine.Histogram{Bounds: make([]float64, 100_000), Counts: make([]uint64, 100_000)}}
	wide := report{Node: "n", Life: "w", Minutes: [][]uint64{make([]uint64, 100_000)}}
	p.learn(bulletin{Life: "l", Reports: []report{huge, wide}})
	got := p.reports["l"]
	if max(len(got.Version), len(got.Store), len(got.State)) > maxWords || !utf8.ValidString(got.Version) || got.Version == "" {
		t.Errorf("texts of %d, %d and %d bytes", len(got.Version), len(got.Store), len(got.State))
	}
	if len(got.Minutes) > keptMinutes+1 || len(got.Times.Bounds) != 0 || len(p.reports["w"].Minutes) != 0 {
		t.Errorf("%d minutes, %d bounds, %d wide minutes", len(got.Minutes), len(got.Times.Bounds), len(p.reports["w"].Minutes))
	}
	var many bulletin
	for i := range 1000 {
		many.Reports = append(many.Reports, report{Node: "n", Life: fmt.Sprint(i)})
	}
	if p.learn(many); len(p.reports) > maxTold+3 {
		t.Errorf("%d reports of one bulletin were taken", len(p.reports))
	}
	p.setInterest("l", []topic{{Bot: long}})
	if topics := p.others["l"].topics; len(topics) != 1 || topics[0] != (topic{}) {
		t.Errorf("it watches topics of %d bytes", bytesOf(topics))
	}
	if (&Event{Type: "a", Bot: long}).named() || !(&Event{Type: "a", Bot: "b"}).named() {
		t.Error("an event may have a name of any length")
	}
}
