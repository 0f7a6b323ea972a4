package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// taken is all that a subscription has, each as "number text", or "lost".
// ringBytes is what the events that a broker of these tests keeps may take.
const ringBytes = 64 << 20

func taken(s *Subscription) (events []string) {
	for {
		chunk, more := s.Take()
		for _, one := range chunk {
			_, number, _ := strings.Cut(one.ID, "-")
			if one.Event.Kind == engine.EventsLost {
				number = "lost"
			}
			events = append(events, strings.TrimSuffix(number+" "+one.Event.Text, " "))
		}
		if !more {
			return events
		}
	}
}

func hasEnded(s *Subscription) bool {
	select {
	case <-s.Ended():
		return true
	default:
		return false
	}
}

func event(bot, conversation, text string) *engine.Event {
	return &engine.Event{Key: store.Key{Bot: bot, Conversation: conversation}, Text: text, Notice: turn.Notice{Kind: "k"}}
}

func delta(conversation, text string, token int64) *engine.Event {
	e := event("b", conversation, text)
	e.Kind, e.Token = engine.Delta, token
	return e
}

// A fleet that ends says that nothing is watched any more: the others need not wait
// until it is no longer renewed.
func TestAFleetThatEndsWatchesNothing(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	r := f.Subscribe(Topic{Bot: "b"}, "")
	if got, _ := json.Marshal(f.watched()); string(got) != `[{"bot":"b"}]` {
		t.Errorf("it watches %s", got)
	}
	f.Close()
	if got, _ := json.Marshal(f.watched()); string(got) != `[]` || !hasEnded(r) {
		t.Errorf("after the end it watches %s", got)
	}
	late := f.Subscribe(Topic{}, "")
	if late.Close(); !hasEnded(late) {
		t.Error("a reader that comes after the end goes on")
	}
}

// A reader gets the events of its topic, those after the id that it names first.
func TestSubscribe(t *testing.T) {
	b := newBroker(ringBytes, func() {})
	for _, text := range []string{"1", "2", "3"} {
		b.publish(event("b", "c", text))
	}
	b.publish(event("b", "other", "4"))
	all := b.Subscribe(Topic{}, "")
	one := b.Subscribe(Topic{Bot: "b", Conversation: "c"}, b.epoch+"-1")
	b.publish(event("b", "c", "5"))
	b.publish(event("a", "c", "6"))
	if got := taken(all); !slices.Equal(got, []string{"5 5", "6 6"}) || hasEnded(all) {
		t.Errorf("one that watches everything from now on: %q", got)
	}
	if got := taken(one); !slices.Equal(got, []string{"2 2", "3 3", "5 5"}) {
		t.Errorf("one that resumes: %q", got)
	}
	one.Close()
	one.Close()
	if !hasEnded(one) || len(b.readers) != 1 {
		t.Error("it goes on after its end")
	}
}

// A reader is woken for its own events only, and those of others cost it nothing.
func TestWaking(t *testing.T) {
	b := newBroker(ringBytes, func() {})
	s := b.Subscribe(Topic{Bot: "b", Conversation: "c"}, "")
	b.publish(event("b", "other", "1"))
	if len(s.Wake()) != 0 || s.seen != b.last {
		t.Errorf("it is woken for another's event, or looks at it later: %d of %d", s.seen, b.last)
	}
	b.publish(event("b", "c", "2"))
	b.publish(event("b", "other", "3"))
	if len(s.Wake()) != 1 || s.seen != 1 {
		t.Errorf("it is not woken, or has passed its own event: %d", s.seen)
	}
	if got := taken(s); !slices.Equal(got, []string{"2 2"}) {
		t.Errorf("took %q", got)
	}
}

