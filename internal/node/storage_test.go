package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

var key = store.Key{Bot: "bot", Conversation: "c"}

// watchedStore counts the calls of a store and the entries that it gave, and fails the
// calls from a number on.
type watchedStore struct {
	store.Store
	calls, given int
	failFrom     int // 0: never
	most         int // bytes of a page; 0: those that were asked for
}

var errAway = errors.New("out of reach")

func (s *watchedStore) fails() error {
	if s.calls++; s.failFrom > 0 && s.calls >= s.failFrom {
		return errAway
	}
	return nil
}

func (s *watchedStore) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	if err := s.fails(); err != nil {
		return store.Snapshot{}, err
	}
	return s.Store.Load(ctx, key)
}

func (s *watchedStore) Entries(ctx context.Context, key store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
	if err := s.fails(); err != nil {
		return nil, false, err
	}
	q.Bytes = cmp.Or(s.most, q.Bytes)
	found, more, err := s.Store.Entries(ctx, key, q)
	s.given += len(found)
	return found, more, err
}

// stored is a store with one conversation of these entries, which get the sequences
// 1, 2, 3, … where they have none.
func stored(t *testing.T, record turn.Record, entries []store.Entry) *watchedStore {
	t.Helper()
	s := memory.New()
	t.Cleanup(func() { s.Close() })
	for i := range entries {
		if entries[i].Seq == 0 {
			entries[i].Seq = int64(i + 1)
		}
	}
	record.Seq, record.Version = int64(len(entries)), max(record.Version, 1)
	result, err := s.Commit(t.Context(), store.Write{Key: key, Op: store.Op{1}, Record: record, Append: entries})
	if err != nil || result.Status != store.OK {
		t.Fatalf("%v, %v", result, err)
	}
	return &watchedStore{Store: s}
}

func message(id int, status turn.Status, reply int) store.Entry {
	return store.Entry{Kind: store.Message, ID: fmt.Sprint("m", id), Status: status, Version: int64(id), ReplySeq: int64(reply)}
}

func reply(id int, status turn.Status, covers ...string) store.Entry {
	return store.Entry{Kind: store.Reply, ID: fmt.Sprint("r", id), Status: status, Body: store.Body{Covers: covers, Parts: []string{"a", "b"}}}
}

func ids(entries []store.Entry) (all []string) {
	for _, e := range entries {
		all = append(all, e.ID)
	}
	return all
}

func TestLoad(t *testing.T) {
	s := stored(t, turn.Record{Version: 5, AfterSeq: 1}, []store.Entry{
		message(1, turn.InputPending, 0), message(2, turn.InputAnswered, 0), message(3, turn.InputPending, 0), message(4, turn.InputPending, 0),
	})
	got := Load(t.Context(), s, engine.Load{Key: key})
	if got.Err != nil || got.Key != key || got.Snapshot.Op != (store.Op{1}) || got.Snapshot.Record.Version != 5 || got.Messages != nil || got.Pending != nil || s.calls != 1 {
		t.Errorf("the record alone: %+v after %d calls", got, s.calls)
	}
	got = Load(t.Context(), s, engine.Load{Key: key, IDs: []string{"m4", "none", "m2"}, Pending: true})
	if !slices.Equal(ids(got.Messages), []string{"m4", "m2"}) {
		t.Errorf("messages %q", ids(got.Messages))
	}
	if !slices.Equal(ids(got.Pending), []string{"m3", "m4"}) {
		t.Errorf("waiting after the record's AfterSeq: %q", ids(got.Pending))
	}
	for call := 1; call <= 5; call++ {
		s := &watchedStore{Store: s.Store, failFrom: call}
		got := Load(t.Context(), s, engine.Load{Key: key, IDs: []string{"m4", "none", "m2"}, Pending: true})
		if !errors.Is(got.Err, errAway) || s.calls != call {
			t.Errorf("call %d fails: %v after %d calls", call, got.Err, s.calls)
		}
	}
}

