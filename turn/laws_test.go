package turn_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/onereply/onereply/turn"
)

// stepLaws hold for each step, whatever happens and under any policy. The
// ledger is as it was before the step.
var stepLaws = []func(w *world, before turn.Record, event turn.Event, after turn.Record, effects turn.Effects) error{
	// The record obeys its own rules.
	func(_ *world, _ turn.Record, _ turn.Event, after turn.Record, _ turn.Effects) error {
		return turn.Check(after)
	},
	// A step that has nothing to write has no effect but a repeated action.
	func(_ *world, before turn.Record, _ turn.Event, after turn.Record, e turn.Effects) error {
		bare := turn.Effects{Outcome: e.Outcome, Reason: e.Reason, Actions: e.Actions}
		if !e.Changed && (!same(before, after) || !reflect.DeepEqual(e, bare)) {
			return errors.New("it has effects, but nothing to write")
		}
		return nil
	},
	versionGrows,
	strangersAreFenced,
	tokenGrows,
	leaseIsFree,
	nothingStartsEarly,
	messageRestartsQuiet,
	contextChangesNothing,
	windowKeepsItsCap,
	discardsAreBounded,
	attemptsAreCounted,
	commitIsCurrent,
	commitWaitsForWindow,
	sendsAreInOrder,
	nothingStaleIsSent,
	historyBeginsAfresh,
	namesChangeNothingElse,
	aliasesChangeNothing,
	earlyChangesNothingElse,
	silenceIsAnEnd,
	nothingFollowsTheCut,
	stopWordClosesItsSenders,
	holdsEndWhenTheyMay,
	besideLeavesTheTurns,
	sentIsNotSentAgain,
	againChangesNothing,
	turnsEnd,
	signsAreGivenOnce,
	bytesAreBounded,
}

// bytesAreBounded: no more waits, or was set aside, than may; and nothing is refused but
// what would wait.
func bytesAreBounded(w *world, _ turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	held := after.PendingBytes
	if after.SetAside != nil {
		held += after.SetAside.Bytes
	}
	if most := w.policy.WaitingBytes; most > 0 && held > most {
		return fmt.Errorf("%d bytes wait or are set aside, and %d may", held, most)
	}
	switch event.(type) {
	case turn.Message, turn.Edit, turn.SetAsideChanged:
	default:
		if e.Outcome == turn.TooMuch {
			return errors.New("it was refused because too much waits")
		}
	}
	return nil
}

// signsAreGivenOnce: people are told once of what waits, and not under a pause; whoever
// was told of an outage is not told besides that it takes longer.
func signsAreGivenOnce(w *world, before turn.Record, _ turn.Event, _ turn.Record, e turn.Effects) error {
	for _, action := range e.Actions {
		show, ok := action.(turn.Show)
		if !ok {
			continue
		}
		waiting := w.ledger.waiting(before.Answered)
		if before.OnHold || len(waiting) == 0 || !e.Changed {
			return fmt.Errorf("people are told of a %s: %d messages wait, on hold: %v", show.Sign, len(waiting), before.OnHold)
		}
		for _, m := range waiting {
			if m.told[show.Sign] == m.version || show.Sign == turn.SignDelay && m.told[turn.SignOutage] == m.version {
				return fmt.Errorf("people are told of a %s, and %s was told of before: %v", show.Sign, m.id, m.told)
			}
		}
	}
	return nil
}

// turnsEnd: each turn that has begun ends once, and is told to.
func turnsEnd(w *world, before turn.Record, _ turn.Event, after turn.Record, e turn.Effects) error {
	open := map[int64]bool{}
	for number := int64(1); number <= after.LastTurn(); number++ {
		open[number] = number > before.LastTurn() || before.TurnOpen(number)
	}
	for _, n := range e.Notices {
		if n.Kind != turn.KindTurnEnded {
			continue
		}
		if !open[n.Turn] {
			return fmt.Errorf("turn %d ended (%s), and was not open", n.Turn, n.Reason)
		}
		open[n.Turn] = false
	}
	for number, is := range open {
		if is != after.TurnOpen(number) {
			return fmt.Errorf("turn %d is open: %v, and by what was told: %v", number, after.TurnOpen(number), is)
		}
	}
	return nil
}

// versionGrows: by one with each accepted input, and with nothing else.
func versionGrows(_ *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	want := before.Version
	switch event.(type) {
	case turn.Message, turn.Edit, turn.Delete, turn.StopWord:
		if e.Outcome != turn.Ignored && e.Outcome != turn.AsContext && e.Outcome != turn.TooMuch {
			want++
		}
	}
	if after.Version != want {
		return fmt.Errorf("the version is %d, not %d", after.Version, want)
	}
	return nil
}

