package turn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// kinds are the kinds of notices, in order.
func kinds(notices []turn.Notice) (all []turn.Kind) {
	for _, n := range notices {
		all = append(all, n.Kind)
	}
	return all
}

// Each reason for which somebody should look is enough by itself.
func TestNeedsAttention(t *testing.T) {
	for name, test := range map[string]struct {
		record turn.Record
		want   bool
	}{
		"nothing":                                {turn.Record{}, false},
		"at work":                                {turn.Record{Phase: turn.Generating}, false},
		"a reply on its way":                     {turn.Record{Phase: turn.Sending, Reply: &turn.Reply{}}, false},
		"a failed turn":                          {turn.Record{Phase: turn.Failed}, true},
		"messages that were set aside":           {turn.Record{SetAside: &turn.SetAside{}}, true},
		"an unconfirmed reply":                   {turn.Record{Unconfirmed: []turn.Unconfirmed{{}}}, true},
		"a worker that was lost":                 {turn.Record{Phase: turn.Generating, Tries: turn.Tries{Lost: turn.Lost{Count: 1}}}, true},
		"a worker that was lost while it sent":   {turn.Record{Phase: turn.Sending, Reply: &turn.Reply{Lost: turn.Lost{Count: 1}}}, true},
		"the last one, and a reply on its way":   {turn.Record{Phase: turn.Sending, Reply: &turn.Reply{}, Tries: turn.Tries{Lost: turn.Lost{Count: 1}}}, true},
		"a failed turn and an unconfirmed reply": {turn.Record{Phase: turn.Failed, Unconfirmed: []turn.Unconfirmed{{}}}, true},
	} {
		if got := test.record.NeedsAttention(); got != test.want {
			t.Errorf("%s: needs attention is %v", name, got)
		}
	}
}

// The first token of a conversation is that of its wake-up, and the next ones follow it.
func TestTokensGrowByOne(t *testing.T) {
	record := given(t, basic, written,
		happened{2 * time.Second, turn.Wake{Holder: "a", Nonce: "a", First: 700}})
	if record.Token != 700 || record.Lease.Token != 700 {
		t.Errorf("the first token is %d, the lease has %d", record.Token, record.Lease.Token)
	}
	record, _ = turn.Step(record, turn.HandBack{Nonce: "a"}, after(3*time.Second), basic)
	record, _ = turn.Step(record, turn.Wake{Holder: "b", Nonce: "b", First: 900}, after(3*time.Second), basic)
	if record.Token != 701 || record.Lease.Token != 701 {
		t.Errorf("the second token is %d, the lease has %d", record.Token, record.Lease.Token)
	}
}

// Failures of the model and lost workers are counted apart: a lost worker uses up no
// attempt, and a worker that lives to see the model fail clears the messages.
func TestFailuresAndLostWorkersAreCountedApart(t *testing.T) {
	var record turn.Record
	at := time.Duration(0)
	next := func(wait time.Duration, event turn.Event) {
		at += wait
		record, _ = turn.Step(record, event, after(at), basic)
	}
	next(0, turn.Message{})
	for n := 1; n <= 2; n++ {
		for range 2 {
			next(time.Minute, turn.Wake{Holder: "a", Nonce: "a", Lone: true})
			next(time.Minute, turn.Wake{Holder: "b", Nonce: "b", Lone: true}) // the lease ran out
			next(time.Minute, turn.Wake{Holder: "b", Nonce: "b", Lone: true})
			if record.Tries.Lost.Lone == 2 {
				break
			}
		}
		if record.Phase != turn.Generating || record.Tries.Attempts != n || record.Tries.Lost.Lone != 2 {
			t.Fatalf("the turn is %s: %+v", record.Phase, record.Tries)
		}
		next(time.Second, turn.GenerateFailed{Nonce: record.Lease.Nonce, Fault: turn.Failure})
		if record.Phase != turn.Collecting || record.Tries.Attempts != n || record.Tries.Lost != (turn.Lost{}) {
			t.Fatalf("after the %d. failure the turn is %s: %+v", n, record.Phase, record.Tries)
		}
	}
}