// What quotes a message is read from there on, over all pages, and no other message's.
func TestWhatQuotesAMessageIsRead(t *testing.T) {
	var entries []store.Entry
	var want []string
	for i := range 2*store.MaxEntries + 10 {
		m := message(i+1, turn.InputAnswered, 0)
		switch {
		case i%500 == 7, i == store.MaxEntries+2: // the last of the first page
			m.ReplyTo = &store.Quote{ID: "m3", Text: "secret"}
			want = append(want, m.ID)
		case i%500 == 8:
			m.ReplyTo = &store.Quote{ID: "m4"}
		}
		entries = append(entries, m)
	}
	s := stored(t, turn.Record{}, entries)
	got := Load(t.Context(), s, engine.Load{Key: key, IDs: []string{"m3", "m2000"}, Quoting: []string{"m3"}})
	if got.Err != nil || !slices.Equal(ids(got.Quoting), want) || s.calls != 6 {
		t.Errorf("%q after %d calls, %v; want %q", ids(got.Quoting), s.calls, got.Err, want)
	}
	if got := Load(t.Context(), s, engine.Load{Key: key, IDs: []string{"m3", "none"}, Quoting: []string{"none"}}); got.Quoting != nil {
		t.Errorf("of a message that is not there: %q", ids(got.Quoting))
	}
	s.calls, s.failFrom = 0, 3
	if got := Load(t.Context(), s, engine.Load{Key: key, IDs: []string{"m3"}, Quoting: []string{"m3"}}); !errors.Is(got.Err, errAway) {
		t.Errorf("the read fails: %v", got.Err)
	}
}

// The reply of a turn is found however far back it stands, and the search for one that
// there is not ends with the transcript.
func TestReadReply(t *testing.T) {
	const first = 20 // entries of the first page
	for _, count := range []int{0, 1, first - 1, first, first + 1, first + store.MaxEntries, first + store.MaxEntries + 1} {
		var entries []store.Entry
		for i := range count {
			e := reply(i+1, turn.ReplySent)
			e.Turn = int64(i + 1)
			entries = append(entries, e, message(i+1, turn.InputAnswered, 0))
		}
		s := stored(t, turn.Record{}, entries)
		for number := range int64(count + 2) {
			if number > 2 && number < int64(count)-2 && number%100 != 0 {
				continue
			}
			got := Load(t.Context(), s, engine.Load{Key: key, Turns: []int64{number}})
			want := 0 < number && number <= int64(count)
			if got.Err != nil || len(got.Replies) == 1 != want || want && got.Replies[0].Turn != number {
				t.Errorf("of %d, number %d: %+v, %v", count, number, got.Replies, got.Err)
			}
		}
	}
}

// What waits is read whole, however many pages that takes, and no page twice.
func TestAllThatWaitsIsRead(t *testing.T) {
	const page = store.MaxEntries
	for count, calls := range map[int]int{0: 1, 1: 1, page - 1: 1, page: 1, page + 1: 2, 2*page + 500: 3} {
		var entries []store.Entry
		for i := range count {
			entries = append(entries, message(i+1, turn.InputPending, 0))
		}
		s := stored(t, turn.Record{}, entries)
		got, err := readWaiting(t.Context(), s, engine.ReadPrompt{Key: key, Through: math.MaxInt64, Bytes: 1 << 20})
		if err != nil || !slices.Equal(ids(got), ids(entries)) || s.calls != calls {
			t.Errorf("of %d there are %d after %d calls, want %d; %v", count, len(got), s.calls, calls, err)
		}
	}
}

// sized is a message that waits, with a text of so many bytes.
func sized(id, bytes int) store.Entry {
	m := message(id, turn.InputPending, 0)
	m.Text = strings.Repeat("x", bytes)
	m.Size = bytes
	return m
}

