package maintenance

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// checkup runs a doctor, and returns what it found.
func checkup(t *testing.T, s store.Store, repair bool) (Checkup, []Finding) {
	t.Helper()
	var findings []Finding
	d := Doctor{Store: s, Repair: repair, Found: func(f Finding) { findings = append(findings, f) }}
	sums, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sums, findings
}

func TestNothingIsWrong(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			seed(t, s)
			sums, findings := checkup(t, s, true)
			want := Checkup{Conversations: 6, Entries: 26, Timers: 3, Pending: 3}
			if sums != want || len(findings) > 0 {
				t.Errorf("got %+v with %+v, want %+v and no findings", sums, findings, want)
			}
		})
	}
}

// fault is something that must never be in a store.
type fault struct {
	name     string
	write    store.Write
	breaks   []Rule
	repaired bool
}

func faults() []fault {
	change := func(w store.Write, f func(*store.Write)) store.Write {
		f(&w)
		return w
	}
	entry := func(w store.Write, n int, f func(*store.Entry)) store.Write {
		f(&w.Append[n])
		return w
	}
	return []fault{
		{"work without a timer", change(waiting("c", 1), func(w *store.Write) { w.Timer = 0 }), []Rule{Timer}, true},
		{"a timer without work", change(idle("c", 1), func(w *store.Write) { w.Timer = later }), []Rule{Timer}, true},
		{"a timer before the wake-up", change(waiting("c", 1), func(w *store.Write) { w.Timer-- }), []Rule{Timer}, true},
		{"a timer long after it", change(waiting("c", 1), func(w *store.Write) { w.Timer++ }), []Rule{Timer}, true},
		{"a reply to be sent that nothing wakes", change(sending("c", 1), func(w *store.Write) {
			w.Record.Lease, w.Record.Reply.RetryAt, w.Timer = turn.Lease{}, 0, 0
		}), []Rule{Timer}, true},
		{"a lease without an expiry", change(generating("c", 1), func(w *store.Write) {
			w.Record.Lease.Expires, w.Timer = 0, 0
		}), []Rule{Record, Lease, Timer}, true},
		{"a lease without a nonce", change(generating("c", 1), func(w *store.Write) {
			w.Record.Lease.Nonce, w.Timer = "", 0
		}), []Rule{Record, Lease}, true},
		{"a lease with another token", change(generating("c", 1), func(w *store.Write) { w.Record.Token++ }), []Rule{Record, Lease}, true},
		{"a lease that guards nothing", change(idle("c", 1), func(w *store.Write) {
			w.Record.Lease = turn.Lease{Holder: "node", Nonce: "n", Expires: later}
			w.Timer = later
		}), []Rule{Record}, false},
		{"a wrong count", change(waiting("c", 1), func(w *store.Write) { w.Record.Pending = 5 }), []Rule{Pending}, true},
		{"a count of nothing", change(waiting("c", 1), func(w *store.Write) { w.Append = w.Append[:2] }), []Rule{Pending}, false},
		{"a message that the record forgot", change(waiting("c", 1), func(w *store.Write) {
			w.Record.Phase, w.Record.Pending, w.Record.Answered, w.Timer = turn.Idle, 0, 2, 0
		}), []Rule{Pending}, false},
		{"a message before the mark", change(waiting("c", 1), func(w *store.Write) { w.Record.AfterSeq = w.Record.Seq }), []Rule{Pending}, false},
		{"a record that breaks a rule", change(idle("c", 1), func(w *store.Write) { w.Record.Answered = 0 }), []Rule{Record}, false},
		{"an entry newer than the record", entry(idle("c", 1), 0, func(e *store.Entry) { e.Version = 9 }), []Rule{Versions}, false},
		{"an entry after the last sequence", change(idle("c", 1), func(w *store.Write) { w.Record.Seq, w.Record.AfterSeq = 1, 1 }), []Rule{Versions}, false},
		{"a reply without its text", change(sending("c", 1), func(w *store.Write) { w.Append = w.Append[:3] }), []Rule{Replies}, false},
		{"a reply that is to be sent again", entry(sending("c", 1), 3, func(e *store.Entry) { e.Status = turn.ReplySent }), []Rule{Replies}, false},
		{"a reply that nobody will send", entry(idle("c", 1), 1, func(e *store.Entry) { e.Status = turn.ReplyCommitted }), []Rule{Replies}, false},
		{"a message with two replies", entry(idle("c", 2), 3, func(e *store.Entry) { e.Covers = []string{"m3", "m1"} }), []Rule{Covers}, false},
		{"a message with two replies, edited before the first", change(idle("c", 2), func(w *store.Write) {
			w.Append[0].EditedAt, w.Append[3].Covers = start+1, []string{"m1", "m3"}
		}), []Rule{Covers}, false},
		{"a message covered twice", entry(idle("c", 1), 1, func(e *store.Entry) { e.Covers = []string{"m1", "m1"} }), []Rule{Covers}, false},
		{"a message covered before it came", entry(idle("c", 2), 1, func(e *store.Entry) { e.Covers = []string{"m1", "m3"} }), []Rule{Covers}, false},
		{"a message that was never there", entry(idle("c", 1), 1, func(e *store.Entry) { e.Covers = []string{"m1", "x"} }), []Rule{Covers}, false},
		{"a message answered by a reply to others", entry(idle("c", 1), 1, func(e *store.Entry) { e.Covers = nil }), []Rule{Covers}, false},
		{"a copy that was interrupted", store.Write{Key: keyOf("c"), Op: newOp(), Record: copying(2), Append: idle("c", 1).Append}, []Rule{Copied}, false},
	}
}