// A reply that is refused for good after a human answered its messages fails no turn:
// nothing waits any more.
func TestARefusedReplyThatAHumanOvertook(t *testing.T) {
	record := given(t, basic, written, attempt, committed, happened{4 * time.Second, turn.HumanReply{Parts: 1}})
	record, effects := turn.Step(record, turn.SendFailed{Nonce: "a", ForGood: true}, after(5*time.Second), basic)
	if slices.Contains(kinds(effects.Notices), turn.KindTurnFailed) || record.Phase != turn.Sending || record.Reply.Kind != turn.ReplyHuman {
		t.Errorf("the conversation is %s, with the reply %+v, and %v", record.Phase, record.Reply, kinds(effects.Notices))
	}
}

// A turn whose attempts are used up, and that got newer input meanwhile, is not given up:
// what waits now was never tried as it is, and has all its attempts before it.
func TestNewerInputBeginsTheAttemptsAnew(t *testing.T) {
	record := given(t, basic, written)
	at := time.Duration(0)
	next := func(wait time.Duration, event turn.Event) {
		at += wait
		record, _ = turn.Step(record, event, after(at), basic)
	}
	for range 2 {
		next(time.Minute, turn.Wake{Holder: "a", Nonce: "a"})
		next(time.Second, turn.GenerateFailed{Nonce: "a", Fault: turn.Failure})
	}
	next(time.Minute, turn.Wake{Holder: "a", Nonce: "a"})
	next(29*time.Second, turn.Message{})
	next(500*time.Millisecond, turn.GenerateFailed{Nonce: "a", Fault: turn.Failure})
	next(time.Minute, turn.Wake{Holder: "b", Nonce: "b"})
	if record.Phase != turn.Generating || record.Tries.Attempts != 1 {
		t.Errorf("the turn is %s with %d attempts used up", record.Phase, record.Tries.Attempts)
	}
}

// An attempt that the hard cap started before the quiet time was over is tried again at
// once when it is handed back: nothing came since.
func TestAHandBackWaitsForNoQuietTime(t *testing.T) {
	record := given(t, basic, written, happened{9500 * ms, turn.Message{}},
		happened{10 * time.Second, turn.Wake{Holder: "a", Nonce: "a"}}, happened{10200 * ms, turn.HandBack{Nonce: "a"}})
	if at, ok := record.Wake(); !ok || at != after(10200*ms) {
		t.Errorf("the next attempt is at %s, not at once", moment(at))
	}
}

// A send that is handed back under a pause is taken back: the reply would be sent at the
// resume otherwise, beside what a human said meanwhile.
func TestASendThatIsHandedBackUnderAPause(t *testing.T) {
	record := given(t, basic, written, attempt, committed,
		happened{4 * time.Second, turn.Pause{}}, happened{5 * time.Second, turn.HandBack{Nonce: "a"}})
	if record.Reply != nil || record.Answered != 0 || record.Pending != 1 {
		t.Errorf("the reply is %+v, answered up to %d, %d wait", record.Reply, record.Answered, record.Pending)
	}
}

// A ceiling that was lifted throttles nobody any more.
func TestALiftedCeiling(t *testing.T) {
	throttled := basic
	throttled.TurnsPerMinute = 1
	record := given(t, throttled, written, attempt, committed, happened{4 * time.Second, turn.Sent{Nonce: "a"}}, happened{5 * time.Second, turn.Message{}})
	for limit, starts := range map[int]bool{1: false, 2: true, 0: true} {
		policy := throttled
		policy.TurnsPerMinute = limit
		next, _ := turn.Step(record, turn.Wake{Holder: "b", Nonce: "b"}, after(7*time.Second), policy)
		if got := next.Phase == turn.Generating; got != starts {
			t.Errorf("with a ceiling of %d the turn is %s", limit, next.Phase)
		}
	}
}