// Of all that waits no more is read than one prompt may be made of, and a page.
func TestAPromptReadsNoMoreThanItMayHold(t *testing.T) {
	const most, text = 1 << 20, 64 << 10
	var entries []store.Entry
	for i := range 200 {
		entries = append(entries, sized(i+1, text))
	}
	s := stored(t, turn.Record{}, entries)
	got, err := readWaiting(t.Context(), s, engine.ReadPrompt{Key: key, Through: 200, Bytes: most})
	if err != nil || len(got) <= most/text || !slices.Equal(ids(got), ids(entries[:len(got)])) || s.given > len(got) || s.given > 3*most/text {
		t.Errorf("%q of %d entries that were read, %v", ids(got), s.given, err)
	}
	s.given = 0
	got, err = readWaiting(t.Context(), s, engine.ReadPrompt{Key: key, Through: 3, Bytes: most})
	if err != nil || len(got) < 3 || s.given > most/text {
		t.Errorf("what the attempt has not seen was read: %d entries, %v", s.given, err)
	}
}

// Those that wait are read without their texts where a stop word or a person's reply is to
// settle them.
func TestWhatIsSettledIsReadWithoutTexts(t *testing.T) {
	entries := []store.Entry{sized(1, 600<<10), sized(2, 600<<10), sized(3, 1)}
	entries[1].Sender.ID, entries[1].Attachments, entries[1].Was = "ann", []store.Attachment{{URL: "u"}, {URL: "v", Pending: true}}, &store.Was{Version: 1, Text: "was"}
	s := stored(t, turn.Record{}, entries)
	got, err := readPending(t.Context(), s, key, 0)
	if err != nil || !slices.Equal(ids(got), []string{"m1", "m2", "m3"}) {
		t.Fatalf("%q, %v", ids(got), err)
	}
	want := store.Body{Size: 600 << 10, Sender: store.Sender{ID: "ann"}, Attachments: []store.Attachment{{Pending: true}}, Was: &store.Was{Version: 1}, Parts: []string{}}
	if !reflect.DeepEqual(got[1].Body, want) {
		t.Errorf("%+v, want %+v", got[1].Body, want)
	}
}

func TestReadEntry(t *testing.T) {
	s := stored(t, turn.Record{}, []store.Entry{message(1, turn.InputPending, 0), reply(2, turn.ReplyCommitted), message(3, turn.InputPending, 0)})
	if got, err := readEntry(t.Context(), s, key, 2); err != nil || got.ID != "r2" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := readEntry(t.Context(), s, key, 4); err == nil {
		t.Errorf("there is no entry 4: %+v", got)
	}
	s.failFrom = 1
	if _, err := readEntry(t.Context(), s, key, 2); !errors.Is(err, errAway) {
		t.Errorf("the store is away: %v", err)
	}
}

func texts(entries []store.Entry) (all []string) {
	for _, e := range entries {
		all = append(all, e.ID+": "+e.Text)
	}
	return all
}

// answered is a burst of messages and the reply to them.
func answered(entries []store.Entry, messages int) []store.Entry {
	at := len(entries) + messages + 1
	var covers []string
	for range messages {
		m := message(len(entries)+1, turn.InputAnswered, at)
		covers, entries = append(covers, m.ID), append(entries, m)
	}
	return append(entries, reply(at, turn.ReplySent, covers...))
}

func waiting(entries []store.Entry, count int) []store.Entry {
	for range count {
		entries = append(entries, message(len(entries)+1, turn.InputPending, 0))
	}
	return entries
}

func closed(entries []store.Entry, count int) []store.Entry {
	for range count {
		entries = append(entries, message(len(entries)+1, turn.InputClosed, 0))
	}
	return entries
}