// strangersAreFenced: a result whose nonce is not the live one changes nothing.
func strangersAreFenced(_ *world, before turn.Record, event turn.Event, _ turn.Record, e turn.Effects) error {
	nonce, isResult := nonceOf(event)
	if !isResult || nonce != "" && nonce == before.Lease.Nonce || before.LeadsTo != "" {
		return nil
	}
	if e.Outcome != turn.Fenced || e.Changed || len(e.Actions) > 0 {
		return fmt.Errorf("the live nonce is %q, yet it had an effect: %+v", before.Lease.Nonce, e)
	}
	return nil
}

// nonceOf tells results of lease holders from other events.
func nonceOf(event turn.Event) (string, bool) {
	switch e := event.(type) {
	case turn.Renew:
		return e.Nonce, true
	case turn.HandBack:
		return e.Nonce, true
	case turn.Interrupted:
		return e.Nonce, true
	case turn.Generated:
		return e.Nonce, true
	case turn.GenerateFailed:
		return e.Nonce, true
	case turn.Sent:
		return e.Nonce, true
	case turn.SendFailed:
		return e.Nonce, true
	case turn.SendUnknown:
		return e.Nonce, true
	}
	return "", false
}

// tokenGrows: by one with each new lease, and with nothing else.
func tokenGrows(_ *world, before turn.Record, _ turn.Event, after turn.Record, _ turn.Effects) error {
	want := before.Token
	if after.Lease.Nonce != "" && after.Lease.Nonce != before.Lease.Nonce {
		want++
	}
	if after.Token != want {
		return fmt.Errorf("the token is %d, not %d", after.Token, want)
	}
	return nil
}

// leaseIsFree: nobody takes a lease from a living holder.
func leaseIsFree(w *world, before turn.Record, event turn.Event, after turn.Record, _ turn.Effects) error {
	look, isWake := event.(turn.Wake)
	taken := after.Lease.Nonce != "" && after.Lease.Nonce != before.Lease.Nonce
	if taken && (!isWake || before.Leased(w.now) && !look.Alone) {
		return fmt.Errorf("the lease of %s was taken before it ended", before.Lease.Nonce)
	}
	return nil
}

// nothingStartsEarly: no attempt starts before the window is over, or under a
// pause. One that is early may, within its bounds.
func nothingStartsEarly(w *world, before turn.Record, _ turn.Event, after turn.Record, e turn.Effects) error {
	for _, action := range e.Actions {
		run, isRun := action.(turn.Run)
		if !isRun || !e.Changed {
			continue
		}
		if run.Early && !after.OnHold {
			if after.Tries.Early > w.policy.EarlyAttempts || before.Window.Media > 0 || before.Phase == turn.Collecting && w.now < before.Window.NotBefore {
				return fmt.Errorf("an attempt started early at %s: number %d of %d", moment(w.now), after.Tries.Early, w.policy.EarlyAttempts)
			}
			continue
		}
		if w.now < after.Window.Due || before.Phase == turn.Collecting && w.now < before.Window.Due || after.OnHold {
			return fmt.Errorf("an attempt started at %s, before %s or under a pause", moment(w.now), moment(after.Window.Due))
		}
	}
	return nil
}

// contextChangesNothing: a message that is never answered takes a sequence, after the mark
// of a fresh start where it comes after a long silence, and that is all.
func contextChangesNothing(_ *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	if _, isMessage := event.(turn.Message); !isMessage || e.Outcome != turn.AsContext {
		return nil
	}
	before.Seq++
	before.SaidAt, before.Early = after.SaidAt, after.Early // what was kept for it
	if e.AppendReset != 0 {
		before.Seq++
		before.FreshAfter = e.AppendReset
	}
	if before.Phase == "" {
		before.Schema, before.Phase = after.Schema, turn.Idle
	}
	if !same(before, after) || len(e.Actions) > 0 || len(e.Settles) > 0 || len(e.Marks) > 0 || e.AppendReply != 0 {
		return fmt.Errorf("context changed %+v to %+v", before, after)
	}
	return nil
}