// A reader resumes after each event that is kept. One that names another is told so, and
// goes on with what is new.
func TestResuming(t *testing.T) {
	b := newBroker(ringBytes, func() {})
	for i := range EventsKept + 10 {
		b.publish(event("b", "c", fmt.Sprint(i)))
	}
	last := fmt.Sprint(b.epoch, "-", EventsKept+10)
	for id, want := range map[string]int{
		"": 0, last: 0, b.epoch + "-" + fmt.Sprint(EventsKept+9): 1, b.epoch + "-11": EventsKept - 1, b.epoch + "-10": EventsKept,
		b.epoch + "-9": -1, b.epoch + "-0": -1, "other-20": -1, last + "0": -1, "nonsense": -1,
	} {
		s := b.Subscribe(Topic{}, id)
		got := taken(s)
		if want < 0 && !slices.Equal(got, []string{"lost"}) || want >= 0 && (len(got) != want || slices.Contains(got, "lost")) {
			t.Errorf("after %q there are %d events, want %d", id, len(got), want)
		}
		s.Close()
	}
	slow := b.Subscribe(Topic{}, last)
	for i := range EventsKept + 1 {
		b.publish(event("b", "c", fmt.Sprint("more", i)))
	}
	if got := taken(slow); !slices.Equal(got, []string{"lost"}) {
		t.Errorf("a reader that is behind by more than is kept took %d events", len(got))
	}
	if b.publish(event("b", "c", "new")); !slices.Equal(taken(slow), []string{fmt.Sprint(b.last, " new")}) {
		t.Error("it does not go on with what is new")
	}
}

// The lock is held for a chunk: 1,024 events are looked at, and 16 taken, or fewer large
// ones, but always one.
func TestChunks(t *testing.T) {
	b := newBroker(ringBytes, func() {})
	for i := range 3000 {
		b.publish(event("b", fmt.Sprint("c", i/2999), ""))
	}
	rare, all := b.Subscribe(Topic{Bot: "b", Conversation: "c1"}, b.epoch+"-0"), b.Subscribe(Topic{}, b.epoch+"-0")
	for want := uint64(chunkLooked); want < 3000; want += chunkLooked {
		if got, more := rare.Take(); len(got) != 0 || !more || rare.seen != want {
			t.Errorf("took %d, %v, and looked at %d events, want %d", len(got), more, rare.seen, want)
		}
	}
	if got, more := rare.Take(); len(got) != 1 || more {
		t.Errorf("took %d, %v", len(got), more)
	}
	if got, more := all.Take(); len(got) != chunkEvents || !more {
		t.Errorf("took %d, %v", len(got), more)
	}
	large := b.Subscribe(Topic{}, "")
	for range 3 {
		b.publish(event("b", "c", strings.Repeat("x", chunkBytes+1)))
	}
	for left := 2; left >= 0; left-- {
		if got, more := large.Take(); len(got) != 1 || more != (left > 0) {
			t.Errorf("of large events it took %d, %v", len(got), more)
		}
	}
}

// What is kept is bounded in bytes too, and the count of them is right whatever happens.
func TestKeptBytes(t *testing.T) {
	b := newBroker(ringBytes, func() {})
	text := strings.Repeat("x", 250<<10)
	for i := range 2 * ringBytes / len(text) {
		e := said("c", fmt.Sprint("m", i))
		e.Text = text
		b.publish(e)
		if i%3 == 0 {
			b.publish(deleted("c", e.MessageID, turn.KindMessageErased, ""))
		}
	}
	for range EventsKept + 5 {
		b.publish(event("b", "d", "short"))
	}
	b.publish(event("b", "c", strings.Repeat("x", 2*ringBytes)))
	if b.last-b.dropped != 1 {
		t.Errorf("%d events are kept beside one that is larger than all", b.last-b.dropped-1)
	}
	for range 100 {
		b.publish(event("b", "c", text))
	}
	kept, counted := 0, 0
	for number := b.last - EventsKept; number < b.last; number++ {
		if e := b.ring.at(number); e.Kind != "" {
			kept, counted = kept+1, counted+sizeOf(e)
		}
	}
	if uint64(kept) != b.last-b.dropped || counted != b.bytes || b.bytes > ringBytes {
		t.Errorf("%d events with %d bytes are kept; counted are %d with %d", kept, counted, b.last-b.dropped, b.bytes)
	}
}

// said is the event of a message, and deleted that of its deletion by its author.
func said(conversation, id string) *engine.Event {
	e := event("b", conversation, id+" in "+conversation)
	e.Kind, e.MessageID = turn.KindMessageAccepted, id
	return e
}

func deleted(conversation, id string, kind turn.Kind, reason string) *engine.Event {
	e := event("b", conversation, "")
	e.Kind, e.Reason, e.MessageID = kind, reason, id
	return e
}