// Each fault is found, by its rules and no others; what is repaired stays so.
func TestFaultsAreFound(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			s := memory.New()
			put(t, s, f.write)
			_, findings := checkup(t, s, false)
			expectRules(t, findings, f.breaks)

			sums, findings := checkup(t, s, true)
			expectRules(t, findings, f.breaks)
			if (sums.Remaining == 0) != f.repaired {
				t.Errorf("got %+v with %+v, want repaired to be %v", sums, findings, f.repaired)
			}
			for _, finding := range findings {
				if finding.Repaired != f.repaired || (finding.Left == "") != f.repaired {
					t.Errorf("got %+v, want repaired to be %v, or why it was left", finding, f.repaired)
				}
			}
			after, err := s.Load(t.Context(), f.write.Key)
			if err != nil || (after.Op != f.write.Op) != f.repaired {
				t.Errorf("got %v, %v after %v: a repair is a write, and nothing else is", after.Op, err, f.write.Op)
			}
			if !reflect.DeepEqual(after.Log, f.write.Log) {
				t.Errorf("got the log %+v, want %+v: a repair changes nothing of it", after.Log, f.write.Log)
			}
			sums, _ = checkup(t, s, false)
			if (sums.Findings == 0) != f.repaired {
				t.Errorf("afterwards: got %+v, want none to be %v", sums, f.repaired)
			}
		})
	}
}

func expectRules(t *testing.T, findings []Finding, want []Rule) {
	t.Helper()
	var got []Rule
	for _, f := range findings {
		got = append(got, f.Rule)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %v", findings, want)
	}
}

// What looks odd and is right.
func TestWhatIsRightIsNoFinding(t *testing.T) {
	edited := idle("c", 2)
	edited.Append[0].EditedAt, edited.Append[3].Covers = start+3, []string{"m1", "m3"}
	late := idle("c", 2)
	late.Append[0].EditedAt, late.Append[1].Late, late.Append[3].Covers = start+1, true, []string{"m1", "m3"}
	trimmed := idle("c", 3)
	trimmed.Append = trimmed.Append[3:]
	claimed := waiting("c", 1)
	claimed.Record.Window.QuietUntil, claimed.Record.Window.Due, claimed.Timer = start+5, start+5, turn.At(time.Now().Add(5*time.Second))
	for name, w := range map[string]store.Write{
		"a message edited after its reply":                  edited,
		"a message edited before a late reply":              late,
		"a reply whose message retention removed":           trimmed,
		"a timer that a claim moved":                        claimed,
		"a conversation of which nothing was ever received": {Key: keyOf("c"), Op: newOp(), Record: turn.Record{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			put(t, s, w)
			if _, findings := checkup(t, s, false); len(findings) > 0 {
				t.Errorf("got %+v, want no findings", findings)
			}
		})
	}
}

