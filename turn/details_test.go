package turn_test

import (
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// Details that no chapter of the transcripts tells.

// TestTheLastAnsweredMessageIsSettled: its change is no input any more.
func TestTheLastAnsweredMessageIsSettled(t *testing.T) {
	for _, event := range []turn.Event{turn.Edit{Target: 1}, turn.Delete{Target: 1}} {
		l := sending(t, func(*turn.Policy) {})
		l.at(4*time.Second, turn.Sent{Nonce: "a", Part: 0})
		l.at(5*time.Second, turn.Sent{Nonce: "a", Part: 1})
		if e := l.at(6*time.Second, event); e.Changed || e.Reason != turn.NothingWaits {
			t.Errorf("%T: %s %s", event, e.Outcome, e.Reason)
		}
	}
}

// TestWhatIsWrittenOfNames: an entry for each name that is new, and for each move; none
// where only a claim is settled.
func TestWhatIsWrittenOfNames(t *testing.T) {
	l := &player{t: t, policy: basic}
	for i, test := range []struct {
		event   turn.Event
		changed bool
		entry   bool
	}{
		{turn.AdoptName{Name: "a"}, true, true},
		{turn.AdoptName{Name: "a"}, false, false},
		{turn.AdoptName{Name: "a", Key: true}, true, true},
		{turn.AdoptName{Name: "a", Key: true}, false, false},
		{turn.ClaimName{Name: "a"}, true, false},
		{turn.AdoptName{Name: "a", Key: true}, true, false},
		{turn.AdoptName{Name: "", Key: true}, true, true},
		{turn.AdoptName{Name: "b", Key: true}, true, true},
	} {
		before := l.record.Seq
		e := l.at(0, test.event)
		if e.Changed != test.changed || (e.AppendName != 0) != test.entry || (l.record.Seq != before) != test.entry {
			t.Errorf("%d: %#v: changed %v, entry %d after %d", i, test.event, e.Changed, e.AppendName, before)
		}
	}
}

// TestWhichRepliesAreSentAfresh: those that their channel has refused, or reported as
// failed, are no repeat to it.
func TestWhichRepliesAreSentAfresh(t *testing.T) {
	for _, test := range []struct {
		status turn.Status
		failed int
		fresh  bool
	}{
		{turn.ReplyFailed, 0, true}, {turn.ReplyFailed, 1, true}, {turn.ReplyPartial, 1, true},
		{turn.ReplyPartial, 0, false}, {turn.ReplyUnknown, 0, false},
	} {
		l := &player{t: t, policy: basic, record: turn.Record{
			Schema: turn.Schema, Phase: turn.Idle, Turn: 1, Seq: 2,
			Unconfirmed: []turn.Unconfirmed{{Seq: 2, Turn: 1, Status: test.status, Parts: 2, Done: 1, Failed: test.failed}},
		}}
		l.at(0, turn.Resend{Turn: 1})
		if got := l.record.Reply; got == nil || got.Fresh != test.fresh {
			t.Errorf("%s, part %d failed: %+v", test.status, test.failed, got)
		}
	}
}

// TestNoticesNameThePart: a part that failed, or of which nobody knows, by its number
// from 1.
func TestNoticesNameThePart(t *testing.T) {
	for kind, event := range map[turn.Kind]turn.Event{
		turn.KindPartFailed: turn.SendFailed{Nonce: "a", Part: 1}, turn.KindPartUnknown: turn.SendUnknown{Nonce: "a", Part: 1},
	} {
		l := sending(t, func(*turn.Policy) {})
		l.at(4*time.Second, turn.Sent{Nonce: "a", Part: 0})
		e := l.at(5*time.Second, event)
		if n := e.Notices[0]; n.Kind != kind || n.Part != 2 || n.Parts != 2 {
			t.Errorf("%s: told %+v", kind, n)
		}
	}
}

// TestASearchThatIsTooLong: where one call is left and the refused message is not found
// yet, all are set aside among which it must be, and the call is for the rest.
func TestASearchThatIsTooLong(t *testing.T) {
	l := &player{t: t, policy: basic}
	var waiting []turn.Waiting
	for i := range int64(128) {
		l.at(0, turn.Message{})
		waiting = append(waiting, turn.Waiting{Version: i + 1})
	}
	now, calls := 2*time.Second, 0
	for ; l.record.SetAside == nil && calls < 10; calls++ {
		l.at(now, turn.Wake{Holder: "a", Nonce: "a"})
		l.at(now, turn.GenerateFailed{Nonce: "a", Fault: turn.Refused, Waiting: waiting})
	}
	aside := l.record.SetAside
	if calls != 7 || aside == nil || aside.Pending != 2 || aside.Through != 2 || l.record.Pending != 126 {
		t.Fatalf("after %d calls %+v are set aside, %d wait", calls, aside, l.record.Pending)
	}
	l.at(now, turn.Wake{Holder: "a", Nonce: "a"})
	if part := l.record.Attempt.Part; part != (turn.Part{NoHistory: true}) {
		t.Errorf("the last call is for %+v", part)
	}
	if e := l.at(now, turn.Generated{Nonce: "a", Parts: 1, Waiting: waiting[2:]}); e.Outcome != turn.Committed {
		t.Errorf("the rest: %s %s", e.Outcome, e.Reason)
	}
}

// TestTheSchemaOfRecords: another one needs a sample of what programs wrote before, and
// a way to read it.
func TestTheSchemaOfRecords(t *testing.T) {
	if got := given(t, basic, written).Schema; got != 1 {
		t.Errorf("records have schema %d", got)
	}
}

// receipt is a report about a part of the reply of turn 1.
func (l *player) receipt(at time.Duration, part int, receipt turn.Receipt) turn.Effects {
	l.t.Helper()
	report := turn.Report{Turn: 1, Part: part, Receipt: receipt}
	if r := l.record.Reply; r != nil {
		report.Seq, report.Texts, report.Sends = r.Seq, r.Parts, r.Parts
	} else {
		u := l.record.Unconfirmed[0]
		report.Seq, report.Texts, report.Sends, report.Status = u.Seq, u.Parts, u.Parts, u.Status
	}
	return l.at(at, report)
}

// TestWhatArrivedOfAReplyThatIsGivenUp: the parts that were sent, or more, if the channel
// says that all up to one of them have arrived.
func TestWhatArrivedOfAReplyThatIsGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		arrived []int
		want    int
	}{
		"nothing is reported": {nil, 1},
		"the first part":      {[]int{1}, 1},
		"the first two":       {[]int{1, 2}, 2},
		"the second alone":    {[]int{2}, 2},
	} {
		l := sending(t, func(*turn.Policy) {})
		l.record.Reply.Parts = 4
		l.at(4*time.Second, turn.Sent{Nonce: "a", Part: 0})
		for _, part := range test.arrived {
			if e := l.receipt(5*time.Second, part, turn.ReceiptDelivered); !e.Changed {
				t.Fatalf("%s: %s", name, e.Reason)
			}
		}
		e := l.at(6*time.Second, turn.SendFailed{Nonce: "a", Part: 1, ForGood: true})
		if u := l.record.Unconfirmed; len(u) != 1 || u[0].Status != turn.ReplyPartial || u[0].Done != test.want || len(e.Progress) != 1 || e.Progress[0].Delivered != test.want {
			t.Errorf("%s: %+v, %+v", name, u, e.Progress)
		}
		// Of what was not sent the channel can say nothing.
		if e := l.receipt(7*time.Second, test.want+1, turn.ReceiptDelivered); e.Reason != turn.NotSent {
			t.Errorf("%s: a report about part %d: %s %s", name, test.want+1, e.Outcome, e.Reason)
		}
		if e := l.receipt(7*time.Second, test.want, turn.ReceiptRead); e.Outcome != turn.Done {
			t.Errorf("%s: a report about part %d: %s %s", name, test.want, e.Outcome, e.Reason)
		}
	}
}

