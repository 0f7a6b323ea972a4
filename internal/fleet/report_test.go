package fleet

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// quiet is a fleet that is not started, with a clock that tests set.
func quiet(now *turn.Time) *Fleet {
	return New(Options{
		Name: "own", Instance: "own", Store: memory.New(), Log: slog.New(slog.DiscardHandler), Now: func() turn.Time { return *now }, RingBytes: ringBytes,
	})
}

func (f *Fleet) hear(m message) {
	payload, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	f.heard(payload)
}

// So many nodes that are gone hide no new one, and a known one is renewed.
func TestManyNodesThatAreGone(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	name := func(i int) string { return fmt.Sprintf("n%03d", i) }
	for i := range maxOthers {
		now++
		f.hear(message{Node: "n", Instance: name(i), Report: &Report{State: Stopped}, Watches: &[]Topic{{}}})
	}
	now++
	f.hear(message{Node: "new", Instance: "new", Report: &Report{State: Ready}, Watches: &[]Topic{{}}})
	if _, there := f.reports["new"]; !there || len(f.reports) != maxOthers {
		t.Errorf("the new node is there: %v, of %d", there, len(f.reports))
	}
	if _, there := f.reports[name(0)]; there {
		t.Error("the one that is gone longest was kept")
	}
	if _, there := f.reports[name(1)]; !there {
		t.Error("another one was dropped")
	}
	if _, there := f.outgoing.others["new"]; there || len(f.outgoing.others) != maxOthers {
		t.Errorf("%d nodes may ask for events", len(f.outgoing.others))
	}
	f.outgoing.others[name(0)] = interest{}
	if f.hear(message{Node: "n", Instance: name(0), Watches: &[]Topic{{}}}); f.outgoing.others[name(0)].until.IsZero() {
		t.Error("what a known node watches was not renewed")
	}
}

// A full list of nodes that all live takes no further one.
func TestManyNodesThatLive(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	for i := range maxOthers + 1 {
		f.hear(message{Node: "n", Instance: fmt.Sprint(i), Report: &Report{State: Ready}})
	}
	if _, there := f.reports[fmt.Sprint(maxOthers)]; there || len(f.reports) != maxOthers {
		t.Errorf("the last one is there: %v, of %d", there, len(f.reports))
	}
	now = now.Add(silentAfter)
	if f.hear(message{Node: "n", Instance: "new", Report: &Report{State: Ready}}); len(f.reports) != maxOthers || f.reports["new"].State != "" {
		t.Error("a node was dropped although it is not silent yet")
	}
	now++
	if f.hear(message{Node: "n", Instance: "new", Report: &Report{State: Ready}}); f.reports["new"].State != Ready {
		t.Error("no silent node made room")
	}
}

// The newest report of a node is the one that came last, stamped with the clock of
// whoever hears it.
func TestTheLastReportCounts(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	for i := range 3 {
		now = now.Add(time.Second)
		f.hear(message{Node: "n", Instance: "i", Report: &Report{State: Ready, Generating: i}})
	}
	if r := f.reports["i"]; r.Generating != 2 || r.At != now || r.Node != "n" || r.Instance != "i" {
		t.Errorf("it is %+v", r)
	}
	if all := f.Reports(); len(all) != 1 || all[0].Generating != 2 {
		t.Errorf("Reports: %+v", all)
	}
}

// A node is silent once nothing came for so long, unless it said that it stops.
func TestSilence(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	r := Report{State: Ready, At: now}
	if got := r.StateAt(now.Add(silentAfter)); got != Ready {
		t.Errorf("after just so long it is %s", got)
	}
	if got := r.StateAt(now.Add(silentAfter) + 1); got != Silent {
		t.Errorf("after longer it is %s", got)
	}
	r.State = Stopped
	if got := r.StateAt(now.Add(time.Hour)); got != Stopped {
		t.Errorf("one that stopped is %s", got)
	}
}

