package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// seededFault is the shipped engine with one fault put in on purpose, to show that
// somebody notices. The zero one is the engine as it ships. None
// touches the shipped code: each changes what goes into the core or comes out of
// it, the store, or the runtime of the simulation.
type seededFault struct {
	name  string
	check string // the one that is to see it
	calm  bool   // nothing else breaks
	needs []What // the kinds of faults that bring it out; nil: all kinds, as in any run
	step  func(engine.Step) engine.Step
	flaws flaws
}

// flaws are faults of the store and of the runtime.
type flaws struct {
	plainWrites        bool // a write is applied whatever is there
	idleUnchecked      bool // so is one that goes idle
	renewUnchecked     bool // so is a renewal
	coversAtCommit     bool // what a reply covers is computed at its commit
	timerOverwritten   bool // the end of a turn overwrites the timer
	wallClock          bool // leases by the local wall clock
	noClaims           bool // nobody looks for timers that nobody acts on
	claimsAreLost      bool // a claim that dies never comes back
	unknownIsApplied   bool // a write of unknown outcome is taken for applied
	opIgnored          bool // one's own write is taken for another's
	dedupeAfterBump    bool // a repeated id is found after the version grew
	staleFireClears    bool // a wake-up that lost the race deletes the timer
	promptUnbounded    bool // nobody counts the bytes of a prompt
	promptReadLate     bool // the prompt is what waits when the model is called
	sendsWait          bool // sends wait in a queue, and nobody looks at the lease again
	deadlineIgnored    bool // sends are not cut off when the lease ends
	retriesBlindly     bool // an unknown send is tried again at once
	attemptID          bool // the reply's id names the attempt
	ackBeforeWrite     bool // people are told before it is durable
	saysBeforeWrite    bool // so are those who reply by hand
	settlesAll         bool // the end of a turn settles whatever waits
	stopsIgnored       bool // calls of the model are not told to stop
	ticksLate          bool // timers fire a minute late
	ticksWithoutEnd    bool // timers fire again and again
	answersLost        bool // who repeats a message is never answered
	pauseOfOne         bool // a pause for the whole bot is reported as one for a conversation
	timeoutIsCertain   bool // a send that timed out is reported as one that certainly failed
	timerStays         bool // a timer is not cleared
	deletesAnother     bool // a deletion takes another conversation with it
	partUnderPause     bool // the next part of a reply goes out under a pause
	textsMixed         bool // the second message of a batch gets the text of the first
	deletedComesBack   bool // the end of a turn brings back a message that its author deleted
	idsOfBot           bool // ids are claimed for all conversations
	idsStay            bool // ids stay claimed after a deletion
	leaseTimerLate     bool // the timer of a lease is set late
	claimsLate         bool // timers are claimed late
	historyTellsAll    bool // the history tells of all replies as if they were sent
	historyHidesClosed bool // the history tells of no message that nobody answered
	historyEmpty       bool // the history tells of nothing
	historyTellsErased bool // the history tells of messages that their authors erased
	erasedStays        bool // the store keeps the text of a message that its author erased
	refused            bool // a write that the store's contract forbids
	hintUnchecked      bool // a write is applied over whatever is there, where it expects what a conflict named
	guessUnchecked     bool // so is one that expects no record
	appliedTwice       bool // a conflict names the record as the write in vain would have left it
	aliasHidden        bool // a conflict shows the record of an alias as an empty one
	idsOfName          bool // ids are claimed for each name of a conversation
	editsUndated       bool // nobody looks when an edit was made
	claimsForgotten    bool // a deletion that comes before its message claims no id
	doneBeforeStored   bool // a platform is told that messages are done before they are stored
	calmAtOnce         bool // a process that was just started counts as calm
	claimedByNobody    bool // a conflict says that all ids of the write were claimed before
}

func (v seededFault) wrap(step engine.Step) engine.Step {
	if v.step == nil {
		return step
	}
	return v.step(step)
}

