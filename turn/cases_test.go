package turn_test

import (
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// basic is the policy that the tables below start from.
var basic = turn.Policy{
	Debounce: 2 * time.Second, MaxWait: 10 * time.Second, Lease: 30 * time.Second, MediaWait: 15 * time.Second,
	MaxDiscards: 2, MaxAttempts: 3, RetryFor: time.Minute,
}

// moments of the tables, relative to start.
func after(d time.Duration) turn.Time { return start.Add(d) }

// happened is an event and when.
type happened struct {
	at    time.Duration
	event turn.Event
}

// given plays events on a new conversation.
func given(t *testing.T, policy turn.Policy, events ...happened) turn.Record {
	t.Helper()
	var record turn.Record
	for _, e := range events {
		record, _ = turn.Step(record, e.event, after(e.at), policy)
		if err := turn.Check(record); err != nil {
			t.Fatalf("%T at %v: %v", e.event, e.at, err)
		}
	}
	return record
}

const ms = time.Millisecond

// The starts of the tables.
var (
	written   = happened{0, turn.Message{}}
	attempt   = happened{2 * time.Second, turn.Wake{Holder: "a", Nonce: "a"}}
	committed = happened{3 * time.Second, turn.Generated{Nonce: "a", Parts: 1}}
)

// TestWakeAtTheEdge looks one millisecond before a boundary, at it, and after.
// Moments are inclusive: due means now >= due, expired means now >= expiry.
func TestWakeAtTheEdge(t *testing.T) {
	throttled := basic
	throttled.TurnsPerMinute = 1
	nextTurn := []happened{written, attempt, committed,
		{4 * time.Second, turn.Sent{Nonce: "a"}}, {5 * time.Second, turn.Message{}},
		{7 * time.Second, turn.Wake{Holder: "b", Nonce: "b"}}, // moves due by a minute
	}
	tests := []struct {
		name   string
		policy turn.Policy
		events []happened
		edge   time.Duration
		early  string // the reason for which it is ignored before the edge
	}{
		{"the end of the quiet time", basic, []happened{written}, 2 * time.Second, turn.NotDue},
		{"the hard cap", basic, []happened{written, {9 * time.Second, turn.Message{}}}, 10 * time.Second, turn.NotDue},
		{"the end of the wait for an attachment", basic, []happened{{0, turn.Message{Media: true}}}, 15 * time.Second, turn.NotDue},
		{"the expiry of an attempt's lease", basic, []happened{written, attempt}, 32 * time.Second, turn.Held},
		{"a renewed expiry", basic, []happened{written, attempt, {12 * time.Second, turn.Renew{Nonce: "a"}}}, 42 * time.Second, turn.Held},
		{"the end of a back-off", basic, []happened{written, attempt,
			{3 * time.Second, turn.GenerateFailed{Nonce: "a", Fault: turn.Outage, After: 20 * time.Second}}}, 23 * time.Second, turn.NotDue},
		{"the next try of a send", basic, []happened{written, attempt, committed,
			{4 * time.Second, turn.SendFailed{Nonce: "a", After: 20 * time.Second}}}, 24 * time.Second, turn.NotDue},
		{"the end of the rest", throttled, nextTurn, 67 * time.Second, turn.NotDue},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			record := given(t, test.policy, test.events...)
			if at, ok := record.Wake(); !ok || at != after(test.edge) {
				t.Errorf("the wake-up is at %s, not at %v", moment(at), test.edge)
			}
			look := turn.Wake{Holder: "z", Nonce: "z"}
			_, before := turn.Step(record, look, after(test.edge-ms), test.policy)
			if before.Outcome != turn.Ignored || before.Reason != test.early || before.Changed {
				t.Errorf("a moment before: %s (%s)", before.Outcome, before.Reason)
			}
			for _, at := range []time.Duration{test.edge, test.edge + ms} {
				next, effects := turn.Step(record, look, after(at), test.policy)
				if next.Lease.Nonce != "z" || len(effects.Actions) == 0 {
					t.Errorf("at %v: no work was started (%s %s)", at, effects.Outcome, effects.Reason)
				}
			}
		})
	}
}