// The text of a message that its author deletes is gone from the events that are kept,
// also where they have overwritten older ones; all others stay.
func TestErasing(t *testing.T) {
	for name, deletion := range map[string]*engine.Event{
		"settled": deleted("c", "m", turn.KindMessageErased, ""),
		"waiting": deleted("c", "m", turn.KindMessageAccepted, turn.WasDeleted),
		"whole":   deleted("c", "", engine.ConversationDeleted, ""),
	} {
		for _, before := range []int{0, EventsKept - 2} {
			t.Run(fmt.Sprint(name, before), func(t *testing.T) {
				b := newBroker(ringBytes, func() {})
				for range before {
					b.publish(event("b", "c", "other"))
				}
				for _, e := range []*engine.Event{said("c", "m"), said("d", "m"), said("c", "n"), said("c", "m"), deletion} {
					b.publish(e)
				}
				var texts []string
				for _, e := range taken(b.Subscribe(Topic{}, fmt.Sprint(b.epoch, "-", before))) {
					_, text, _ := strings.Cut(e, " ")
					texts = append(texts, text)
				}
				want := []string{"", "m in d", "n in c", "", ""}
				if name == "whole" {
					want[2] = ""
				}
				if !slices.Equal(texts, want) {
					t.Errorf("a reader that resumes is shown %q, want %q", texts, want)
				}
			})
		}
	}
}

// A deletion is told to all nodes, and one where nobody watches erases what it keeps.
func TestErasingOnOtherNodes(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	deletion := deleted("c", "m", turn.KindMessageErased, "")
	if g := &f.outgoing; !g.offer(deletion) || g.offer(said("c", "m")) {
		t.Error("of a conversation that nobody watches a deletion is told, and nothing else")
	}
	f.publish(said("c", "m"))
	text, _ := json.Marshal(deletion)
	f.hear(message{Instance: "x", Events: []json.RawMessage{text}})
	if got := taken(f.Subscribe(Topic{}, f.epoch+"-0")); !slices.Equal(got, []string{"1"}) {
		t.Errorf("a reader that resumes is shown %q", got)
	}
}

// A topic outlives its last watcher for a while, and the broker says what is new.
func TestTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := 0
		b := newBroker(ringBytes, func() { changed++ })
		topic := Topic{Bot: "b", Conversation: "c"}
		watch := func() *Subscription { return b.Subscribe(topic, "") }
		first, second := watch(), watch()
		first.Close()
		wait(topicLingers * 2)
		if changed != 1 || len(b.watched()) != 1 {
			t.Errorf("with one watcher left: changed %d times, %v", changed, b.watched())
		}
		second.Close()
		wait(topicLingers - time.Nanosecond)
		watch().Close()
		if changed != 1 {
			t.Error("a topic that lingers is no new one")
		}
		wait(topicLingers - time.Nanosecond)
		if len(b.watched()) != 1 {
			t.Error("the topic does not linger")
		}
		wait(time.Nanosecond)
		if len(b.watched()) != 0 || watch() == nil || changed != 2 {
			t.Errorf("it lingers too long: %v, changed %d times", b.watched(), changed)
		}
	})
}

func TestTopicsMatch(t *testing.T) {
	e := event("b", "c", "")
	for _, test := range []struct {
		topic Topic
		match bool
	}{
		{Topic{}, true}, {Topic{Bot: "b"}, true}, {Topic{Bot: "x"}, false}, {Topic{Conversation: "c"}, true}, {Topic{Conversation: "x"}, false},
		{Topic{Bot: "b", Conversation: "c"}, true}, {Topic{Bot: "b", Conversation: "x"}, false}, {Topic{Bot: "x", Conversation: "c"}, false},
	} {
		ts := topics{}
		ts.join(test.topic)
		if test.topic.matches(e) != test.match || ts.match(e) != test.match {
			t.Errorf("%+v: %v, %v", test.topic, test.topic.matches(e), ts.match(e))
		}
	}
}

