package turn_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/onereply/onereply/turn"
)

// traced plays events and gives the trace, and what was told.
func traced(policy turn.Policy, events ...happened) (turn.Trace, []turn.Notice) {
	var record turn.Record
	var told []turn.Notice
	for _, e := range events {
		var effects turn.Effects
		record, effects = turn.Step(record, e.event, after(e.at), policy)
		told = append(told, effects.Notices...)
	}
	return record.Trace, told
}

// TestTraceIsWhatWasTold: the steps are the notices, but for what only a
// histogram needs.
func TestTraceIsWhatWasTold(t *testing.T) {
	policy := basic
	policy.TraceSteps = 128
	trace, told := traced(policy, written,
		happened{ms, turn.Repeated{ID: "a|b%=7", At: after(0)}},
		happened{2 * ms, turn.Message{}},
		happened{2100 * ms, turn.Wake{Holder: "näher | 100%", Nonce: "a", First: int64(start)}},
		happened{2200 * ms, turn.Message{}},
		happened{2300 * ms, turn.GenerateFailed{Nonce: "a", Fault: turn.Mistake, FirstByte: after(2200 * ms)}},
		happened{9000 * ms, turn.Wake{Holder: "b", Nonce: "b", First: 1}},
		happened{9100 * ms, turn.Generated{Nonce: "b", Parts: 3}},
		happened{9200 * ms, turn.Sent{Nonce: "b"}},
		happened{9300 * ms, turn.SendFailed{Nonce: "b", Part: 1, ForGood: true, Text: "K=0|T1 \"quoted\"\n"}},
		happened{9400 * ms, turn.Pause{Reason: "lunch"}},
		happened{9500 * ms, turn.MarkSent{Turn: 1}},
	)
	steps, lost := trace.Steps()
	for i := range told {
		told[i].Since = 0
	}
	if !reflect.DeepEqual(steps, told) || lost != 0 || len(steps) < 15 {
		t.Errorf("%d were lost; kept:\n%+v\ntold:\n%+v", lost, steps, told)
	}
	if perStep := len(trace) / len(steps); perStep > 30 {
		t.Errorf("a step takes %d bytes: %s", perStep, trace)
	}
}

// TestTraceOfABurst: what differs little takes little, and says the same, also
// where the first of it was dropped, an edit is in between, or the cap is reached.
func TestTraceOfABurst(t *testing.T) {
	policy := basic
	for _, steps := range []int{3, 7, 20, 128} {
		policy.TraceSteps = steps
		var events []happened
		for i := range 100 {
			at := time.Duration(i) * 100 * ms
			events = append(events, happened{at, turn.Message{}})
			switch {
			case i%30 == 7:
				events = append(events, happened{at + ms, turn.Edit{Target: int64(i + 1)}})
			case i%30 == 20:
				events = append(events, happened{at + ms, turn.Repeated{ID: "m1"}})
			}
		}
		trace, told := traced(policy, events...)
		kept, lost := trace.Steps()
		for i := range told {
			told[i].Since = 0
		}
		if lost+len(kept) != len(told) || !reflect.DeepEqual(kept, told[lost:]) {
			t.Errorf("%d steps: %d of %d are kept, %d lost; kept:\n%+v\ntold:\n%+v\nof %s", steps, len(kept), len(told), lost, kept, told, trace)
		}
		if perStep := len(trace) / len(kept); steps > 100 && perStep > 7 {
			t.Errorf("a step of a burst takes %d bytes: %s", perStep, trace)
		}
	}
}

// TestTraceCountsFromWhatIsSaid: the writer goes back to the last steps that are
// written in full, and must not count from one that others have followed.
func TestTraceCountsFromWhatIsSaid(t *testing.T) {
	policy := basic
	policy.TraceSteps = 128
	begin := []happened{{0, turn.Message{}}, {time.Second, turn.Typing{For: 5 * time.Second}},
		{4 * time.Second, turn.Message{}}, {5 * time.Second, turn.Edit{Target: 1}}}
	for _, next := range []happened{
		{8 * time.Second, turn.Message{}}, {8 * time.Second, turn.Edit{Target: 1}}, {5 * time.Second, turn.Typing{For: 5 * time.Second}},
	} {
		trace, told := traced(policy, append(slices.Clone(begin), next)...)
		for i := range told {
			told[i].Since = 0
		}
		if kept, _ := trace.Steps(); !slices.Equal(kept, told) {
			t.Errorf("%T at %v: kept\n%+v\ntold\n%+v\nof %s", next.event, next.at, kept, told, trace)
		}
	}
}