// TestResultAtTheExpiry: the clock does not fence. As long as nobody else took
// over, a late result of the live lease counts.
func TestResultAtTheExpiry(t *testing.T) {
	record := given(t, basic, written, attempt)
	for _, at := range []time.Duration{32*time.Second - ms, 32 * time.Second, time.Hour} {
		if _, effects := turn.Step(record, turn.Generated{Nonce: "a", Parts: 1}, after(at), basic); effects.Outcome != turn.Committed {
			t.Errorf("at %v: %s", at, effects.Outcome)
		}
	}
}

// TestRetryForAtTheEdge: a send that fails when retry_for is over is the last.
func TestRetryForAtTheEdge(t *testing.T) {
	record := given(t, basic, written, attempt, committed)
	edge := 3*time.Second + basic.RetryFor
	for at, want := range map[time.Duration]turn.Phase{
		edge - ms: turn.Sending,
		edge:      turn.Failed,
		edge + ms: turn.Failed,
	} {
		if next, _ := turn.Step(record, turn.SendFailed{Nonce: "a"}, after(at), basic); next.Phase != want {
			t.Errorf("at %v: %s, not %s", at, next.Phase, want)
		}
	}
}

// TestWindowAfterDiscard: due is max(now, min(last input + quiet time, max(first
// waiting input + max_wait, now + 2 × debounce))), to the millisecond.
func TestWindowAfterDiscard(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name                           string
		input, quiet, discard, wantDue time.Duration
	}{
		{"the quiet time is still ahead", 6 * s, 2 * s, 7 * s, 8 * s},
		{"it ends a moment later", 5*s + ms, 2 * s, 7 * s, 7*s + ms},
		{"it ends now", 5 * s, 2 * s, 7 * s, 7 * s},
		{"it ended before", 5*s - ms, 2 * s, 7 * s, 7 * s},
		{"the cap of the turn comes first", 3 * s, 20 * s, 4 * s, 10 * s},
		{"the cap of the turn is two debounces away", 3 * s, 20 * s, 6 * s, 10 * s},
		{"two debounces end after the cap of the turn", 3 * s, 20 * s, 6*s + ms, 10*s + ms},
		{"two debounces come first", 13 * s, 20 * s, 14 * s, 18 * s},
		{"quiet time and two debounces are one", 14 * s, 4 * s, 14 * s, 18 * s},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			record := given(t, basic, written, attempt,
				happened{test.input, turn.Message{Quiet: test.quiet}}, happened{test.discard, turn.Generated{Nonce: "a", Parts: 1}})
			if record.Window.Start != after(test.discard) || record.Window.Due != after(test.wantDue) {
				t.Errorf("the window is %s to %s, not %v to %v", moment(record.Window.Start), moment(record.Window.Due), test.discard, test.wantDue)
			}
		})
	}
}

// TestBound: up to max_discards an overtaken attempt is discarded; the next one
// is committed for what it saw.
func TestBound(t *testing.T) {
	for limit := range 4 {
		policy := basic
		policy.MaxDiscards = limit
		record := given(t, policy, written)
		now := start
		for discards := 0; ; discards++ {
			now = max(now, record.Window.Due)
			record, _ = turn.Step(record, turn.Wake{Holder: "a", Nonce: "a"}, now, policy)
			record, _ = turn.Step(record, turn.Message{}, now+1, policy)
			var effects turn.Effects
			record, effects = turn.Step(record, turn.Generated{Nonce: "a", Parts: 1}, now+2, policy)
			if effects.Outcome == turn.Discarded && discards < limit {
				continue
			}
			if effects.Outcome != turn.Committed || discards != limit || !record.Reply.Late {
				t.Errorf("max_discards %d: %s after %d discards", limit, effects.Outcome, discards)
			}
			break
		}
	}
}