// changeWrite changes a write on its way out of the engine.
func (v seededFault) changeWrite(n *node, write *store.Write) {
	if v.flaws.coversAtCommit {
		for i := range write.Append {
			if e := &write.Append[i]; e.Kind == store.Reply && e.Author == "" {
				e.Covers = nil
				for _, m := range n.ledger.waiting(write.Key) {
					e.Covers = append(e.Covers, m.ID)
				}
			}
		}
	}
}

// changeAtStore changes a write as it reaches the store.
func (v seededFault) changeAtStore(n *node, write *store.Write, before store.Snapshot) {
	renewal := before.Record.Lease.Nonce != "" && before.Record.Lease.Nonce == write.Record.Lease.Nonce && len(write.Append) == 0
	idle := write.Record.Phase == turn.Idle && len(write.Append) == 0
	if hinted, ok := n.hinted[write.Key]; v.flaws.hintUnchecked && ok && hinted == write.Expect {
		write.Expect = before.Op
	}
	if v.flaws.guessUnchecked && write.Expect.IsZero() {
		write.Expect = before.Op
	}
	if v.flaws.plainWrites || v.flaws.renewUnchecked && renewal || v.flaws.idleUnchecked && idle {
		write.Expect = before.Op
	}
	for i := range write.Settle {
		if v.flaws.settlesAll {
			write.Settle[i].Through = write.Record.Version
		}
	}
	if v.flaws.partUnderPause && write.Record.PauseReason != "" {
		write.Record.OnHold = true
	}
	if v.flaws.leaseTimerLate && write.Record.Lease.Nonce != "" {
		write.Timer = write.Timer.Add(20 * time.Second)
	}
	if v.flaws.textsMixed && len(write.Append) > 1 && write.Append[1].Kind == store.Message {
		write.Append[1].Text = write.Append[0].Text
	}
	if v.flaws.deletedComesBack && write.Record.Phase == turn.Idle {
		for _, e := range n.entries(write.Key, store.EntryQuery{Status: turn.InputDeleted}) {
			e.Text, e.Status = said(write.Key, e.ID), turn.InputClosed
			n.restore(write.Key, e)
		}
	}
	for i := range write.Change {
		if e := &write.Change[i]; v.flaws.erasedStays && e.Reason == string(turn.Erased) {
			e.Text = said(write.Key, e.ID)
		}
	}
	if v.flaws.claimsForgotten {
		write.Append = slices.DeleteFunc(write.Append, store.Entry.IsClaim)
	}
	if v.flaws.refused && len(write.Append) > 1 {
		write.Append[1].Seq = write.Append[0].Seq
	}
	if v.flaws.timerOverwritten && before.Record.Phase == turn.Sending && write.Record.Phase == turn.Collecting {
		write.Timer = 0
	}
}

// changeConflict changes what a conflict says.
func (v seededFault) changeConflict(result *store.Result, write store.Write) {
	if v.flaws.aliasHidden {
		result.Current.Record.Phase, result.Current.Record.LeadsTo = turn.Idle, ""
	}
	if v.flaws.appliedTwice {
		result.Current.Record = write.Record
	}
	for _, e := range write.Append {
		if v.flaws.claimedByNobody && e.Kind == store.Message {
			result.Duplicates = append(result.Duplicates, e.ID)
		}
	}
}

// replyID is what the channel is told.
func (v seededFault) replyID(o engine.Send, e store.Entry) string {
	if v.flaws.attemptID {
		return fmt.Sprintf("%s/%d", e.ID, o.Lease.Token)
	}
	return e.ID
}

// wronglyClaimed are the ids of a write that the flawed store takes for repeated.
func (v seededFault) wronglyClaimed(n *node, write store.Write) []string {
	var ids []string
	for _, e := range write.Append {
		other := v.flaws.idsOfBot && n.elsewhere(write.Key, e.ID) || v.flaws.idsStay && slices.Contains(n.ledger.erased[write.Key], e.ID)
		if e.Kind == store.Message && other {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// elsewhere reports whether another conversation has a message of this id.
func (w *world) elsewhere(key store.Key, id string) bool {
	for conversation := range w.conversations {
		if k := w.key(conversation); k != key && len(w.entries(k, store.EntryQuery{ID: id, Limit: 1})) > 0 {
			return true
		}
	}
	return false
}