// The history is there however much waits behind it, and it costs no more pages than
// it must.
func TestTheHistoryBehindManyMessages(t *testing.T) {
	tests := map[string]struct {
		entries []store.Entry
		history int
		calls   int // of the store, for the tail
		want    int // entries of the history
	}{
		"nothing came before":           {waiting(nil, 3), 40, 1, 0},
		"nothing waits":                 {answered(nil, 2), 40, 1, 3},
		"a few":                         {waiting(answered(answered(nil, 2), 2), 2), 40, 1, 6},
		"one more than the history":     {waiting(answered(answered(nil, 2), 2), 2), 5, 1, 5},
		"1,200 wait":                    {waiting(answered(answered(nil, 30), 30), 1200), 40, 2, 40},
		"just one page waits":           {waiting(answered(nil, 60), 1000), 40, 2, 40},
		"a burst of twice the history":  {waiting(answered(answered(nil, 5), 80), 1), 40, 1, 40},
		"a burst of 3,000":              {waiting(answered(answered(nil, 5), 3000), 3000), 40, 4, 40},
		"all of a burst is the history": {waiting(answered(answered(nil, 50), 499), 1), 500, 1, 500},
		"81 were closed since":          {closed(answered(nil, 60), 81), 40, 2, 40},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := stored(t, turn.Record{}, slices.Clone(test.entries))
			all, _, _ := s.Store.Entries(t.Context(), key, store.EntryQuery{})
			waits, err := readWaiting(t.Context(), s, engine.ReadPrompt{Key: key, Through: math.MaxInt64})
			if err != nil {
				t.Fatal(err)
			}
			s.calls = 0
			tail, err := readTail(t.Context(), s, engine.ReadPrompt{Key: key, History: test.history}, len(waits))
			got := engine.History(tail, test.history, 0)
			if err != nil || len(got) != test.want || s.calls != test.calls {
				t.Errorf("%d entries of %d, after %d calls; want %d after %d; %v", len(got), len(all), s.calls, test.want, test.calls, err)
			}
			if test.want > 0 && got[len(got)-1].Kind != store.Reply && test.entries[len(test.entries)-1].Status != turn.InputClosed {
				t.Errorf("it ends with %+v", got[len(got)-1])
			}
			if slices.ContainsFunc(tail, func(e store.Entry) bool { return e.Status == turn.InputPending }) {
				t.Error("what waits is in the tail")
			}
		})
	}
}

// Any transcript gives the same history as if all of it had been read.
func TestTheHistoryIsThatOfTheWholeTranscript(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 7))
		entries := randomTranscript(random, 1+random.IntN(120))
		s := stored(t, turn.Record{}, entries)
		history, observe := random.IntN(12), 1+random.IntN(5)
		waits, _ := readWaiting(t.Context(), s, engine.ReadPrompt{Key: key, Through: math.MaxInt64})
		s.most = 1 + random.IntN(500)                   // bytes of a page
		most := random.IntN(2) * (1 + random.IntN(200)) // bytes of the prompt
		tail, err := readTail(t.Context(), s, engine.ReadPrompt{Key: key, History: history, Observe: observe, Bytes: most}, random.IntN(len(waits)+1))
		if err != nil {
			t.Fatal(err)
		}
		want, got := newest(engine.History(slices.Clone(entries), history, observe), most), newest(engine.History(tail, history, observe), most)
		if !slices.Equal(texts(got), texts(want)) {
			t.Fatalf("seed %d, %d of history, %d observed:\n%q\nwant\n%q\nof %+v", seed, history, observe, texts(got), texts(want), entries)
		}
	}
}

// newest are the last entries that have at most so many bytes, as a prompt has them.
func newest(entries []store.Entry, most int) []store.Entry {
	size := 0
	for i, e := range slices.Backward(entries) {
		if size += max(e.Bytes(), e.Size); most > 0 && size > most {
			return entries[i+1:]
		}
	}
	return entries
}

// randomTranscript has bursts that are answered, in any order of sequences, closed,
// withdrawn, or wait, and replies that failed.
func randomTranscript(random *rand.Rand, count int) []store.Entry {
	var entries []store.Entry
	var open []int
	for i := range count {
		switch random.IntN(6) {
		case 0:
			status := []turn.Status{turn.ReplySent, turn.ReplySent, turn.ReplyFailed, turn.ReplyPartial}[random.IntN(4)]
			r := reply(i+1, status)
			r.Delivered = random.IntN(2)
			random.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
			settled := random.IntN(len(open) + 1)
			for _, at := range open[:settled] {
				entries[at].Status, entries[at].ReplySeq = turn.InputAnswered, int64(i+1)
				r.Covers = append(r.Covers, entries[at].ID)
			}
			open = open[settled:]
			entries = append(entries, r)
		case 1:
			m := message(i+1, []turn.Status{turn.InputDeleted, turn.InputClosed, turn.InputFailed, turn.InputContext}[random.IntN(4)], 0)
			if m.Status == turn.InputContext && random.IntN(2) == 0 {
				m.Reason = turn.NotAddressed
			}
			entries = append(entries, m)
		default:
			open = append(open, len(entries))
			entries = append(entries, message(i+1, turn.InputPending, 0))
		}
		entries[i].Text = "text of " + entries[i].ID
	}
	return entries
}