// TestBackoff: exponential from a second, capped at a minute, jittered over the
// upper half, and never less than what the other side asked for, up to an hour.
func TestBackoff(t *testing.T) {
	tests := []struct {
		name    string
		outages int
		after   time.Duration
		jitter  int
		want    time.Duration
	}{
		{"first, least", 1, 0, 0, 500 * ms},
		{"first, most", 1, 0, 999, 999*ms + 500*time.Microsecond},
		{"second", 2, 0, 0, time.Second},
		{"sixth", 6, 0, 0, 16 * time.Second},
		{"seventh is capped", 7, 0, 0, 30 * time.Second},
		{"the hundredth too", 100, 0, 0, 30 * time.Second},
		{"asked for less", 2, 900 * ms, 0, time.Second},
		{"asked for more", 2, 1100 * ms, 0, 1100 * ms},
		{"asked for a day", 2, 24 * time.Hour, 0, time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			record := given(t, basic, written, attempt)
			record.Tries.Outages = test.outages - 1
			failed := turn.GenerateFailed{Nonce: "a", Fault: turn.Outage, After: test.after, Jitter: test.jitter}
			next, _ := turn.Step(record, failed, after(3*time.Second), basic)
			if want := after(3*time.Second + test.want); next.Window.Due != want {
				t.Errorf("due at %s, not at %s", moment(next.Window.Due), moment(want))
			}
		})
	}
}

// TestAttemptsAtTheEdge: the last allowed attempt is tried; its failure is the
// turn's, and its loss sets the inputs aside.
func TestAttemptsAtTheEdge(t *testing.T) {
	for limit := 1; limit <= 3; limit++ {
		policy := basic
		policy.MaxAttempts = limit
		failing, losing := given(t, policy, written), given(t, policy, written)
		for n := 1; n <= limit; n++ {
			failing, _ = turn.Step(failing, turn.Wake{Nonce: "a"}, failing.Window.Due, policy)
			failing, _ = turn.Step(failing, turn.GenerateFailed{Nonce: "a", Fault: turn.Failure}, failing.Window.Due, policy)
			at, _ := losing.Wake()
			losing, _ = turn.Step(losing, turn.Wake{Nonce: "b" + string(rune('0'+n)), Lone: true}, at, policy)
			if at, _ := losing.Wake(); losing.Phase == turn.Collecting { // after a pause
				losing, _ = turn.Step(losing, turn.Wake{Nonce: "b" + string(rune('0'+n)), Lone: true}, at, policy)
			}
			if n < limit && failing.Phase != turn.Collecting || losing.Phase != turn.Generating {
				t.Errorf("%d attempts, after the %d.: %s and %s", limit, n, failing.Phase, losing.Phase)
			}
		}
		at, _ := losing.Wake()
		losing, _ = turn.Step(losing, turn.Wake{Nonce: "c"}, at, policy)
		if failing.Phase != turn.Failed || failing.Pending != 1 || losing.Phase != turn.Failed || losing.SetAside == nil {
			t.Errorf("%d attempts: %s with %d pending, %s with %v aside", limit, failing.Phase, failing.Pending, losing.Phase, losing.SetAside)
		}
	}
}

// TestQueueIsBounded: a hundred replies of people wait behind one, no more.
func TestQueueIsBounded(t *testing.T) {
	record := given(t, basic, written)
	accepted := 0
	for range 200 {
		next, effects := turn.Step(record, turn.HumanReply{Parts: 1}, start, basic)
		if effects.Outcome == turn.Ignored {
			if effects.Reason != turn.QueueFull || effects.Changed {
				t.Errorf("%s (%s), changed: %v", effects.Outcome, effects.Reason, effects.Changed)
			}
			break
		}
		record = next
		accepted++
	}
	if accepted != 101 || len(record.Queue) != 100 {
		t.Errorf("%d were accepted, %d wait", accepted, len(record.Queue))
	}
}