// Beyond the limits a node asks for everything.
func TestTopicsAreBounded(t *testing.T) {
	many := make([]Topic, maxTopics)
	long := []Topic{{Bot: strings.Repeat("b", maxTopicBytes/2), Conversation: strings.Repeat("c", maxTopicBytes/2)}}
	if len(bounded(many)) != maxTopics || bounded(long)[0] != long[0] {
		t.Error("topics within the limits are left out")
	}
	long[0].Bot += "b"
	for _, all := range [][]Topic{append(many, Topic{}), long} {
		if got := bounded(all); len(got) != 1 || got[0] != (Topic{}) {
			t.Errorf("%d topics are left", len(got))
		}
	}
}

// Only what some other node watches is gathered, and deltas that follow each other are
// one event.
func TestGathering(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	g := &quiet(&now).outgoing
	if g.offer(event("b", "c", "nobody watches")) {
		t.Error("an event was taken that nobody watches")
	}
	g.setInterest("x", []Topic{{Bot: "b", Conversation: "c"}, {Bot: "b", Conversation: "d"}})
	if g.offer(event("b", "other", "")) || g.offer(event("a", "c", "")) {
		t.Error("an event of another topic was taken")
	}
	for _, e := range []*engine.Event{
		delta("c", "a", 1), delta("c", "b", 1), delta("d", "x", 1), delta("c", "c", 1), // one for each conversation
		delta("c", "new", 2), // of another attempt
		event("b", "c", "between"), delta("c", "z", 2),
	} {
		if !g.offer(e) {
			t.Errorf("%q was not taken", e.Text)
		}
	}
	var texts []string
	events, dropped := g.take()
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	if strings.Join(texts, " ") != "abc x new between z" || dropped != 0 {
		t.Errorf("%q, %d dropped", texts, dropped)
	}
	g.offer(delta("c", "later", 2))
	if events, _ := g.take(); len(events) != 1 || events[0].Text != "later" {
		t.Errorf("after that: %+v", events)
	}
	g.setInterest("x", []Topic{})
	if g.offer(event("b", "c", "")) {
		t.Error("an event was taken that nobody watches any more")
	}
}

// What waits to be told is bounded, and what is dropped is counted.
func TestGatheringIsBounded(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	g := &quiet(&now).outgoing
	g.setInterest("x", []Topic{{}})
	for i := range maxOutgoing + 3 {
		if taken := g.offer(event("b", "c", "")); taken != (i < maxOutgoing) {
			t.Fatalf("event %d: %v", i, taken)
		}
	}
	if events, dropped := g.take(); len(events) != maxOutgoing || dropped != 3 {
		t.Errorf("%d events, %d dropped", len(events), dropped)
	}
	// Names, texts, reasons and covered ids count.
	large := event("b", "c", strings.Repeat("t", 1<<20))
	large.Reason, large.Covers = strings.Repeat("r", 1<<20), []string{strings.Repeat("m", 1<<20), strings.Repeat("m", 1<<20)}
	taken := 0
	for g.offer(large) {
		taken++
	}
	if events, dropped := g.take(); taken != 1 || len(events) != 1 || dropped != 1 {
		t.Errorf("%d of 4 MiB were taken, %d dropped", taken, dropped)
	}
	for taken = 0; g.offer(delta("c", strings.Repeat("t", 1<<20), 1)); taken++ {
	}
	if events, _ := g.take(); taken != 7 || len(events) != 1 || len(events[0].Text) != 7<<20 {
		t.Errorf("%d deltas of 1 MiB were taken", taken)
	}
}

// Events go out some at a time, in order; one that is too large goes without its text.
func TestPacked(t *testing.T) {
	if groups, tooLarge := packed(nil); groups != nil || tooLarge != 0 {
		t.Errorf("nothing: %d groups", len(groups))
	}
	var events []engine.Event
	for range 10 {
		events = append(events, *event("b", "c", strings.Repeat("t", maxMessage/4)))
	}
	groups, tooLarge := packed(events)
	count := 0
	for i, group := range groups {
		size := 0
		for _, text := range group {
			size += len(text)
		}
		if count += len(group); size > maxMessage || i < len(groups)-1 && len(group) < 3 {
			t.Errorf("group %d has %d events, %d bytes", i, len(group), size)
		}
	}
	if count != 10 || tooLarge != 0 {
		t.Errorf("%d events, %d too large", count, tooLarge)
	}
	huge := event("b", "c", strings.Repeat("t", store.MaxBroadcast-maxMessage))
	huge.Covers = []string{"m"}
	named := event(strings.Repeat("b", store.MaxBroadcast), "c", "")
	groups, tooLarge = packed([]engine.Event{*event("b", "c", "small"), *huge, *named, *event("b", "c", "next")})
	var got []string
	for _, group := range groups {
		for _, text := range group {
			var e engine.Event
			if err := json.Unmarshal(text, &e); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(e.Text, " ", len(e.Covers), " ", e.TextLeftOut))
		}
	}
	if want := []string{"small 0 false", " 0 true", "next 0 false"}; !slices.Equal(got, want) || tooLarge != 1 {
		t.Errorf("%q, %d too large", got, tooLarge)
	}
	if huge.TextLeftOut || huge.Text == "" {
		t.Error("the event itself was changed")
	}
}