// TestProgressOfAReplyOfUnknownOutcome: how much was delivered is told of it too.
func TestProgressOfAReplyOfUnknownOutcome(t *testing.T) {
	l := sending(t, func(*turn.Policy) {})
	l.at(4*time.Second, turn.Sent{Nonce: "a", Part: 0})
	if e := l.at(5*time.Second, turn.SendUnknown{Nonce: "a", Part: 1}); len(e.Progress) != 1 || e.Progress[0].Delivered != 1 || len(e.Marks) != 1 || e.Marks[0].Status != turn.ReplyUnknown {
		t.Errorf("%+v, %+v", e.Progress, e.Marks)
	}
}

// TestAFailureIsForgottenWithTheNextTry: the channel reports one that is tried again, and
// then it is sent.
func TestAFailureIsForgottenWithTheNextTry(t *testing.T) {
	l := sending(t, func(*turn.Policy) {})
	l.record.Reply.Parts = 1
	l.receipt(4*time.Second, 1, turn.ReceiptFailed)
	l.at(5*time.Second, turn.SendFailed{Nonce: "a"})
	l.at(time.Minute, turn.Wake{Holder: "b", Nonce: "b"})
	if e := l.at(time.Minute, turn.Sent{Nonce: "b"}); len(e.Marks) != 1 || e.Marks[0].Status != turn.ReplySent {
		t.Errorf("it ends as %+v", e.Marks)
	}
}