// restless writes to a conversation each time that its entries are read.
type restless struct {
	store.Store
	then  func() store.Write // the next write
	times int
}

func (s *restless) Entries(ctx context.Context, key store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
	if s.times > 0 {
		s.times--
		before, err := s.Load(ctx, key)
		if err != nil {
			return nil, false, err
		}
		w := s.then()
		w.Expect, w.Op = before.Op, newOp()
		if result, err := s.Commit(ctx, w); err != nil || result.Status != store.OK {
			return nil, false, err
		}
	}
	return s.Store.Entries(ctx, key, q)
}

// A record and a transcript that were read before and after a write do not fit
// together, and are no finding.
func TestWhatChangesIsLookedAtAgain(t *testing.T) {
	before := waiting("c", 0)
	s := &restless{Store: memory.New(), times: 1, then: func() store.Write {
		w := idle("c", 1)
		w.Change, w.Append = w.Append[:1], w.Append[1:]
		return w
	}}
	put(t, s, before)
	sums, findings := checkup(t, s, true)
	if len(findings) > 0 || sums.Busy > 0 {
		t.Errorf("got %+v, %+v; want no findings", sums, findings)
	}
}

// A conversation that never rests is said to be busy, and is left alone.
func TestWhatNeverRestsIsBusy(t *testing.T) {
	wrong := waiting("c", 1)
	wrong.Record.Pending = 5
	s := &restless{Store: memory.New(), times: 1000, then: func() store.Write {
		w := wrong
		w.Append = nil
		return w
	}}
	put(t, s.Store, wrong)
	sums, findings := checkup(t, s, true)
	if len(findings) > 0 || sums.Busy != 1 {
		t.Errorf("got %+v, %+v; want a busy conversation and no findings", sums, findings)
	}
}

// conflicting loses every compare-and-swap.
type conflicting struct{ store.Store }

func (conflicting) Commit(context.Context, store.Write) (store.Result, error) {
	return store.Result{Status: store.Conflict}, nil
}

func TestARepairNeverOverwrites(t *testing.T) {
	s := memory.New()
	w := waiting("c", 1)
	w.Timer = 0
	put(t, s, w)
	sums, findings := checkup(t, conflicting{s}, true)
	if sums.Repaired != 0 || sums.Remaining != 1 || findings[0].Left == "" {
		t.Errorf("got %+v, %+v; want it to be left", sums, findings)
	}
}

// Pages beyond the first are examined too.
func TestAllPagesAreExamined(t *testing.T) {
	s := memory.New()
	for i := range 3*doctorPage + 1 {
		w := waiting(string(rune('a'+i%26))+string(rune('a'+i/26)), 0)
		w.Timer = 0
		put(t, s, w)
	}
	sums, findings := checkup(t, s, true)
	if want := 3*doctorPage + 1; sums.Conversations != want || len(findings) != want || sums.Repaired != want {
		t.Errorf("got %+v, want %d of each", sums, want)
	}
}

// bereft is a store that has lost the record of one conversation.
type bereft struct {
	store.Store
	lost store.Key
}

func (f bereft) Sweep(ctx context.Context, cursor string, limit int) ([]store.Found, string, error) {
	found, next, err := f.Store.Sweep(ctx, cursor, limit)
	for i := range found {
		if found[i].Key == f.lost {
			found[i].Snapshot = store.Snapshot{}
		}
	}
	return found, next, err
}

func (f bereft) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	if w.Key == f.lost {
		panic("a record was made up")
	}
	return f.Store.Commit(ctx, w)
}

// A conversation without a record is one finding, and no record is made up for it.
func TestALostRecordIsReportedAndLeft(t *testing.T) {
	s := memory.New()
	seed(t, s)
	for _, repair := range []bool{false, true} {
		for _, lost := range []string{"waiting", "sending", "short", "empty"} {
			sums, findings := checkup(t, bereft{s, keyOf(lost)}, repair)
			expectRules(t, findings, []Rule{Lost})
			if sums.Remaining != 1 || findings[0].Repaired || findings[0].Conversation != lost || (findings[0].Left != "") != repair {
				t.Errorf("repair %v: got %+v with %+v", repair, sums, findings)
			}
		}
	}
}