// What another node watches is forgotten unless it is renewed.
func TestInterestIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := turn.Time(1_750_000_000_000)
		f := quiet(&now)
		f.hear(message{Instance: "x", Watches: &[]Topic{{}}})
		f.hear(message{Instance: "y", Watches: &[]Topic{{}}})
		wait(silentAfter)
		f.hear(message{Instance: "y", Watches: &[]Topic{{}}})
		if f.forget(); len(f.outgoing.others) != 2 {
			t.Error("it was forgotten too early")
		}
		wait(time.Nanosecond)
		if f.forget(); len(f.outgoing.others) != 1 || !f.outgoing.wanted.Load() {
			t.Errorf("%d nodes watch", len(f.outgoing.others))
		}
		wait(silentAfter)
		if f.forget(); len(f.outgoing.others) != 0 || f.outgoing.wanted.Load() {
			t.Errorf("%d nodes watch", len(f.outgoing.others))
		}
	})
}

// Events of other nodes reach only watchers of their topic.
func TestRelayedEvents(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	s := f.Subscribe(Topic{Bot: "b", Conversation: "c"}, "")
	var texts []json.RawMessage
	for _, e := range []*engine.Event{event("b", "other", "1"), event("b", "c", "2"), event("a", "c", "3"), {Key: store.Key{Bot: "b", Conversation: "c"}}} {
		text, _ := json.Marshal(e)
		texts = append(texts, text)
	}
	f.hear(message{Instance: "x", Events: append(texts, json.RawMessage(`7`))})
	f.hear(message{Instance: "own", Events: texts})
	f.hear(message{Events: texts})
	f.hear(message{Instance: strings.Repeat("x", maxNameBytes+1), Events: texts})
	f.hear(message{Instance: "x", Node: strings.Repeat("x", maxNameBytes+1), Events: texts})
	f.heard([]byte("nonsense"))
	if got := taken(s); !slices.Equal(got, []string{"1 2"}) || f.last != 1 {
		t.Errorf("%q of %d", got, f.last)
	}
}

// A node that asks is answered at once.
func TestAsking(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	f.hear(message{Instance: "x"})
	if len(f.tellNow) != 0 {
		t.Error("a node that does not ask is answered")
	}
	f.hear(message{Instance: "x", Ask: true})
	f.hear(message{Instance: "y", Ask: true})
	if len(f.tellNow) != 1 {
		t.Error("a node that asks is not answered")
	}
}

// A node with this one's name is told of once, and only when both have been ready for a
// while.
func TestANodeOfTheSameName(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	var log strings.Builder
	f.log = slog.New(slog.NewTextHandler(&log, nil))
	hear := func(node, state string) int {
		f.hear(message{Node: node, Instance: "other", Report: &Report{State: state}})
		return strings.Count(log.String(), "another node runs under this node's name")
	}
	hear("own", Ready)
	now = now.Add(overlapAllowed)
	if hear("own", Draining) != 0 {
		t.Error("one that leaves was told of")
	}
	if hear("another", Ready) != 0 {
		t.Error("one of another name was told of")
	}
	if first, second := hear("own", Ready), hear("own", Ready); first != 1 || second != 1 {
		t.Errorf("the log tells of it %d times, then %d times; want once", first, second)
	}
	log.Reset()
	f.warned = false
	f.hear(message{Node: "own", Instance: "new", Report: &Report{State: Ready}})
	now = now.Add(overlapAllowed) - 1
	f.hear(message{Node: "own", Instance: "new", Report: &Report{State: Ready}})
	if log.Len() != 0 {
		t.Error("one that replaces this node was told of")
	}
}