// TestStepsShareNothing: two steps from one record do not write into each
// other, whatever room its queue has.
func TestStepsShareNothing(t *testing.T) {
	record := given(t, basic, happened{0, turn.HumanReply{Parts: 1}}, happened{0, turn.HumanReply{Parts: 1}})
	record.Queue = append(make([]turn.Reply, 0, 8), record.Queue...)
	one, _ := turn.Step(record, turn.HumanReply{Parts: 1}, start, basic)
	two, _ := turn.Step(record, turn.HumanReply{Parts: 2}, start, basic)
	if one.Queue[1].Parts != 1 || two.Queue[1].Parts != 2 || len(record.Queue) != 1 {
		t.Errorf("%d and %d parts, %d wait in the record they came from", one.Queue[1].Parts, two.Queue[1].Parts, len(record.Queue))
	}
}

// TestTime converts without loss above the millisecond, and keeps "not set".
func TestTime(t *testing.T) {
	moment := time.Date(2026, 2, 3, 4, 5, 6, 789_999_999, time.UTC)
	if got := turn.At(moment).Go(); !got.Equal(moment.Truncate(ms)) {
		t.Errorf("%v became %v", moment, got)
	}
	if !turn.Time(0).Go().IsZero() {
		t.Error("what is not set became a moment")
	}
	if got := turn.At(moment).Add(1500 * ms).Sub(turn.At(moment)); got != 1500*ms {
		t.Errorf("added 1.5s, got %v", got)
	}
}

// TestShown: people see a pause, and a conversation of which nothing was heard
// as idle.
func TestShown(t *testing.T) {
	if got := (turn.Record{}).Shown(); got != turn.Idle {
		t.Errorf("a new one is shown as %q", got)
	}
	paused := given(t, basic, written, happened{0, turn.Pause{}})
	if got := paused.Shown(); got != turn.Paused || paused.Phase != turn.Collecting {
		t.Errorf("a paused one is shown as %q", got)
	}
}

// TestCheck breaks each rule by hand and expects to be told.
func TestCheck(t *testing.T) {
	idle := given(t, basic, written, happened{0, turn.StopWord{Own: []turn.Waiting{{Version: 1}}}})
	collecting := given(t, basic, written)
	generating := given(t, basic, written, attempt)
	sending := given(t, basic, written, attempt, committed)
	alias := given(t, basic, happened{0, turn.LeadName{To: "elsewhere"}})
	tests := []struct {
		name  string
		from  turn.Record
		spoil func(*turn.Record)
	}{
		{"answered beyond the version", idle, func(r *turn.Record) { r.Answered++ }},
		{"more newer than pending", generating, func(r *turn.Record) { r.Attempt.Newer = 2 }},
		{"a negative count", collecting, func(r *turn.Record) { r.Tries.Attempts = -1 }},
		{"a mark beyond the transcript", collecting, func(r *turn.Record) { r.AfterSeq = 9 }},
		{"idle with something that waits", idle, func(r *turn.Record) { r.Pending = 1 }},
		{"collecting nothing", collecting, func(r *turn.Record) { r.Pending = 0 }},
		{"generating for nothing", generating, func(r *turn.Record) { r.Pending = 0 }},
		{"generating under a pause", generating, func(r *turn.Record) { r.OnHold = true }},
		{"paused by somebody, and not on hold", collecting, func(r *turn.Record) { r.OptedOut = true }},
		{"a pause of nobody that ends", collecting, func(r *turn.Record) { r.OnHold, r.PausedUntil = true, 1 }},
		{"failed with nothing left", idle, func(r *turn.Record) { r.Phase = turn.Failed }},
		{"an attempt without a lease", generating, func(r *turn.Record) { r.Lease = turn.Lease{} }},
		{"a lease that guards nothing", collecting, func(r *turn.Record) { r.Lease = generating.Lease; r.Token = 1 }},
		{"a lease with an old token", generating, func(r *turn.Record) { r.Token++ }},
		{"a lease without an expiry", generating, func(r *turn.Record) { r.Lease.Expires = 0 }},
		{"sending nothing", sending, func(r *turn.Record) { r.Reply = nil }},
		{"a reply that is sent already", sending, func(r *turn.Record) { r.Reply = &turn.Reply{Parts: 1, Done: 1} }},
		{"replies that wait behind none", collecting, func(r *turn.Record) { r.Queue = []turn.Reply{{Parts: 1}} }},
		{"an alias with a message", alias, func(r *turn.Record) { r.Version, r.Answered = 1, 1 }},
		{"an alias with a transcript", alias, func(r *turn.Record) { r.Seq = 1 }},
		{"an alias that is paused", alias, func(r *turn.Record) { r.OnHold = true }},
		{"a window without an end", collecting, func(r *turn.Record) { r.Window.Due = 0 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := turn.Check(test.from); err != nil {
				t.Fatal(err)
			}
			spoilt := test.from
			test.spoil(&spoilt)
			if turn.Check(spoilt) == nil {
				t.Error("Check holds it for right")
			}
		})
	}
}