// messageRestartsQuiet: the quiet time counts from the last message.
func messageRestartsQuiet(w *world, _ turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	m, isMessage := event.(turn.Message)
	if !isMessage || m.Closes != "" || e.Outcome == turn.Ignored || e.Outcome == turn.AsContext || e.Outcome == turn.TooMuch {
		return nil
	}
	quiet := m.Quiet
	if quiet == 0 {
		quiet = w.policy.Debounce
	}
	if after.Window.QuietUntil != w.now.Add(quiet) {
		return fmt.Errorf("the quiet time ends at %s, %v after the message is meant", moment(after.Window.QuietUntil), quiet)
	}
	return nil
}

// windowKeepsItsCap: the window ends within its caps, unless a back-off or a
// throttle says otherwise; nothing but a new window moves its start, and nothing
// moves on what the cap counts from as long as the turn is the same.
func windowKeepsItsCap(w *world, before turn.Record, _ turn.Event, after turn.Record, _ turn.Effects) error {
	if after.Phase != turn.Collecting {
		return nil
	}
	limit := after.Window.WaitingSince.Add(w.policy.MaxWait)
	if after.Window.Start > after.Window.WaitingSince {
		limit = max(limit, after.Window.Start.Add(2*w.policy.Debounce))
	}
	if after.Window.Media > 0 {
		limit = max(limit, after.Window.Start.Add(w.policy.MediaWait))
	}
	if limit := max(limit, after.Window.Start, after.Window.NotBefore); after.Window.Due > limit {
		return fmt.Errorf("due at %s, after the cap at %s", moment(after.Window.Due), moment(limit))
	}
	if was := before.Window.WaitingSince; before.Turn == after.Turn && was != 0 && after.Window.WaitingSince > was {
		return fmt.Errorf("what the cap counts from moved from %s to %s", moment(was), moment(after.Window.WaitingSince))
	}
	if resumed := before.OnHold && !after.OnHold; before.Phase == turn.Collecting && !resumed && after.Window.Start != before.Window.Start {
		return fmt.Errorf("the start of the window moved from %s to %s", moment(before.Window.Start), moment(after.Window.Start))
	}
	return nil
}

// bound reports whether the attempt is committed for what it saw.
func (w *world) bound(r turn.Record) bool {
	return r.Attempt.Sealed || w.policy.OnNewInput == turn.Finish || r.Tries.Discards >= w.policy.MaxDiscards
}

// discardsAreBounded: only what was overtaken is discarded, and only so often;
// and nobody is told to stop at the bound.
func discardsAreBounded(w *world, before turn.Record, _ turn.Event, after turn.Record, e turn.Effects) error {
	fresh := before.Version == before.Attempt.Through
	if e.Outcome == turn.Discarded && (fresh || w.bound(before) || after.Tries.Discards != before.Tries.Discards+1) {
		return fmt.Errorf("an attempt was discarded, the bound is reached: %v, it is fresh: %v", w.bound(before), fresh)
	}
	if after.Tries.Discards > w.policy.MaxDiscards {
		return fmt.Errorf("%d discards", after.Tries.Discards)
	}
	for _, action := range e.Actions {
		cancel, ok := action.(turn.Cancel)
		if ok && cancel.Reason == turn.Superseded && (w.bound(after) || w.policy.OnNewInput == turn.Discard) {
			return errors.New("an attempt that is to end was told to stop")
		}
	}
	return nil
}

// attemptsAreCounted: before the work, in the write that takes the lease, and
// never beyond what the policy allows.
func attemptsAreCounted(w *world, before turn.Record, _ turn.Event, after turn.Record, e turn.Effects) error {
	if after.Phase == turn.Generating && (after.Tries.Attempts < 1 || after.Tries.Attempts > w.policy.MaxAttempts) {
		return fmt.Errorf("attempt %d of %d runs", after.Tries.Attempts, w.policy.MaxAttempts)
	}
	counted, runs := before.Tries.Attempts+1, before.Tries.Runs
	if before.Tries.Attempts == w.policy.MaxAttempts { // newer input starts the count again
		counted = 1
	}
	if before.Phase == turn.Generating { // its worker was lost, and that attempt did not fail
		counted = before.Tries.Attempts
	}
	if after.Turn != before.Turn { // the end of a pause began another turn
		counted, runs = 1, 0
	}
	for _, action := range e.Actions {
		if run, ok := action.(turn.Run); ok && e.Changed && (after.Tries.Attempts != counted || run.Attempt != runs+1) {
			return fmt.Errorf("an attempt started, and %d were counted after %d", after.Tries.Attempts, before.Tries.Attempts)
		}
	}
	return nil
}

