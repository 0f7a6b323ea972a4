package turn_test

import (
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// player plays events on one record.
type player struct {
	t      *testing.T
	policy turn.Policy
	record turn.Record
}

func (l *player) at(after time.Duration, event turn.Event) turn.Effects {
	l.t.Helper()
	record, effects := turn.Step(l.record, event, start.Add(after), l.policy)
	if err := turn.Check(record); err != nil {
		l.t.Fatalf("%T after %v: %v", event, after, err)
	}
	l.record = record
	return effects
}

// sending is a player whose reply of two parts was committed after 3 s.
func sending(t *testing.T, change func(*turn.Policy)) *player {
	l := &player{t: t, policy: newStory().policy}
	change(&l.policy)
	l.at(0, turn.Message{})
	l.at(2*time.Second, turn.Wake{Holder: "a", Nonce: "a"})
	l.at(3*time.Second, turn.Generated{Nonce: "a", Parts: 2})
	return l
}

// TestRetryForIsKeptToTheMillisecond: a send is tried again before RetryFor is
// over, and not from then on, whether the last try failed or is unknown.
func TestRetryForIsKeptToTheMillisecond(t *testing.T) {
	retry := func(p *turn.Policy) { p.ResendUnknown, p.RetryFor = true, 10*time.Second }
	for _, event := range []turn.Event{turn.SendFailed{Nonce: "a", Jitter: 0}, turn.SendUnknown{Nonce: "a"}} {
		early := sending(t, retry)
		early.at(13*time.Second-time.Millisecond, event)
		if early.record.Phase != turn.Sending || early.record.Reply.RetryAt != start.Add(13*time.Second+499*time.Millisecond) {
			t.Errorf("%T just before the end left %s, %+v", event, early.record.Phase, early.record.Reply)
		}
		late := sending(t, retry)
		late.at(13*time.Second, event)
		if late.record.Reply != nil {
			t.Errorf("%T at the end left %+v", event, late.record.Reply)
		}
	}
}

// TestLostWorkersAreCountedForEachPart: a delivered part begins the count anew, and
// the count is what ends the resending of one part.
func TestLostWorkersAreCountedForEachPart(t *testing.T) {
	l := sending(t, func(p *turn.Policy) { p.ResendUnknown, p.MaxAttempts = true, 2 })
	l.at(40*time.Second, turn.Wake{Holder: "b", Nonce: "b"})
	if lost := l.record.Reply.Lost; lost != (turn.Lost{Count: 1, Holder: "a", At: start.Add(40 * time.Second)}) {
		t.Fatalf("after the first loss: %+v", lost)
	}
	l.at(41*time.Second, turn.Sent{Nonce: "b", Part: 0})
	if lost := l.record.Reply.Lost; lost != (turn.Lost{}) {
		t.Fatalf("after a delivered part: %+v", lost)
	}
	l.at(80*time.Second, turn.Wake{Holder: "c", Nonce: "c"})
	if l.record.Reply == nil || l.record.Reply.Lost.Count != 1 || l.record.Reply.Lost.Holder != "b" {
		t.Fatalf("after a loss over the second part: %+v", l.record.Reply)
	}
	l.at(120*time.Second, turn.Wake{Holder: "d", Nonce: "d"})
	if l.record.Reply != nil || len(l.record.Unconfirmed) != 1 || l.record.Unconfirmed[0].Done != 1 {
		t.Errorf("after as many losses as are allowed: %+v, %+v", l.record.Reply, l.record.Unconfirmed)
	}
}

// TestWindowsThatFollowAnAttempt: when the next attempt is due, with and without
// newer input, and at the hard cap of the new window.
func TestWindowsThatFollowAnAttempt(t *testing.T) {
	started := func() *player {
		l := &player{t: t, policy: newStory().policy}
		l.at(0, turn.Message{})
		l.at(2*time.Second, turn.Wake{Holder: "a", Nonce: "a"})
		return l
	}
	for _, test := range []struct {
		name   string
		events map[time.Duration]turn.Event
		due    time.Duration
	}{
		{"a hand-back with nothing newer is due at once", map[time.Duration]turn.Event{5 * time.Second: turn.HandBack{Nonce: "a"}}, 5 * time.Second},
		{"a hand-back with newer input waits for its quiet time", map[time.Duration]turn.Event{
			4 * time.Second: turn.Message{}, 5 * time.Second: turn.HandBack{Nonce: "a"}}, 6 * time.Second},
		{"a discard waits for the quiet time of the newer input", map[time.Duration]turn.Event{
			4 * time.Second: turn.Message{}, 5 * time.Second: turn.Interrupted{Nonce: "a"}}, 6 * time.Second},
		{"a newer input whose quiet time is over is due at the discard", map[time.Duration]turn.Event{
			4 * time.Second: turn.Message{}, 20 * time.Second: turn.Interrupted{Nonce: "a"}}, 20 * time.Second},
		{"the hard cap counts from the first input", map[time.Duration]turn.Event{
			4 * time.Second: turn.Message{Quiet: time.Minute}, 5 * time.Second: turn.HandBack{Nonce: "a"}}, 10 * time.Second},
		{"a late hand-back leaves two debounces", map[time.Duration]turn.Event{
			19 * time.Second: turn.Message{Quiet: time.Minute}, 20 * time.Second: turn.HandBack{Nonce: "a"}}, 24 * time.Second},
		{"so does a failure", map[time.Duration]turn.Event{
			19 * time.Second: turn.Message{Quiet: time.Minute}, 20 * time.Second: turn.GenerateFailed{Nonce: "a", Fault: turn.Failure}}, 24 * time.Second},
	} {
		l := started()
		for _, after := range []time.Duration{4 * time.Second, 5 * time.Second, 19 * time.Second, 20 * time.Second} {
			if event := test.events[after]; event != nil {
				l.at(after, event)
			}
		}
		if l.record.Phase != turn.Collecting || l.record.Window.Due != start.Add(test.due) {
			t.Errorf("%s: %s, due %v", test.name, l.record.Phase, l.record.Window.Due.Sub(start))
		}
		if e := l.at(test.due-time.Millisecond, turn.Wake{Holder: "b", Nonce: "b"}); e.Reason != turn.NotDue {
			t.Errorf("%s: a millisecond earlier it is %s %s", test.name, e.Outcome, e.Reason)
		}
		if l.at(test.due, turn.Wake{Holder: "b", Nonce: "b"}); l.record.Phase != turn.Generating {
			t.Errorf("%s: when it is due it is %s", test.name, l.record.Phase)
		}
	}
}

// TestWhoNeverStopsTypingIsAnswered: the first reply is there within MaxWait +
// MaxDiscards × (2 × Debounce + model) + model, whatever the pauses between the
// messages, and whether newer input interrupts the model or not.
func TestWhoNeverStopsTypingIsAnswered(t *testing.T) {
	const step = 50 * time.Millisecond
	for _, mode := range []turn.Mode{turn.Interrupt, turn.Discard} {
		for pause := 2 * step; pause <= 4*time.Second; pause += 2 * step {
			for _, model := range []time.Duration{step, time.Second, 4 * time.Second} {
				policy := newStory().policy
				policy.Debounce, policy.MaxWait, policy.MaxDiscards, policy.OnNewInput = 1500*time.Millisecond, 5*time.Second, 2, mode
				bound := policy.MaxWait + 2*(2*policy.Debounce+model) + model
				if got := firstCommit(t, policy, pause, model, step); got > bound {
					t.Errorf("%s, a message every %v, a model of %v: committed after %v, and the bound is %v", mode, pause, model, got, bound)
				}
			}
		}
	}
}

// firstCommit is when the first reply is committed to a person who writes for ever.
func firstCommit(t *testing.T, policy turn.Policy, pause, model, step time.Duration) time.Duration {
	l := &player{t: t, policy: policy}
	var done time.Duration // when the model that runs has finished
	for now := time.Duration(0); now < 5*time.Minute; now += step {
		if now%pause == 0 {
			l.at(now, turn.Message{})
		}
		overtaken := policy.OnNewInput == turn.Interrupt && l.record.Attempt.Newer > 0 && l.record.Tries.Discards < policy.MaxDiscards
		switch {
		case l.record.Phase == turn.Generating && overtaken:
			l.at(now, turn.Interrupted{Nonce: l.record.Lease.Nonce})
		case l.record.Phase == turn.Generating && now >= done:
			if l.at(now, turn.Generated{Nonce: l.record.Lease.Nonce, Parts: 1}).Outcome == turn.Committed {
				return now
			}
		case l.record.Phase == turn.Generating:
			l.at(now, turn.Renew{Nonce: l.record.Lease.Nonce})
		}
		if at, _ := l.record.Wake(); l.record.Phase == turn.Collecting && at <= start.Add(now) {
			l.at(now, turn.Wake{Nonce: now.String()})
			done = now + model
		}
	}
	t.Fatalf("a message every %v, a model of %v: never answered", pause, model)
	return 0
}

// TestBackOffs: they double from half to a whole second up to a minute, and keep to
// what the other side asked for, up to an hour.
func TestBackOffs(t *testing.T) {
	for _, test := range []struct {
		outages, jitter int
		after, want     time.Duration
	}{
		{1, 0, 0, 500 * time.Millisecond}, {1, 999, 0, 999500 * time.Microsecond}, {2, 0, 0, time.Second},
		{6, 0, 0, 16 * time.Second}, {7, 0, 0, 30 * time.Second}, {20, 0, 0, 30 * time.Second}, {20, 500, 0, 45 * time.Second},
		{1, 0, 30 * time.Second, 30 * time.Second}, {1, 0, time.Hour, time.Hour}, {1, 0, 2 * time.Hour, time.Hour},
		{7, 0, 10 * time.Second, 30 * time.Second},
	} {
		l := &player{t: t, policy: newStory().policy}
		l.at(0, turn.Message{})
		now := 2 * time.Second
		for n := 1; n <= test.outages; n++ {
			l.at(now, turn.Wake{Holder: "a", Nonce: "a"})
			failed := turn.GenerateFailed{Nonce: "a", Fault: turn.Outage}
			if n == test.outages {
				failed.After, failed.Jitter = test.after, test.jitter
			}
			l.at(now, failed)
			if n < test.outages {
				now = l.record.Window.Due.Sub(start)
			}
		}
		if got := l.record.Window.Due.Sub(start.Add(now)); got != test.want.Truncate(time.Millisecond) {
			t.Errorf("outage %d with jitter %d, asked for %v: %v, want %v", test.outages, test.jitter, test.after, got, test.want)
		}
	}
}

// TestEachReasonForAttentionCounts: each of them alone, and none.
func TestEachReasonForAttentionCounts(t *testing.T) {
	lost := turn.Lost{Count: 1}
	for name, record := range map[string]turn.Record{
		"failed":                    {Phase: turn.Failed},
		"set aside":                 {Phase: turn.Idle, SetAside: &turn.SetAside{Pending: 1}},
		"unconfirmed":               {Phase: turn.Idle, Unconfirmed: []turn.Unconfirmed{{Turn: 1}}},
		"lost while it generated":   {Phase: turn.Generating, Tries: turn.Tries{Lost: lost}},
		"lost while it was sending": {Phase: turn.Sending, Reply: &turn.Reply{Lost: lost}},
	} {
		if !record.NeedsAttention() {
			t.Errorf("%s: nobody is told", name)
		}
	}
	for _, phase := range []turn.Phase{turn.Idle, turn.Collecting, turn.Generating} {
		if (turn.Record{Phase: phase}).NeedsAttention() || (turn.Record{Phase: turn.Sending, Reply: &turn.Reply{}}).NeedsAttention() {
			t.Errorf("%s needs attention for no reason", phase)
		}
	}
}

// TestTokensBeginOnceAndGrowByOne: only the first token of a conversation begins
// with the number that the worker brings.
func TestTokensBeginOnceAndGrowByOne(t *testing.T) {
	for _, begin := range []int64{1000, 1} {
		l := &player{t: t, policy: newStory().policy}
		l.at(0, turn.Message{})
		for i, first := range []int64{begin, 5000, 0} {
			l.at(time.Duration(i+1)*time.Minute, turn.Wake{Holder: "a", Nonce: string(rune('a' + i)), Lone: true, First: first})
			l.at(time.Duration(i+1)*time.Minute+2*time.Second, turn.Wake{Holder: "a", Nonce: string(rune('a' + i)), Lone: true, First: first}) // after a pause
			if want := begin + int64(i); l.record.Lease.Token != want || l.record.Token != want {
				t.Errorf("lease %d has token %d, want %d", i, l.record.Lease.Token, want)
			}
		}
	}
}

// TestARefusedReplyBehindAHumansIsClosed: a human answered its messages meanwhile, so
// the refusal fails no turn, and the human's reply goes out.
func TestARefusedReplyBehindAHumansIsClosed(t *testing.T) {
	l := sending(t, func(*turn.Policy) {})
	l.at(4*time.Second, turn.HumanReply{Parts: 1})
	l.at(5*time.Second, turn.SendFailed{Nonce: "a", ForGood: true, Text: "refused"})
	if r := l.record; r.Phase != turn.Sending || r.Reply.Kind != turn.ReplyHuman || len(r.Queue) != 0 {
		t.Errorf("it is %s, %+v", r.Phase, r.Reply)
	}
}

// TestRefusedMessagesAreFoundOneByOne: the model refuses each prompt that holds one of two
// messages among 40. Both are set aside, and no other is; a turn takes eight calls at most.
func TestRefusedMessagesAreFoundOneByOne(t *testing.T) {
	const messages = 40
	for first := int64(1); first <= messages; first++ {
		for second := first + 1; second <= messages; second++ {
			aside := searched(t, messages, first, second)
			if !slices.Equal(aside, []int64{first, second}) {
				t.Fatalf("the model refuses %d and %d, and set aside are %v", first, second, aside)
			}
		}
	}
}

// searched plays a conversation whose model refuses prompts that hold some of the
// messages, and returns the versions of those that are set aside in the end.
func searched(t *testing.T, messages int, refused ...int64) (aside []int64) {
	l := &player{t: t, policy: newStory().policy}
	var waiting []turn.Waiting
	for i := range messages {
		l.at(0, turn.Message{})
		waiting = append(waiting, turn.Waiting{Version: int64(i + 1)})
	}
	settle := func(effects turn.Effects) {
		for _, settled := range effects.Settles {
			waiting = slices.DeleteFunc(waiting, func(m turn.Waiting) bool {
				found := settled.From < m.Version && m.Version <= settled.Through
				if found && settled.Status == turn.InputFailed {
					aside = append(aside, m.Version)
				}
				return found
			})
		}
	}
	calls := map[int64]int{}
	for at := time.Minute; len(waiting) > 0; at += time.Minute {
		nonce := at.String()
		l.at(at, turn.Wake{Holder: "a", Nonce: nonce})
		if calls[l.record.Turn]++; calls[l.record.Turn] > 8 {
			t.Fatalf("the model refuses %v, and turn %d takes a ninth call", refused, l.record.Turn)
		}
		part := l.record.Attempt.Part
		if slices.ContainsFunc(waiting, func(m turn.Waiting) bool { return part.Holds(m.Version) && slices.Contains(refused, m.Version) }) {
			settle(l.at(at+time.Second, turn.GenerateFailed{Nonce: nonce, Fault: turn.Refused, Waiting: waiting}))
			continue
		}
		l.at(at+time.Second, turn.Generated{Nonce: nonce, Parts: 1, Waiting: waiting})
		if l.record.Phase == turn.Sending {
			settle(l.at(at+2*time.Second, turn.Sent{Nonce: nonce}))
		}
	}
	return aside
}