// TestRoomForUnconfirmedReplies: where there are too many, the oldest goes, and no other.
func TestRoomForUnconfirmedReplies(t *testing.T) {
	l := &player{t: t, policy: basic}
	for i := range mostUnconfirmed + 1 {
		at := time.Duration(i) * time.Second
		l.at(at, turn.HumanReply{Parts: 1})
		l.at(at, turn.Wake{Holder: "a", Nonce: "a"})
		l.at(at, turn.SendUnknown{Nonce: "a"})
	}
	if u := l.record.Unconfirmed; len(u) != mostUnconfirmed || u[0].Turn != 2 || u[len(u)-1].Turn != mostUnconfirmed+1 {
		t.Errorf("remembered: %+v", u)
	}
}

// TestAStopWordAmongOthers: what others have waiting goes on as it was, and is not told
// anew. The word itself is stored, the edit that made it one is not.
func TestAStopWordAmongOthers(t *testing.T) {
	for _, event := range []turn.StopWord{{Shared: true}, {Shared: true, Edited: 2, Seq: 2, Own: []turn.Waiting{{Version: 2}}}} {
		l := &player{t: t, policy: basic}
		l.at(0, turn.Message{})
		l.at(0, turn.Message{})
		due := l.record.Window.Due
		e := l.at(time.Second, event)
		told := slices.ContainsFunc(e.Notices, func(n turn.Notice) bool { return n.Kind == turn.KindTurnScheduled })
		if told || l.record.Window.Due != due || e.AppendInput != (event.Edited == 0) {
			t.Errorf("%+v: due %v, stored %v, told %+v", event, l.record.Window.Due.Sub(due), e.AppendInput, e.Notices)
		}
	}
}

// TestTheLastAttemptOfAMinuteIsNotEarly: up to the end of the minute, and not at it.
func TestTheLastAttemptOfAMinuteIsNotEarly(t *testing.T) {
	for at, early := range map[time.Duration]bool{time.Minute - ms: false, time.Minute: true} {
		l := &player{t: t, policy: basic}
		l.policy.EarlyAttempts, l.policy.TurnsPerMinute = 1, 2
		l.at(0, turn.Message{})
		l.at(0, turn.Wake{Holder: "a", Nonce: "a"})
		l.at(2*time.Second, turn.Generated{Nonce: "a", Parts: 1})
		l.at(2*time.Second, turn.Sent{Nonce: "a"})
		l.at(at, turn.Message{})
		if got := l.record.Window.Early != 0; got != early {
			t.Errorf("after %v it starts early: %v", at, got)
		}
	}
}

// TestSignsWaitForTheReceiver: until the end of the pause that it asked for, and no
// longer.
func TestSignsWaitForTheReceiver(t *testing.T) {
	l := &player{t: t, policy: basic}
	l.policy.Debounce, l.policy.MaxWait, l.policy.DelayAfter, l.policy.NoSendUntil = time.Minute, time.Hour, 5*time.Second, after(10*time.Second)
	l.at(0, turn.Message{})
	if e := l.at(10*time.Second-ms, turn.CheckSign{}); len(e.Actions) != 0 {
		t.Errorf("before its end: %+v", e.Actions)
	}
	if e := l.at(10*time.Second, turn.CheckSign{}); len(e.Actions) != 1 {
		t.Errorf("at its end: %+v", e.Actions)
	}
}