// endless is a transcript of withdrawn messages without a beginning, and one reply
// that covers a message which is gone.
type endless struct {
	store.Store
	given int
}

func (s *endless) Entries(_ context.Context, _ store.Key, q store.EntryQuery) (page []store.Entry, more bool, _ error) {
	at := q.Before
	if at == 0 {
		page, at = append(page, store.Entry{Seq: 1 << 40, Kind: store.Reply, Status: turn.ReplySent, Body: store.Body{Covers: []string{"gone"}}}), 1<<40
	}
	for len(page) < q.Limit {
		at--
		page = append(page, store.Entry{Seq: at, Kind: store.Message, Status: turn.InputDeleted})
	}
	s.given += len(page)
	return page, true, nil
}

// Reading a history is bounded: a transcript that never completes it does not keep
// the store busy.
func TestReadingAHistoryIsBounded(t *testing.T) {
	s := &endless{}
	tail, err := readTail(t.Context(), s, engine.ReadPrompt{Key: key, History: 40}, 0)
	if err != nil || s.given != 20_080 {
		t.Errorf("%d entries were read, %v", s.given, err)
	}
	if got := engine.History(tail, 40, 0); len(got) != 1 || len(tail) != s.given {
		t.Errorf("the history has %d entries of %d, want what there is", len(got), len(tail))
	}
	s = &endless{}
	if _, err := readTail(t.Context(), s, engine.ReadPrompt{Key: key, History: 500}, 0); err != nil || s.given != 20_000 {
		t.Errorf("with whole pages only, %d entries were read, %v", s.given, err)
	}
}

func TestReadPrompt(t *testing.T) {
	entries := waiting(answered(waiting(nil, 1), 2), 2)
	s := stored(t, turn.Record{}, entries)
	read := engine.ReadPrompt{Key: key, AfterSeq: 1, History: 2, Through: math.MaxInt64}
	waits, tail, err := ReadPrompt(t.Context(), s, read)
	if err != nil || !slices.Equal(ids(waits), []string{"m5", "m6"}) || !slices.Equal(ids(tail), []string{"m2", "m3", "r4"}) {
		t.Errorf("%q, %q, %v", ids(waits), ids(tail), err)
	}
	read.AfterSeq, read.History = 0, 0
	if waits, tail, err = ReadPrompt(t.Context(), s, read); err != nil || !slices.Equal(ids(waits), []string{"m1", "m5", "m6"}) || tail != nil {
		t.Errorf("without a history: %q, %q, %v", ids(waits), ids(tail), err)
	}
	read.Observe = 1
	if _, tail, err = ReadPrompt(t.Context(), s, read); err != nil || len(tail) == 0 {
		t.Errorf("for what was observed: %q, %v", ids(tail), err)
	}
	read.AfterSeq, read.History, read.Observe = 6, 3, 0
	if waits, tail, err = ReadPrompt(t.Context(), s, read); err != nil || waits != nil || !slices.Equal(ids(tail), []string{"m2", "m3", "r4"}) {
		t.Errorf("nothing waits after the last: %q, %q, %v", ids(waits), ids(tail), err)
	}
	read.FreshAfter = 2
	if waits, tail, err = ReadPrompt(t.Context(), s, read); err != nil || waits != nil || !slices.Equal(ids(tail), []string{"m3", "r4"}) {
		t.Errorf("after a reset: %q, %q, %v", ids(waits), ids(tail), err)
	}
	read.History = 1
	for call := 1; call <= 2; call++ {
		s := &watchedStore{Store: s.Store, failFrom: call}
		if _, _, err := ReadPrompt(t.Context(), s, read); !errors.Is(err, errAway) || s.calls != call {
			t.Errorf("call %d fails: %v after %d calls", call, err, s.calls)
		}
	}
}