// TestAFailureStaysWhileAReplyIsSentAgain: the turn that set messages aside has
// failed before and after the resend of an earlier reply.
func TestAFailureStaysWhileAReplyIsSentAgain(t *testing.T) {
	record := turn.Record{
		Schema:      1,
		Phase:       turn.Failed,
		Version:     2,
		Answered:    2,
		Attempt:     turn.Attempt{Through: 2},
		Turn:        2,
		Seq:         3,
		AfterSeq:    3,
		Token:       2,
		Tries:       turn.Tries{LastError: "lost"},
		SetAside:    &turn.SetAside{Answered: 1, Through: 2, AfterSeq: 2, Pending: 1, Turn: 2},
		Unconfirmed: []turn.Unconfirmed{{Seq: 2, Turn: 1, Status: turn.ReplyUnknown, Parts: 1}},
	}
	for _, e := range []turn.Event{turn.Resend{Turn: 1}, turn.Wake{Holder: "a", Nonce: "a"}, turn.Sent{Nonce: "a"}} {
		record, _ = turn.Step(record, e, start, basic)
	}
	if record.Phase != turn.Failed || record.Tries.LastError != "lost" {
		t.Errorf("sending another reply again left it %s, last error %q", record.Phase, record.Tries.LastError)
	}
}

func TestSinceOfWhatIsSetAsideTwice(t *testing.T) {
	p := newStory().policy
	p.MaxAttempts = 1
	r := turn.Record{}
	for i, e := range []turn.Event{turn.Message{}, turn.Wake{Nonce: "a", Lone: true}, turn.Wake{Nonce: "b"}, turn.Requeue{}, turn.Wake{Nonce: "c", Lone: true}, turn.Wake{Nonce: "d"}} {
		r, _ = turn.Step(r, e, start.Add(p.Lease*time.Duration(i)), p)
	}
	if r.SetAside == nil || r.SetAside.Since != start {
		t.Errorf("aside %+v of a message of %d", r.SetAside, start)
	}
}

// m1 answered in trouble; m2 set aside with a fallback; m3 comes and goes while that is sent.
func TestIdleIsNotFailedBySendingAgain(t *testing.T) {
	p := newStory().policy
	p.MaxAttempts, p.Fallback = 1, true
	r := turn.Record{}
	now := start
	do := func(es ...turn.Event) {
		for _, e := range es {
			now = now.Add(p.Lease)
			r, _ = turn.Step(r, e, now, p)
		}
	}
	do(turn.Message{}, turn.Wake{Nonce: "a"}, turn.Generated{Nonce: "a", Parts: 1}, turn.SendUnknown{Nonce: "a"},
		turn.Message{}, turn.Wake{Nonce: "b", Lone: true}, turn.Wake{Nonce: "c"},
		turn.Message{}, turn.Delete{Target: 3})
	do(turn.Wake{Nonce: "d"}, turn.Sent{Nonce: "d"})
	was := r.Phase
	do(turn.Resend{Turn: 1}, turn.Wake{Nonce: "e"}, turn.Sent{Nonce: "e"})
	if r.Phase != was {
		t.Errorf("%s, before it was %s", r.Phase, was)
	}
}