// TestASealedAttemptForNobody: people are not told that it takes longer while a human has
// the conversation, or where nothing waits any more.
func TestASealedAttemptForNobody(t *testing.T) {
	for name, test := range map[string]struct {
		event turn.Event
		signs int
	}{
		"somebody waits":        {turn.Typing{}, 1},
		"a human has it":        {turn.Pause{}, 0},
		"nothing waits anymore": {turn.Delete{Target: 1}, 0},
	} {
		l := &player{t: t, policy: basic}
		l.policy.DelayAfter = 5 * time.Second
		l.at(0, turn.Message{})
		l.at(2*time.Second, turn.Wake{Holder: "a", Nonce: "a"})
		l.at(3*time.Second, turn.Seal{Token: l.record.Lease.Token})
		l.at(4*time.Second, test.event)
		if e := l.at(12*time.Second, turn.Renew{Nonce: "a"}); len(e.Actions) != test.signs {
			t.Errorf("%s: %+v", name, e.Actions)
		}
	}
}

// TestWhatAFailureReportedLaterMakes of a reply, by what was known of it.
func TestWhatAFailureReportedLaterMakes(t *testing.T) {
	for was, is := range map[turn.Status]turn.Status{
		turn.ReplyUnknown: turn.ReplyFailed, turn.ReplyPartial: turn.ReplyPartial, turn.ReplyFailed: turn.ReplyFailed,
	} {
		l := &player{t: t, policy: basic, record: turn.Record{
			Schema: turn.Schema, Phase: turn.Idle, Turn: 1, Seq: 2,
			Unconfirmed: []turn.Unconfirmed{{Seq: 2, Turn: 1, Status: was, Parts: 3, Done: 2}},
		}}
		e := l.receipt(0, 2, turn.ReceiptFailed)
		if u := l.record.Unconfirmed; len(u) != 1 || u[0].Status != is || u[0].Failed != 2 || (len(e.Marks) != 0) != (was == turn.ReplyUnknown) {
			t.Errorf("%s: %+v, %+v", was, u, e.Marks)
		}
	}
}

// TestAFailureOfAnotherPartStays: the next try of a part says nothing of those before.
func TestAFailureOfAnotherPartStays(t *testing.T) {
	l := sending(t, func(*turn.Policy) {})
	l.at(4*time.Second, turn.Sent{Nonce: "a", Part: 0})
	l.receipt(5*time.Second, 1, turn.ReceiptFailed)
	l.receipt(5*time.Second, 2, turn.ReceiptDelivered)
	l.at(6*time.Second, turn.SendFailed{Nonce: "a", Part: 1})
	l.at(time.Minute, turn.Wake{Holder: "b", Nonce: "b"})
	if got := l.record.Reply.Receipts; !slices.Equal(got, turn.Receipts{turn.ReceiptFailed, turn.ReceiptDelivered}) {
		t.Errorf("the receipts are %q", got)
	}
	if e := l.at(time.Minute, turn.Sent{Nonce: "b", Part: 1}); e.Marks[0].Status != turn.ReplyFailed || e.Marks[0].Reason != turn.ByChannel {
		t.Errorf("it ends as %+v", e.Marks)
	}
}

// TestASentReplyNeedsNoReceipt: one that was sent is sent by our own word.
func TestASentReplyNeedsNoReceipt(t *testing.T) {
	l := sending(t, func(*turn.Policy) {})
	l.record.Reply.Parts = 1
	l.receipt(4*time.Second, 1, turn.ReceiptDelivered)
	if e := l.at(5*time.Second, turn.Sent{Nonce: "a"}); e.Marks[0] != (turn.Mark{Seq: e.Marks[0].Seq, Status: turn.ReplySent}) {
		t.Errorf("it ends as %+v", e.Marks)
	}
}