// commitIsCurrent: a reply is committed for exactly what its prompt held, and
// that is all that waits, unless the bound was reached.
func commitIsCurrent(w *world, before turn.Record, event turn.Event, _ turn.Record, e turn.Effects) error {
	if _, ok := event.(turn.Generated); !ok || e.AppendReply == 0 {
		return nil
	}
	var waiting []sight
	for _, m := range w.ledger.waiting(before.Answered) {
		waiting = append(waiting, sight{m.id, m.version})
	}
	part := before.Attempt.Part
	if part.Answers > 0 {
		waiting = slices.DeleteFunc(waiting, func(s sight) bool { return !part.Holds(s.version) })
	}
	if !reflect.DeepEqual(waiting, w.ledger.prompt) && !w.bound(before) {
		return fmt.Errorf("the reply saw %v, but what waits is %v", w.ledger.prompt, waiting)
	}
	return nil
}

// commitWaitsForWindow: an attempt that was started early is committed when its window
// has ended, or was ended by a seal; and what newer input replaces is no discard.
func commitWaitsForWindow(w *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	open := before.Phase == turn.Generating && before.Attempt.Early && w.now < before.Window.Due
	if _, ok := event.(turn.Generated); ok && open && (e.Changed || e.Outcome != turn.Ignored && e.Outcome != turn.Fenced) {
		return fmt.Errorf("a result was taken at %s, and its window ends at %s: %+v", moment(w.now), moment(before.Window.Due), e)
	}
	if open && after.Turn == before.Turn && after.Phase != turn.Idle && after.Tries.Discards != before.Tries.Discards {
		return fmt.Errorf("%d discards, and %d after an early attempt", before.Tries.Discards, after.Tries.Discards)
	}
	return nil
}

// sendsAreInOrder: each send is the next part, under the live lease; nothing
// whose outcome is unknown is sent again where the policy forbids it; and under
// a pause only people's replies go out.
func sendsAreInOrder(w *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	for _, action := range e.Actions {
		send, ok := action.(turn.Send)
		if !ok {
			continue
		}
		r := w.ledger.replies[send.Reply.Seq]
		if r == nil { // committed by this step
			r = &reply{}
		}
		next := r.delivered
		if _, wasSent := event.(turn.Sent); wasSent && e.Changed {
			next++
		}
		lost := before.Lease.Nonce != "" && before.Lease.Nonce != after.Lease.Nonce
		doubtful := r.unknown || lost && r.underWay
		switch {
		case send.Reply.Done != next:
			return fmt.Errorf("part %d is sent, the next one is %d", send.Reply.Done, next)
		case send.Lease != after.Lease || send.Lease.Nonce == "":
			return errors.New("a part is sent without the live lease")
		case doubtful && !w.policy.ResendUnknown:
			return errors.New("a part whose outcome is unknown is sent again")
		case e.Changed && after.OnHold && !slices.Contains([]string{turn.ReplyHuman, turn.ReplyBeside, turn.ReplyResend}, send.Reply.Kind):
			return errors.New("a reply of the responder is sent under a pause")
		}
	}
	return nil
}

// nothingStaleIsSent: before each new try the version is read again, and a
// reply that was overtaken and reached nobody is not sent.
func nothingStaleIsSent(w *world, before turn.Record, event turn.Event, _ turn.Record, e turn.Effects) error {
	_, isWake := event.(turn.Wake)
	if !isWake || !e.Changed || before.Reply == nil || before.Reply.Sealed || before.Reply.Kind != turn.ReplyAnswer {
		return nil
	}
	r := w.ledger.replies[before.Reply.Seq]
	if len(e.Actions) > 0 && !r.reached() && before.Version != before.Reply.Through {
		return errors.New("a reply that was overtaken and reached nobody is sent")
	}
	return nil
}

// historyBeginsAfresh: with a reset, or a message after a long silence, and with nothing
// else; and turns count on.
func historyBeginsAfresh(w *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	_, asked := event.(turn.Reset)
	_, isMessage := event.(turn.Message)
	if word, ok := event.(turn.StopWord); ok {
		isMessage = word.Edited == 0
	}
	silent := isMessage && e.Changed && w.policy.SessionIdle > 0 && before.SaidAt != 0 && w.now.Sub(before.SaidAt) >= w.policy.SessionIdle
	quiet := before.Pending == 0 && before.Phase != turn.Generating && before.Phase != turn.Sending
	began := after.FreshAfter != before.FreshAfter
	switch {
	case began != (asked && e.Changed || silent && quiet):
		return fmt.Errorf("history begins after %d, and began after %d before", after.FreshAfter, before.FreshAfter)
	case began && (after.FreshAfter <= before.Seq || e.AppendReset != after.FreshAfter):
		return fmt.Errorf("the mark %d was given out before, or is not written", after.FreshAfter)
	case asked && e.Changed && (after.Attempt.Newer > 0 || after.Pending > 0 && (after.Reply == nil || after.Reply.Kind != turn.ReplyAnswer)):
		return fmt.Errorf("%d messages wait after a reset, and no reply on its way answers them", after.Pending)
	case after.Turn < before.Turn:
		return fmt.Errorf("turn %d follows turn %d", after.Turn, before.Turn)
	}
	return nil
}