// TestTraceThatLacksItsBeginning: an older program drops steps from which small
// letters count. What can't be said then is left out.
func TestTraceThatLacksItsBeginning(t *testing.T) {
	for text, want := range map[string]int{
		"4,0|a9|b|c": 0, "4,0|A1T1V1S1|b": 1, "4,0|B1T1V1D5|a2": 1, "4,0|a9|B1T1V1D5|c|AkT2V3S3|b": 2,
	} {
		if steps, _ := turn.Trace(text).Steps(); len(steps) != want {
			t.Errorf("%s is read as %+v, want %d steps", text, steps, want)
		}
	}
}

// TestTraceKeepsWhatANewerProgramSays: also where the oldest steps are dropped.
func TestTraceKeepsWhatANewerProgramSays(t *testing.T) {
	policy := basic
	policy.TraceSteps = 8
	record := turn.Record{Trace: turn.Trace("0,0" + strings.Repeat("|A0T1V1S1X5", 8))}
	record, _ = turn.Step(record, turn.Message{}, start, policy)
	if kept := strings.Count(string(record.Trace), "X5"); kept != 5 {
		t.Errorf("%d of 5 steps are kept as they were: %s", kept, record.Trace)
	}
}

// TestTraceIsBounded: in steps and in bytes, whatever people send.
func TestTraceIsBounded(t *testing.T) {
	policy := basic
	policy.TraceSteps = 128
	var events []happened
	for i := range 500 {
		events = append(events, happened{ms, turn.Repeated{ID: strings.Repeat("ä", i), At: after(0)}}, happened{ms, turn.Message{}})
	}
	trace, told := traced(policy, events...)
	steps, lost := trace.Steps()
	if lost+len(steps) != len(told) || len(steps) > 128 || len(trace) > 128*64 || len(steps) < 16 || !utf8.ValidString(string(trace)) {
		t.Errorf("%d of %d steps are kept in %d bytes, %d count as lost", len(steps), len(told), len(trace), lost)
	}
	if last := steps[len(steps)-1]; last.Version != 500 || last.At != after(ms) {
		t.Errorf("the last step is %+v", last)
	}
}

// TestTraceOfEveryKind: each kind of notice has a letter of its own.
func TestTraceOfEveryKind(t *testing.T) {
	seen := map[turn.Kind]bool{}
	for letter := byte('A'); letter <= 'S'; letter++ {
		steps, _ := turn.Trace("0,0|" + string(letter) + "0").Steps()
		if len(steps) != 1 || seen[steps[0].Kind] {
			t.Fatalf("%c is read as %+v", letter, steps)
		}
		seen[steps[0].Kind] = true
	}
	if steps, _ := turn.Trace("0,0|A0|~5X|B1").Steps(); len(steps) != 2 {
		t.Errorf("a step of a newer program is not left out: %+v", steps)
	}
}

func FuzzTrace(f *testing.F) {
	for _, seed := range []string{"", "|", "0,m8x0k1c0|A0T1V1S1|B0T1V1D15o", "zz|?|A=|A-", "1,-|CzK--=%7%", "0,0|A0T1V1S1|B0T1V1D15o|a9k|c|ab|b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		steps, _ := turn.Trace(text).Steps()
		if len(steps) > strings.Count(text, "|") {
			t.Errorf("%d steps of %q", len(steps), text)
		}
		policy := basic
		policy.TraceSteps = 3
		after, _ := turn.Step(turn.Record{Trace: turn.Trace(text)}, turn.Message{}, start, policy)
		if kept, _ := after.Trace.Steps(); len(kept) == 0 || len(kept) > 3 {
			t.Errorf("%d steps after another one: %q", len(kept), after.Trace)
		}
	})
}