// TestWhatTheChannelCanHaveTaken: the part of which a send has begun, and not one whose
// lease was given back before.
func TestWhatTheChannelCanHaveTaken(t *testing.T) {
	for event, want := range map[turn.Event]turn.Outcome{
		turn.HandBack{Nonce: "a"}:   turn.Ignored,
		turn.SendFailed{Nonce: "a"}: turn.Done,
	} {
		l := sending(t, func(*turn.Policy) {})
		l.at(4*time.Second, event)
		if e := l.receipt(5*time.Second, 1, turn.ReceiptDelivered); e.Outcome != want {
			t.Errorf("after a %T: %s %s", event, e.Outcome, e.Reason)
		}
	}
}

// TestAnEditDuringAProbe ends the search: the probe says nothing of what waits now.
func TestAnEditDuringAProbe(t *testing.T) {
	l := &player{t: t, policy: basic}
	l.policy.OnNewInput = turn.Finish // else the edit discards it first
	l.at(0, turn.Message{})
	l.at(0, turn.Message{})
	l.at(2*time.Second, turn.Wake{Holder: "a", Nonce: "a"})
	l.at(2*time.Second, turn.GenerateFailed{Nonce: "a", Fault: turn.Refused, Waiting: []turn.Waiting{{Version: 1}, {Version: 2}}})
	l.at(2*time.Second, turn.Wake{Holder: "a", Nonce: "b"})
	l.at(3*time.Second, turn.Edit{Target: 2})
	l.at(4*time.Second, turn.Generated{Nonce: "b", Parts: 1, Waiting: []turn.Waiting{{Version: 1}, {Version: 2}}})
	if l.record.Tries.Search != (turn.Search{}) || l.record.Phase != turn.Collecting {
		t.Errorf("%s, the search is %+v", l.record.Phase, l.record.Tries.Search)
	}
}

// TestWhoWroteCounts: other bots have a bound, which begins anew with a person, whatever
// the person writes. A reply to a bot that is on its way counts as one.
func TestWhoWroteCounts(t *testing.T) {
	l := &player{t: t, policy: basic}
	l.policy.MaxBotTurns = 2
	l.at(0, turn.Message{Bot: true})
	l.at(2*time.Second, turn.Wake{Holder: "a", Nonce: "a"})
	l.at(3*time.Second, turn.Generated{Nonce: "a", Parts: 2})
	if e := l.at(4*time.Second, turn.Message{Bot: true}); e.Outcome != turn.Queued {
		t.Errorf("a bot's second message: %s %s", e.Outcome, e.Reason)
	}
	l.at(5*time.Second, turn.Message{Closes: turn.EndedReset})
	if got := l.record.Bots; got != (turn.BotTurns{Person: 3}) {
		t.Errorf("after a person's word: %+v", got)
	}
}

// TestTheFirstByteIsTold with each end of an attempt.
func TestTheFirstByteIsTold(t *testing.T) {
	for kind, event := range map[turn.Kind]turn.Event{
		turn.KindReplyDiscarded: turn.HandBack{Nonce: "a", FirstByte: 7},
		turn.KindAttemptFailed:  turn.GenerateFailed{Nonce: "a", Fault: turn.Failure, FirstByte: 7},
		turn.KindReplyCommitted: turn.Generated{Nonce: "a", Parts: 1, FirstByte: 7},
	} {
		l := &player{t: t, policy: basic, record: given(t, basic, written, attempt)}
		e := l.at(4*time.Second, event)
		if i := slices.IndexFunc(e.Notices, func(n turn.Notice) bool { return n.Kind == kind }); i < 0 || e.Notices[i].FirstByte != 7 {
			t.Errorf("%T: told %+v", event, e.Notices)
		}
	}
	l := &player{t: t, policy: basic, record: given(t, basic, written, attempt)}
	l.at(4*time.Second, turn.Message{})
	if e := l.at(5*time.Second, turn.Interrupted{Nonce: "a", FirstByte: 7}); e.Notices[0].FirstByte != 7 {
		t.Errorf("interrupted: told %+v", e.Notices)
	}
}

// TestAnEarlyStartIsToldAsOne, and no other.
func TestAnEarlyStartIsToldAsOne(t *testing.T) {
	for _, early := range []bool{true, false} {
		l := &player{t: t, policy: basic}
		at := 2 * time.Second
		if early {
			l.policy.EarlyAttempts, at = 1, 0
		}
		l.at(0, turn.Message{})
		e := l.at(at, turn.Wake{Holder: "a", Nonce: "a"})
		if n := e.Notices[len(e.Notices)-1]; n.Kind != turn.KindTurnStarted || n.Early != early || n.Due != after(2*time.Second) || n.Holder != "a" {
			t.Errorf("told %+v", n)
		}
	}
}