// The text that stands in for a failed turn answers nothing: it covers no version, and
// lies behind the messages that still wait.
func TestTheFallbackAnswersNothing(t *testing.T) {
	policy := basic
	policy.Fallback = true
	record := given(t, policy, written, happened{time.Second, turn.Edit{Target: 1, Seq: 1}}, happened{time.Second, turn.Edit{Target: 2, Seq: 1}},
		happened{3 * time.Second, turn.Wake{Holder: "a", Nonce: "a"}}, happened{4 * time.Second, turn.Generated{Nonce: "a", Parts: 1}},
		happened{5 * time.Second, turn.Sent{Nonce: "a"}}, happened{6 * time.Second, turn.Message{}},
		happened{8 * time.Second, turn.Wake{Holder: "a", Nonce: "b"}},
		happened{9 * time.Second, turn.GenerateFailed{Nonce: "b", Fault: turn.Rejected}})
	reply := record.Reply
	if reply == nil || reply.Kind != turn.ReplyFallback {
		t.Fatalf("the reply is %+v", reply)
	}
	if record.Answered == record.AfterSeq {
		t.Fatalf("version %d and sequence %d are the same: nothing is shown", record.Answered, record.AfterSeq)
	}
	if reply.Through != record.Answered || reply.From != record.Answered || reply.AfterSeq != record.AfterSeq {
		t.Errorf("it covers %d to %d after sequence %d, answered is %d after sequence %d",
			reply.From, reply.Through, reply.AfterSeq, record.Answered, record.AfterSeq)
	}
}

// Of unconfirmed replies the last eight are kept.
func TestUnconfirmedRepliesAreBounded(t *testing.T) {
	var record turn.Record
	at := time.Duration(0)
	for range mostUnconfirmed + 2 {
		for _, event := range []turn.Event{turn.HumanReply{Parts: 1}, turn.Wake{Holder: "a", Nonce: "a"}, turn.SendUnknown{Nonce: "a"}} {
			at += time.Second
			record, _ = turn.Step(record, event, after(at), basic)
		}
	}
	if n := len(record.Unconfirmed); n != mostUnconfirmed || record.Unconfirmed[0].Turn != 3 {
		t.Errorf("%d are kept, the first of turn %d; want %d from turn 3 on", n, record.Unconfirmed[0].Turn, mostUnconfirmed)
	}
}

// What was set aside leaves no error behind when the last of it is deleted.
func TestDeletingWhatWasSetAsideEndsTheFailure(t *testing.T) {
	record := given(t, basic, written)
	at := 2 * time.Second
	for record.SetAside == nil {
		record, _ = turn.Step(record, turn.Wake{Holder: "a", Nonce: moment(after(at)), Lone: true}, after(at), basic)
		if at += time.Minute; at > time.Hour {
			t.Fatal("nothing is set aside")
		}
	}
	if record.Tries.LastError == "" || record.Phase != turn.Failed {
		t.Fatalf("the turn is %s: %q", record.Phase, record.Tries.LastError)
	}
	record, _ = turn.Step(record, turn.SetAsideChanged{Target: 1, Deleted: true}, after(at), basic)
	if record.Tries.LastError != "" || record.Phase != turn.Idle {
		t.Errorf("the turn is %s: %q", record.Phase, record.Tries.LastError)
	}
}