// namesChangeNothingElse: a name that is given or taken leaves all else as it is, and no
// conversation becomes an alias.
func namesChangeNothingElse(_ *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	switch event.(type) {
	case turn.AdoptName, turn.ClaimName, turn.DropName:
		before.Names, before.Schema = after.Names, after.Schema
		if before.Phase == "" {
			before.Phase = turn.Idle
		}
		if e.AppendName != 0 {
			before.Seq++
		}
		if e.Changed && !same(before, after) || len(e.Actions) > 0 || len(e.Settles) > 0 {
			return fmt.Errorf("it changed more than names: %+v", after)
		}
	case turn.LeadName:
		if e.Changed && !before.Empty() && before.LeadsTo == "" {
			return errors.New("a conversation became an alias")
		}
	}
	return nil
}

// aliasesChangeNothing: nothing happens to a name that leads to a conversation, but that it
// leads elsewhere or is freed.
func aliasesChangeNothing(_ *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	_, leads := event.(turn.LeadName)
	_, frees := event.(turn.FreeName)
	bare := after.Version == 0 && after.Seq == 0 && len(e.Actions)+len(e.Notices) == 0
	switch {
	case (leads || frees) && e.Changed && !bare:
		return fmt.Errorf("a name became %+v", after)
	case !leads && !frees && before.LeadsTo != "" && (e.Changed || e.Outcome != turn.Ignored):
		return fmt.Errorf("it is the name of another conversation, and this happened to it: %+v", after)
	}
	return nil
}

// earlyChangesNothingElse: what is kept for a message that has not come takes a sequence at
// most, and is no input.
func earlyChangesNothingElse(w *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	early, ok := event.(turn.Early)
	if !ok || !e.Changed {
		return nil
	}
	kept := slices.ContainsFunc(after.Early, func(edit turn.EarlyEdit) bool { return edit.Until == w.now.Add(turn.EarlyFor) })
	if gone := after.Retracted && !after.KeepsEarly(early.Seq, w.now); early.Deleted && !gone || !early.Deleted && !kept {
		return fmt.Errorf("of a change that came early this is kept: %+v, retracted: %v", after.Early, after.Retracted)
	}
	if e.AppendEarly != 0 {
		before.Seq++
	}
	before.Early, before.Retracted, before.Schema = after.Early, after.Retracted, after.Schema
	if before.Phase == "" {
		before.Phase = turn.Idle
	}
	if e.AppendEarly != 0 && e.AppendEarly != after.Seq || !same(before, after) || len(e.Actions)+len(e.Settles)+len(e.Notices) > 0 {
		return fmt.Errorf("a change that came early changed %+v to %+v", before, after)
	}
	return nil
}

// silenceIsAnEnd: where the responder chooses not to reply, what it saw is closed, nothing is
// sent, and its turn has ended without a reply.
func silenceIsAnEnd(w *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	g, ok := event.(turn.Generated)
	if !ok || g.Parts > 0 || e.AppendReply == 0 {
		return nil
	}
	ended := slices.ContainsFunc(e.Notices, func(n turn.Notice) bool {
		return n.Kind == turn.KindTurnEnded && n.Turn == before.Turn && n.Reason == string(turn.EndedSilent)
	})
	if !ended || after.Lease.Nonce != "" && after.Lease == before.Lease {
		return fmt.Errorf("a reply of nothing left this: %+v, and told that it ended: %v", after, ended)
	}
	for _, m := range w.ledger.waiting(before.Answered) {
		saw := slices.Contains(w.ledger.prompt, sight{m.id, m.version})
		closed := slices.ContainsFunc(e.Settles, func(s turn.Settle) bool {
			return s.Status == turn.InputClosed && s.From < m.version && m.version <= s.Through
		})
		if saw != closed {
			return fmt.Errorf("a reply of nothing saw %s: %v, and closed it: %v", m.id, saw, closed)
		}
	}
	return nil
}