// Whether a node hears itself is told when it changes.
func TestHearing(t *testing.T) {
	var h reception
	at := time.Now()
	later := func(d time.Duration) time.Time { return at.Add(d) }
	check := func(now, echoed time.Duration, changed, deaf bool) {
		t.Helper()
		if got := h.changed(later(now), later(echoed)); got != changed || h.deaf != deaf {
			t.Errorf("after %v: changed %v, deaf %v", now, got, h.deaf)
		}
	}
	check(time.Hour, 0, false, false) // nothing was said
	h.said(later(time.Hour))
	h.said(later(time.Hour + deafAfter))
	check(time.Hour+deafAfter, 0, false, false)
	check(time.Hour+deafAfter+1, 0, true, true)
	check(2*time.Hour, 0, false, true)
	check(2*time.Hour, time.Hour-1, false, true)
	check(2*time.Hour, time.Hour, true, false)
	check(3*time.Hour, time.Hour, false, false)
}

// bus is a store that carries hints and broadcasts of a test. The fleet's goroutines call
// it while the test looks at it.
type bus struct {
	store.Store
	breaks chan error // ends what listens

	mu     sync.Mutex // guards the fields below
	hinted []store.Key
	sent   []string
	err    error
	hints  func(store.Key)
	hear   func([]byte)
}

func (b *bus) Hint(_ context.Context, keys []store.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hinted = append(b.hinted, keys...)
	return b.err
}

func (b *bus) Hints(ctx context.Context, f func(store.Key)) error {
	b.setHints(f)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-b.breaks:
		b.setHints(nil)
		return err
	}
}

func (b *bus) setHints(f func(store.Key)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hints = f
}

func (b *bus) Broadcast(_ context.Context, payload []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, string(payload))
	return b.err
}

func (b *bus) Broadcasts(ctx context.Context, f func([]byte)) error {
	b.mu.Lock()
	b.hear = f
	b.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

// fail sets what hints and broadcasts return from now on.
func (b *bus) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// broadcasts are those sent since forget.
func (b *bus) broadcasts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent)
}

func (b *bus) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = nil
}

// hintsOut are the hints sent so far.
func (b *bus) hintsOut() []store.Key {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.hinted)
}

// listeners are the functions that take hints and broadcasts; nil: nothing listens.
func (b *bus) listeners() (hints func(store.Key), hear func([]byte)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hints, b.hear
}

// lines is a log that a test reads while others write it.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// onBus runs a test in virtual time on a fleet that started.
func onBus(t *testing.T, test func(t *testing.T, b *bus, f *Fleet, log *lines, hinted *[]store.Key)) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		defer kept.Close()
		b := &bus{Store: kept, breaks: make(chan error)}
		var log lines
		var hinted []store.Key
		now := func() turn.Time { return turn.At(time.Now()) }
		f := New(Options{
			Name: "own", Instance: "own", Store: b, Now: now, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Report: func(context.Context) (Report, bool) { return Report{State: Ready}, true },
			Hinted: func(key store.Key) { hinted = append(hinted, key) }, RingBytes: ringBytes,
		})
		f.Start()
		synctest.Wait()
		test(t, b, f, &log, &hinted)
		f.Close()
	})
}

// A fleet tells how it is at its start, every five seconds, and when it ends.
func TestSpeaking(t *testing.T) {
	onBus(t, func(t *testing.T, b *bus, f *Fleet, _ *lines, _ *[]store.Key) {
		wait(12 * time.Second)
		if sent := b.broadcasts(); len(sent) != 3 {
			t.Fatalf("%d messages in 12 s", len(sent))
		}
		for i, text := range b.broadcasts() {
			var m message
			if err := json.Unmarshal([]byte(text), &m); err != nil || m.Node != "own" || m.Instance != "own" || m.Report == nil || m.Watches == nil || len(*m.Watches) != 0 || m.Ask != (i < 2) {
				t.Errorf("message %d is %s", i, text)
			}
		}
		b.forget()
		f.Subscribe(Topic{Bot: "b"}, "")
		wait(time.Millisecond)
		if sent := b.broadcasts(); len(sent) != 1 || !strings.Contains(sent[0], `"watches":[{"bot":"b"}]`) {
			t.Errorf("a new watcher: %q", sent)
		}
		b.forget()
		f.Close()
		if sent := b.broadcasts(); len(sent) != 1 || !strings.Contains(sent[0], `"watches":[]`) {
			t.Errorf("the end: %q", sent)
		}
	})
}