// Two rules of a record that no step breaks.
func TestCheckNamesWhatIsMissing(t *testing.T) {
	waits := given(t, basic, written)
	nothing := waits
	nothing.Pending = 0
	aside := waits
	aside.SetAside = &turn.SetAside{Through: 1}
	for name, record := range map[string]turn.Record{
		"collecting needs something that waits":  nothing,
		"a set-aside holds at least one message": aside,
	} {
		if err := turn.Check(record); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}

// A reply that is on its way when all is settled closes what it answers if it reaches
// nobody, also where the stop word of one of several people comes behind that: otherwise
// their messages would wait for ever, and no conversation would count them.
func TestAStopWordBehindWhatSettlesAllDuringAReply(t *testing.T) {
	for name, settles := range map[string]turn.Event{
		"a reset":          turn.Reset{},
		"a reset word":     turn.Message{Closes: turn.EndedReset},
		"a person's reply": turn.HumanReply{Parts: 1, Sent: true},
	} {
		for _, word := range []turn.StopWord{{Shared: true}, {Shared: true, OptOut: true}} {
			l := sending(t, func(*turn.Policy) {})
			answered := l.record.Reply.Through
			l.at(4*time.Second, settles)
			closed := l.at(5*time.Second, turn.StopWord{Shared: true}).Settles
			closed = append(closed, l.at(6*time.Second, word).Settles...)
			closed = append(closed, l.at(7*time.Second, turn.SendFailed{Nonce: "a", ForGood: true}).Settles...)
			if l.record.Reply != nil || l.record.Answered != l.record.Version {
				t.Errorf("%s: %s, %d of %d versions are settled", name, l.record.Phase, l.record.Answered, l.record.Version)
			}
			if !slices.ContainsFunc(closed, func(s turn.Settle) bool {
				return s.Status == turn.InputClosed && s.From < answered && answered <= s.Through
			}) {
				t.Errorf("%s: what the reply answered is left, %+v", name, closed)
			}
		}
	}
}

// A reply is sent if the channel has said of its last part that it arrived, and those before
// it are known to be delivered, of which it need not say so too. Otherwise that part would go
// out again.
func TestTheChannelSaysThatTheLastPartArrived(t *testing.T) {
	type report struct {
		part    int
		receipt turn.Receipt
	}
	for name, test := range map[string]struct {
		reports []report
		want    turn.Status
		again   int // the part with which it is sent again, from 0; -1: it is not
	}{
		"nothing":                {nil, turn.ReplyPartial, 1},
		"the last part arrived":  {[]report{{2, turn.ReceiptDelivered}}, turn.ReplySent, -1},
		"the last part was read": {[]report{{2, turn.ReceiptRead}}, turn.ReplySent, -1},
		"the first part arrived": {[]report{{1, turn.ReceiptDelivered}}, turn.ReplyPartial, 1},
		"all arrived":            {[]report{{0, turn.ReceiptDelivered}}, turn.ReplySent, -1},
		"the last part arrived and the first failed": {[]report{{1, turn.ReceiptFailed}, {2, turn.ReceiptDelivered}}, turn.ReplyPartial, 0},
		"the last part failed":                       {[]report{{2, turn.ReceiptFailed}}, turn.ReplyPartial, 1},
	} {
		l := sending(t, func(*turn.Policy) {})
		seq, number := l.record.Reply.Seq, l.record.Reply.Turn
		l.at(4*time.Second, turn.Sent{Nonce: "a", Part: 0})
		for _, r := range test.reports {
			l.at(5*time.Second, turn.Report{Turn: number, Seq: seq, Texts: 2, Sends: 2, Status: turn.ReplyCommitted, Part: r.part, Receipt: r.receipt})
		}
		marks := l.at(6*time.Second, turn.SendFailed{Nonce: "a", Part: 1, ForGood: true}).Marks
		if len(marks) != 1 || marks[0].Status != test.want {
			t.Errorf("%s: %+v, want %s", name, marks, test.want)
		}
		l.at(7*time.Second, turn.Resend{Turn: number})
		if again := l.record.Reply; (again != nil) != (test.again >= 0) || again != nil && again.Done != test.again {
			t.Errorf("%s: sent again is %+v, want part %d", name, again, test.again)
		}
	}
}