// nothingFollowsTheCut: once a person has said something, the part that is on its way
// is the last one.
func nothingFollowsTheCut(_ *world, before turn.Record, _ turn.Event, _ turn.Record, e turn.Effects) error {
	for _, action := range e.Actions {
		send, ok := action.(turn.Send)
		if ok && before.Reply != nil && before.Reply.Cut != "" && send.Reply.Seq == before.Reply.Seq && send.Reply.Done > before.Reply.Done {
			return fmt.Errorf("part %d is sent after the cut", send.Reply.Done)
		}
	}
	return nil
}

// stopWordClosesItsSenders: a stop word closes all that its sender has waiting, and
// nobody else's message. What a reply on its way answers is left to that.
func stopWordClosesItsSenders(w *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	if _, ok := event.(turn.StopWord); !ok || !e.Changed || e.Outcome == turn.AsContext {
		return nil
	}
	for _, m := range w.ledger.waiting(0) {
		closed := slices.ContainsFunc(e.Settles, func(s turn.Settle) bool {
			return s.Status == turn.InputClosed && s.From < m.version && m.version <= s.Through
		})
		if r := after.Reply; closed && r != nil && r.Kind == turn.ReplyAnswer && r.From < m.version && m.version <= r.Through {
			return fmt.Errorf("%s is closed, and a reply on its way covers it", m.id)
		}
		left := before.Reply != nil && m.version <= before.Reply.Through
		if left && before.Reply.Settled != 0 {
			continue // a person has settled the rest: if the reply is taken back, all that it covers is closed
		}
		if closed && m.sender != w.ledger.sender || !closed && !left && m.sender == w.ledger.sender && m.version > before.Answered {
			return fmt.Errorf("%s by %q is closed: %v", m.id, m.sender, closed)
		}
	}
	return nil
}

// holdsEndWhenTheyMay: a pause of people ends with a resume or in time, that of an
// opt-out with a resume or an opt-in.
func holdsEndWhenTheyMay(w *world, before turn.Record, event turn.Event, after turn.Record, _ turn.Effects) error {
	_, resumed := event.(turn.Resume)
	_, optedIn := event.(turn.OptIn)
	inTime := before.PausedUntil != 0 && w.now >= before.PausedUntil
	switch {
	case before.WithPeople && !after.WithPeople && !resumed && !inTime:
		return errors.New("a pause of people ended before its time")
	case before.OptedOut && !after.OptedOut && !resumed && !optedIn:
		return errors.New("the pause of an opt-out ended by itself")
	case before.OnHold && !after.OnHold && (after.WithPeople || after.OptedOut):
		return errors.New("a pause ended beside another one")
	}
	return nil
}

// besideLeavesTheTurns: a reply that closes nothing leaves what waits, and the work under
// way, as it is. Only a pause that comes with it does not.
func besideLeavesTheTurns(_ *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	h, ok := event.(turn.HumanReply)
	if !ok || !h.Beside || h.PauseFor > 0 || !e.Changed {
		return nil
	}
	same := after.Turn == before.Turn && after.Answered == before.Answered && after.Pending == before.Pending && after.Lease == before.Lease
	if !same || len(e.Settles)+len(e.Actions) > 0 {
		return fmt.Errorf("a reply beside the turns changed %+v to %+v", before, after)
	}
	working := before.Phase == turn.Generating || before.Phase == turn.Sending
	if working && (after.Phase != before.Phase || !reflect.DeepEqual(after.Reply, before.Reply)) {
		return fmt.Errorf("a reply beside the turns touched work under way: %+v became %+v", before, after)
	}
	return nil
}

// sentIsNotSentAgain: a reply that was sent elsewhere is recorded as sent, and never
// handed to the channel. And a pause that comes with a reply ends none that lasts longer.
func sentIsNotSentAgain(_ *world, before turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	h, ok := event.(turn.HumanReply)
	if !ok || !e.Changed {
		return nil
	}
	settled := slices.ContainsFunc(e.Marks, func(m turn.Mark) bool { return m.Seq == e.AppendReply && m.Status == turn.ReplySent })
	waits := slices.ContainsFunc(append(current(after), after.Queue...), func(r turn.Reply) bool { return r.Seq == e.AppendReply })
	shorter := before.WithPeople && (before.PausedUntil == 0) != (after.PausedUntil == 0) || after.PausedUntil < before.PausedUntil
	switch {
	case settled != h.Sent || waits == h.Sent:
		return fmt.Errorf("reply %d counts as sent: %v, and waits to be sent: %v", e.AppendReply, settled, waits)
	case h.PauseFor > 0 && shorter || h.PauseFor > 0 && !after.OnHold:
		return fmt.Errorf("the pause until %s became one until %s", moment(before.PausedUntil), moment(after.PausedUntil))
	case h.Claims != (e.AppendClaim == after.Seq), h.Claims != (e.AppendClaim > e.AppendReply):
		return fmt.Errorf("the id of reply %d is claimed by entry %d of %d", e.AppendReply, e.AppendClaim, after.Seq)
	}
	return nil
}