// Events that come soon after each other share a broadcast, and the first one does not
// wait.
func TestEventsShareABroadcast(t *testing.T) {
	onBus(t, func(t *testing.T, b *bus, f *Fleet, _ *lines, _ *[]store.Key) {
		_, hear := b.listeners()
		hear([]byte(`{"instance":"x","watches":[{}]}`))
		wait(time.Second)
		b.forget()
		for i := range 10 {
			f.Publish(event("b", "c", fmt.Sprint(i)))
			if i == 0 {
				synctest.Wait()
				if sent := b.broadcasts(); len(sent) != 1 {
					t.Error("the first event waits")
				}
			}
			wait(5 * time.Millisecond)
		}
		if sent := b.broadcasts(); len(sent) != 1 {
			t.Errorf("%d broadcasts", len(sent))
		}
		wait(gatherFor)
		if sent := b.broadcasts(); len(sent) != 2 || strings.Count(sent[1], `"kind"`) != 9 {
			t.Errorf("%d broadcasts: %q", len(sent), sent)
		}
	})
}

// A broadcast that fails is lost; a store that is crowded is told of now and then.
func TestBroadcastsThatFail(t *testing.T) {
	onBus(t, func(t *testing.T, b *bus, f *Fleet, log *lines, _ *[]store.Key) {
		b.fail(store.ErrNoBroadcasts)
		wait(6 * time.Second)
		if n := strings.Count(log.String(), "level=DEBUG msg=\"other nodes were not told\""); n != 1 {
			t.Errorf("%d lines: %s", n, log.String())
		}
		b.fail(store.ErrCrowded)
		wait(26 * time.Second)
		if n := strings.Count(log.String(), "level=WARN msg=\"the store carries less"); n != 3 {
			t.Errorf("%d lines: %s", n, log.String())
		}
		b.fail(nil)
	})
}

// Hints go out and come in, also after the connection broke.
func TestHints(t *testing.T) {
	onBus(t, func(t *testing.T, b *bus, f *Fleet, log *lines, hinted *[]store.Key) {
		key, other := store.Key{Bot: "b", Conversation: "c"}, store.Key{Bot: "b", Conversation: "d"}
		f.Hint(key)
		synctest.Wait()
		hints, _ := b.listeners()
		hints(other)
		if !slices.Equal(b.hintsOut(), []store.Key{key}) || !slices.Equal(*hinted, []store.Key{other}) {
			t.Errorf("out %v, in %v", b.hintsOut(), *hinted)
		}
		b.fail(store.ErrClosed)
		f.Hint(key)
		synctest.Wait()
		if n := strings.Count(log.String(), "a hint was not sent"); n != 1 {
			t.Errorf("%d lines: %s", n, log.String())
		}
		b.fail(nil)
		b.breaks <- store.ErrClosed
		synctest.Wait()
		hints, _ = b.listeners()
		if n := strings.Count(log.String(), "hints of other nodes do not arrive"); n != 1 || hints != nil {
			t.Errorf("%d lines: %s", n, log.String())
		}
		wait(listenPause)
		if hints, _ = b.listeners(); hints == nil {
			t.Error("it does not listen again")
		}
	})
}

// On a store without these powers a node keeps to itself.
func TestAStoreWithoutPowers(t *testing.T) {
	now := turn.Time(1_750_000_000_000)
	f := quiet(&now)
	f.Start()
	f.Hint(store.Key{Bot: "b", Conversation: "c"})
	s := f.Subscribe(Topic{}, "")
	f.Publish(event("b", "c", "x"))
	f.Close()
	if got := taken(s); len(got) != 1 || !hasEnded(s) {
		t.Errorf("%q", got)
	}
}

// wait lets virtual time pass, and all that happens in it.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