// Its author deletes what was set aside while the text that stands in for the reply
// is sent: the failure is over, so nothing tells of it any more.
func TestADeletionUnderTheFallbackEndsTheFailure(t *testing.T) {
	p := newStory().policy
	p.MaxAttempts, p.Fallback = 1, true
	r, now := turn.Record{}, start
	for _, e := range []turn.Event{
		turn.Message{}, turn.Wake{Nonce: "a", Lone: true}, turn.Wake{Nonce: "b"}, // lost
		turn.SetAsideChanged{Target: 1, Deleted: true}, turn.Wake{Nonce: "c"}, turn.Sent{Nonce: "c"},
	} {
		now = now.Add(p.Lease)
		r, _ = turn.Step(r, e, now, p)
	}
	if r.Phase != turn.Idle || r.SetAside != nil || r.Tries.LastError != "" {
		t.Errorf("phase %s, aside %v, last error %q", r.Phase, r.SetAside, r.Tries.LastError)
	}
}

// TestOnlyWhatWasSetAsideIsChanged: a change of any other message is ignored, at
// both ends of the range.
func TestOnlyWhatWasSetAsideIsChanged(t *testing.T) {
	record := turn.Record{
		Schema:   1,
		Phase:    turn.Failed,
		Version:  2,
		Answered: 2,
		Attempt:  turn.Attempt{Through: 2},
		Turn:     2,
		Seq:      2,
		AfterSeq: 2,
		Token:    2,
		SetAside: &turn.SetAside{Answered: 1, Through: 2, AfterSeq: 1, Pending: 1, Turn: 2},
	}
	for _, deleted := range []bool{false, true} {
		for target, want := range map[int64]turn.Outcome{1: turn.Ignored, 2: turn.Queued, 3: turn.Ignored} {
			after, effects := turn.Step(record, turn.SetAsideChanged{Target: target, Deleted: deleted}, start, basic)
			if deleted && want == turn.Queued {
				want = turn.Emptied
			}
			if effects.Outcome != want || effects.Changed != (want != turn.Ignored) {
				t.Errorf("a change of version %d is %s", target, effects.Outcome)
			}
			if gone := deleted && want != turn.Ignored; (after.SetAside == nil) != gone || (after.Phase == turn.Idle) != gone {
				t.Errorf("a change of version %d left %+v, %s", target, after.SetAside, after.Phase)
			}
		}
		none := record
		none.SetAside, none.Phase = nil, turn.Idle
		if _, effects := turn.Step(none, turn.SetAsideChanged{Target: 2, Deleted: deleted}, start, basic); effects.Outcome != turn.Ignored {
			t.Errorf("with nothing set aside a change is %s", effects.Outcome)
		}
	}
}

// TestASearchWhoseSuspectsAreGone: a prompt may be read after a message was deleted or
// closed of which the node does not know yet. What is decided by the old record is never
// written, and must do no harm.
func TestASearchWhoseSuspectsAreGone(t *testing.T) {
	refused := turn.GenerateFailed{Nonce: "a", Fault: turn.Refused, Waiting: []turn.Waiting{{Version: 1}, {Version: 2}, {Version: 3}, {Version: 4}}}
	next := happened{5 * time.Second, turn.Wake{Holder: "b", Nonce: "b"}}
	record := given(t, basic, written, written, written, written, attempt, happened{3 * time.Second, refused}, next)
	for _, event := range []turn.Event{
		turn.Generated{Nonce: "b", Parts: 1, Waiting: []turn.Waiting{{Version: 2}}},
		turn.GenerateFailed{Nonce: "b", Fault: turn.Refused, Waiting: []turn.Waiting{{Version: 4}}},
	} {
		searched, _ := turn.Step(record, event, after(6*time.Second), basic)
		if err := turn.Check(searched); err != nil || searched.Pending != 4 {
			t.Errorf("%T: %v, and %d messages wait", event, err, searched.Pending)
		}
	}
}