// againChangesNothing: the same event of a lease holder, on the record that it
// made, changes no more. Renewing sets the same expiry once more.
func againChangesNothing(w *world, _ turn.Record, event turn.Event, after turn.Record, e turn.Effects) error {
	_, isResult := nonceOf(event)
	look, isWake := event.(turn.Wake)
	tookLease := isWake && look.Nonce == after.Lease.Nonce
	if !isResult && !tookLease || !e.Changed {
		return nil
	}
	again, repeated := turn.Step(after, event, w.now, w.policy)
	if !same(again, after) || repeated.AppendReply != 0 || len(repeated.Settles) > 0 {
		return fmt.Errorf("applied again it changed the record to %+v", again)
	}
	if tookLease && !sameWork(e.Actions, repeated.Actions) {
		return fmt.Errorf("applied again it asks for %+v, not for %+v", repeated.Actions, e.Actions)
	}
	return nil
}

// sameWork compares what is to be done, cancels of lost attempts aside.
func sameWork(first, again []turn.Action) bool {
	for len(first) > len(again) {
		first = first[1:]
	}
	return reflect.DeepEqual(first, again)
}

// ledgerLaws hold between the record and the transcript after each step.
var ledgerLaws = []func(*ledger, turn.Record) error{
	pendingIsCounted,
	newerIsCounted,
	asideIsCounted,
	bytesAreCounted,
	repliesAreOnTheirWay,
	answersAreReplies,
	unconfirmedAreRemembered,
}

// pendingIsCounted: the record counts what waits, its mark lies before all of
// it, and an idle conversation has nothing left.
func pendingIsCounted(l *ledger, r turn.Record) error {
	waiting := l.waiting(r.Answered)
	if len(waiting) != r.Pending {
		return fmt.Errorf("%d messages wait, the record says %d", len(waiting), r.Pending)
	}
	for _, m := range waiting {
		if m.seq <= r.AfterSeq {
			return fmt.Errorf("%s waits at sequence %d, before the mark %d", m.id, m.seq, r.AfterSeq)
		}
	}
	for _, m := range l.waiting(0) {
		if m.version <= r.Answered {
			return fmt.Errorf("%s is pending, but lies before %d", m.id, r.Answered)
		}
	}
	return nil
}

// newerIsCounted: so are the messages that the work under way has not seen, and
// the attachments that the next window waits for. A message that an attempt has seen
// without its attachment has been waited for, also where the reply leaves it out.
func newerIsCounted(l *ledger, r turn.Record) error {
	newer, media := 0, 0
	beside := r.Reply != nil && (r.Reply.Kind == turn.ReplyBeside || r.Reply.Kind == turn.ReplyResend)
	if !beside { // which shows nothing to an attempt
		l.tried = max(l.tried, r.Attempt.Through)
	}
	for _, m := range l.waiting(r.Answered) {
		if m.version > r.Attempt.Through {
			newer++
		}
		if m.media && m.version > l.tried {
			media++
		}
	}
	busy := r.Phase == turn.Generating || r.Phase == turn.Sending
	if busy && newer != r.Attempt.Newer {
		return fmt.Errorf("%d messages are newer than the work under way, the record says %d", newer, r.Attempt.Newer)
	}
	if (busy || r.Phase == turn.Collecting) && media != r.Window.Media {
		return fmt.Errorf("%d messages wait for an attachment, the record says %d", media, r.Window.Media)
	}
	return nil
}

// asideIsCounted: the record knows how many messages a requeue would bring back.
// What a human has closed lies before them.
func asideIsCounted(l *ledger, r turn.Record) error {
	a, count := r.SetAside, 0
	if a == nil {
		return nil
	}
	for _, m := range l.messages {
		if m.status != turn.InputFailed || m.version <= a.Answered {
			continue
		}
		count++
		if m.version > a.Through || m.seq <= a.AfterSeq {
			return fmt.Errorf("%s was set aside, and no requeue would bring it back: %+v", m.id, *a)
		}
	}
	if count != a.Pending {
		return fmt.Errorf("%d messages are set aside, the record says %d", count, a.Pending)
	}
	return nil
}