// TestThePauseOfTheWholeBot: what another conversation's send has learned holds up this
// one too, and its record says until when.
func TestThePauseOfTheWholeBot(t *testing.T) {
	l := sending(t, func(*turn.Policy) {})
	l.at(4*time.Second, turn.HandBack{Nonce: "a"})
	l.policy.NoSendUntil = after(20 * time.Second)
	e := l.at(5*time.Second, turn.Wake{Holder: "b", Nonce: "b"})
	if at, _ := l.record.Wake(); len(e.Actions) != 0 || l.record.Lease != (turn.Lease{}) || at != after(20*time.Second) {
		t.Errorf("it wakes at %v, does %+v under %+v", at.Sub(start), e.Actions, l.record.Lease)
	}
	if e := l.at(20*time.Second, turn.Wake{Holder: "b", Nonce: "c"}); len(e.Actions) != 1 {
		t.Errorf("at its end: %+v", e.Actions)
	}
}

// TestAShortPause has an end all the same.
func TestAShortPause(t *testing.T) {
	l := &player{t: t, policy: basic}
	l.at(time.Second, turn.Pause{For: 1})
	if l.record.PausedUntil != after(time.Second) {
		t.Errorf("it ends at %d", l.record.PausedUntil)
	}
}

// TestNeighboursAreSettledTogether: messages of one sender that follow each other are one
// range.
func TestNeighboursAreSettledTogether(t *testing.T) {
	l := &player{t: t, policy: basic}
	for range 5 {
		l.at(0, turn.Message{})
	}
	e := l.at(time.Second, turn.StopWord{Shared: true, Own: []turn.Waiting{{Version: 1}, {Version: 2}, {Version: 4}, {Version: 5}}})
	if len(e.Settles) != 2 || e.Settles[0].From != 0 || e.Settles[0].Through != 2 || e.Settles[1].From != 3 || e.Settles[1].Through != 5 {
		t.Errorf("settled: %+v", e.Settles)
	}
}

// TestAnEarlyEditIsKeptForTenMinutes, and not longer.
func TestAnEarlyEditIsKeptForTenMinutes(t *testing.T) {
	l := &player{t: t, policy: basic}
	l.at(0, turn.Early{})
	if end := after(10 * time.Minute); !l.record.KeepsEarly(1, end-1) || l.record.KeepsEarly(1, end) {
		t.Errorf("kept: %+v", l.record.Early)
	}
}

// TestAReplySentElsewhereIsSaid: a silence counts from there.
func TestAReplySentElsewhereIsSaid(t *testing.T) {
	l := &player{t: t, policy: basic}
	l.policy.SessionIdle = time.Hour
	l.at(0, turn.HumanReply{Parts: 1, Sent: true})
	if l.record.SaidAt != after(0) {
		t.Errorf("somebody said something last at %d", l.record.SaidAt)
	}
}

// TestAResetOfWhatIsAnswered settles nothing once more.
func TestAResetOfWhatIsAnswered(t *testing.T) {
	l := sending(t, func(*turn.Policy) {})
	l.at(4*time.Second, turn.Sent{Nonce: "a", Part: 0})
	l.at(4*time.Second, turn.Sent{Nonce: "a", Part: 1})
	if e := l.at(5*time.Second, turn.Reset{}); len(e.Settles) != 0 || e.AppendReset == 0 {
		t.Errorf("settled: %+v", e.Settles)
	}
}

// TestNoSignIsNextUnderAPause.
func TestNoSignIsNextUnderAPause(t *testing.T) {
	l := &player{t: t, policy: basic}
	l.policy.DelayAfter = time.Second
	l.at(0, turn.Message{})
	if got := l.record.NextSign(); got != after(time.Second) {
		t.Errorf("the next sign is at %d", got)
	}
	l.at(0, turn.Pause{})
	if got := l.record.NextSign(); got != 0 {
		t.Errorf("under a pause it is at %d", got)
	}
}