// What a node counted is kept for an hour after its last report.
func TestNodesThatAreGoneAreForgotten(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	f.hear(message{Node: "n", Instance: "i", Report: &Report{State: Stopped}})
	now = now.Add(rememberFor)
	if f.forget(); len(f.reports) != 1 {
		t.Error("it was forgotten too early")
	}
	now++
	if f.forget(); len(f.reports) != 0 {
		t.Error("it was not forgotten")
	}
}

// A node that is gone is silent as soon as ever where the store's clock was set back.
func TestTheStoresClockIsSetBackUnderReports(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	f.hear(message{Node: "gone", Instance: "gone", Report: &Report{State: Ready}})
	now = now.Add(-time.Hour)
	f.forget()
	if r := f.reports["gone"]; r.StateAt(now.Add(silentAfter)+1) != Silent {
		t.Errorf("it was heard %v from now", r.At.Sub(now))
	}
}

// What another node says of itself is cut to what a node may say.
func TestReportsAreBounded(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	long := strings.Repeat("ü", 100_000)
	f.hear(message{Node: "n", Instance: "l", Watches: &[]Topic{{Bot: long}}, Report: &Report{
		Version: long, Store: long, State: long, Minutes: make(minutes, 1000),
		TimeToReply: engine.Histogram{Bounds: make([]float64, 100_000), Counts: make([]uint64, 100_000)},
	}})
	got := f.reports["l"]
	for _, text := range []string{got.Version, got.Store, got.State} {
		if len(text) != maxWords || !utf8.ValidString(text) {
			t.Errorf("a text has %d bytes", len(text))
		}
	}
	if len(got.Minutes) != maxMinutes || len(got.TimeToReply.Bounds) != 0 {
		t.Errorf("%d minutes, %d bounds", len(got.Minutes), len(got.TimeToReply.Bounds))
	}
	fits := engine.Histogram{Bounds: make([]float64, maxBounds), Counts: make([]uint64, maxBounds)}
	f.hear(message{Node: "n", Instance: "l", Report: &Report{Version: "v1", TimeToReply: fits}})
	if got := f.reports["l"]; got.Version != "v1" || len(got.TimeToReply.Bounds) != maxBounds {
		t.Errorf("what is within the limits was cut: %+v", got)
	}
	fits.Counts = fits.Counts[1:]
	f.hear(message{Node: "n", Instance: "l", Report: &Report{TimeToReply: fits}})
	if got := f.reports["l"]; len(got.TimeToReply.Bounds) != 0 {
		t.Error("a histogram has more bounds than counts")
	}
	if topics := f.outgoing.others["l"].topics; len(topics) != 1 || topics[0] != (Topic{}) {
		t.Errorf("it watches %d topics", len(topics))
	}
	event := engine.Event{Key: store.Key{Bot: "b"}, Notice: turn.Notice{Kind: "a"}}
	if !named(&event) {
		t.Error("an event with short names is refused")
	}
	for _, text := range []*string{&event.Node, &event.Key.Bot, &event.Key.Conversation, &event.MessageID, &event.ReplyID, (*string)(&event.Kind)} {
		short := *text
		if *text = long; named(&event) {
			t.Error("an event may have a name of any length")
		}
		*text = short
	}
	if event.Kind = ""; named(&event) {
		t.Error("an event without a type is taken")
	}
}

// A minute has the same numbers after it travelled.
func TestMinutesTravel(t *testing.T) {
	want := minutes{{Number: 1, Tally: engine.Tally{
		Inputs: 2, Duplicates: 3, Ignored: 4, Replies: 5, MessagesAnswered: 6, Discards: 7, ModelCalls: 8, Failed: 9,
		TokensDiscarded: 10, LeasesLost: 11, EarlyStarts: 12, Replaced: 13,
	}}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got minutes
	if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got, want) || string(text) != "[[1,2,3,4,5,6,7,8,9,10,11,12,13]]" {
		t.Errorf("%s became %+v, %v", text, got, err)
	}
}