// bytesAreCounted: the record knows the size of what waits, of what is newer than the work
// under way, and of what was set aside.
func bytesAreCounted(l *ledger, r turn.Record) error {
	waiting, newer, aside := 0, 0, 0
	for _, m := range l.waiting(r.Answered) {
		waiting += m.bytes
		if m.version > r.Attempt.Through && (r.Phase == turn.Generating || r.Phase == turn.Sending) {
			newer += m.bytes
		}
	}
	for _, m := range l.messages {
		if r.SetAside != nil && m.status == turn.InputFailed {
			aside += m.bytes
		}
	}
	if waiting != r.PendingBytes || newer != r.Attempt.NewerBytes || r.SetAside != nil && aside != r.SetAside.Bytes {
		return fmt.Errorf("%d bytes wait, %d are newer and %d are set aside; the record says otherwise: %+v", waiting, newer, aside, r)
	}
	return nil
}

// repliesAreOnTheirWay: the committed replies that are not settled are those
// that the record knows.
func repliesAreOnTheirWay(l *ledger, r turn.Record) error {
	known := map[int64]bool{}
	for _, reply := range append(current(r), r.Queue...) {
		known[reply.Seq] = true
	}
	for seq, reply := range l.replies {
		if (reply.status == turn.ReplyCommitted) != known[seq] {
			return fmt.Errorf("reply %d is %s, the record says on its way: %v", seq, reply.status, known[seq])
		}
	}
	return nil
}

// answersAreReplies: what counts as answered was in the prompt of a reply that
// reached the person, as far as anybody knows, or a human saw to it.
func answersAreReplies(l *ledger, _ turn.Record) error {
	for _, m := range l.messages {
		if m.status != turn.InputAnswered {
			continue
		}
		r := l.replies[m.by]
		switch {
		case r == nil:
			return fmt.Errorf("%s is answered by no reply", m.id)
		case r.kind == turn.ReplyHuman:
		case r.again && r.status == turn.ReplyCommitted:
		case r.status == turn.ReplyFailed && slices.Contains(r.receipts, turn.ReceiptFailed): // as its channel said later
		case r.status != turn.ReplySent && r.status != turn.ReplyPartial && r.status != turn.ReplyUnknown:
			return fmt.Errorf("%s is answered by reply %d, which is %s", m.id, r.seq, r.status)
		case !r.saw(m):
			return fmt.Errorf("%s is answered by reply %d, whose prompt held %v", m.id, r.seq, r.prompt)
		}
	}
	return nil
}

const mostUnconfirmed = 8

// unconfirmedAreRemembered: a reply that is not certain to have arrived stays known
// until somebody has seen to it, as far as there is room, and no other does.
func unconfirmedAreRemembered(l *ledger, r turn.Record) error {
	known := map[int64]turn.Status{}
	for _, t := range r.Unconfirmed {
		known[t.Seq] = t.Status
	}
	for seq, reply := range l.replies {
		answers := reply.kind == turn.ReplyHuman || reply.kind == turn.ReplyBeside || l.answers(seq)
		unconfirmed := reply.status == turn.ReplyUnknown || reply.status == turn.ReplyPartial && !reply.cut || reply.status == turn.ReplyFailed
		if known[seq] != "" && reply.cut {
			return fmt.Errorf("reply %d was cut on purpose, and somebody is told", seq)
		}
		if known[seq] != "" && known[seq] != reply.status {
			return fmt.Errorf("reply %d is %s, the record says %s", seq, reply.status, known[seq])
		}
		switch {
		case !unconfirmed || !answers || known[seq] != "" || l.forgotten[seq]:
		case l.full && (seq == l.oldest || l.oldest == 0):
			l.forgotten[seq] = true
		default:
			return fmt.Errorf("reply %d is %s, and nobody is told", seq, reply.status)
		}
	}
	l.full, l.oldest = len(r.Unconfirmed) == mostUnconfirmed, 0
	for _, t := range slices.Backward(r.Unconfirmed) {
		if !t.Resend {
			l.oldest = t.Seq
		}
	}
	return nil
}

// answers reports whether a message counts as answered by the reply.
func (l *ledger) answers(seq int64) bool {
	for _, m := range l.messages {
		if m.status == turn.InputAnswered && m.by == seq {
			return true
		}
	}
	return false
}

func (r *reply) saw(m *message) bool {
	for _, s := range r.prompt {
		if s == (sight{m.id, m.version}) {
			return true
		}
	}
	return false
}
