package turn

// The invariants of a record.
//
// The rules below are the other half of the specification: step.go says how a
// record changes, these say what it always is. The last one carries the most
// weight: there is work if and only if there is a wake-up. Because of it, a store
// that keeps its timers true can never strand a message, and an idle conversation
// costs nothing.

import "fmt"

// Check reports what is wrong with a record, or nil. It holds for every record
// that [Step] returns, under any policy; stores, the explorer and the doctor
// use it to prove that they never meet another one.
func Check(r Record) error {
	if !r.Exists() {
		return nil
	}
	for _, rule := range rules {
		if !rule.holds(r) {
			return fmt.Errorf("a conversation in phase %q breaks the rule that %s", r.Phase, rule.text)
		}
	}
	return nil
}

var rules = []struct {
	text  string
	holds func(Record) bool
}{
	{"answered is between 0 and the version", func(r Record) bool { return 0 <= r.Answered && r.Answered <= r.Version }},
	{"messages newer than the attempt are among those that wait", func(r Record) bool { return 0 <= r.Attempt.Newer && r.Attempt.Newer <= r.Pending }},
	{"bytes wait only with their messages", func(r Record) bool {
		return 0 <= r.Attempt.NewerBytes && r.Attempt.NewerBytes <= r.PendingBytes && (r.PendingBytes == 0 || r.Pending > 0)
	}},
	{"counts are not negative", func(r Record) bool {
		return r.Window.Media >= 0 && r.Tries.Attempts >= 0 && r.Tries.Discards >= 0 && r.Tries.Outages >= 0 && r.Tries.Runs >= 0 && r.Bots.Count >= 0
	}},
	{"the pending inputs begin behind a sequence that was given out", func(r Record) bool { return 0 <= r.AfterSeq && r.AfterSeq <= r.Seq }},
	{"the mark of the last reset was given out", func(r Record) bool { return 0 <= r.FreshAfter && r.FreshAfter <= r.Seq }},
	{"an alias holds nothing but the conversation it leads to", func(r Record) bool {
		bare := r.Version == 0 && r.Seq == 0 && r.Pending == 0 && r.Reply == nil && !r.OnHold
		return (r.Phase == Alias) == (r.LeadsTo != "") && (r.LeadsTo == "" || bare)
	}},
	{"a budget refuses nothing before something was spent", func(r Record) bool { return r.Spent.Refused == 0 || r.Spent.Calls > 0 || r.Spent.Tokens > 0 }},
	{"a duty has a holder and an end", func(r Record) bool { return r.Duty == Duty{} || r.Duty.Nonce != "" && r.Duty.Until > 0 }},
	{"the ids of parts are bounded", func(r Record) bool { return len(r.SentParts) <= MaxSentParts }},
	{"names are bounded", func(r Record) bool {
		return len(r.Names.Aliases) <= MaxAliases && len(r.Names.Dropped) <= MaxAliases
	}},
	{"an idle conversation has nothing that waits", func(r Record) bool {
		return r.Phase != Idle || r.Pending == 0 && r.Answered == r.Version
	}},
	{"collecting needs something that waits", func(r Record) bool { return r.Phase != Collecting || r.Pending > 0 }},
	{"an interrupted window has something that waits", func(r Record) bool { return !r.windowInterrupted() || r.Pending > 0 }},
	{"generating needs something that waits, or a seal", func(r Record) bool {
		return r.Phase != Generating || r.Pending > 0 || r.Attempt.Sealed
	}},
	{"only a sealed attempt outlives a pause", func(r Record) bool { return r.Phase != Generating || !r.OnHold || r.Attempt.Sealed }},
	{"a conversation that people or an opt-out paused is on hold", func(r Record) bool { return r.OnHold || !r.WithPeople && !r.OptedOut }},
	{"only a pause of people ends by itself", func(r Record) bool { return r.PausedUntil == 0 || r.WithPeople }},
	{"a failed turn has something that waits or was set aside", func(r Record) bool {
		return r.Phase != Failed || r.Pending > 0 || r.SetAside != nil
	}},
	{"the edits kept for missing messages are bounded", func(r Record) bool { return len(r.Early) <= MaxEarly }},
	{"a set-aside holds at least one message", func(r Record) bool { return r.SetAside == nil || r.SetAside.Pending > 0 }},
	{"an attempt runs under a lease", func(r Record) bool { return r.Phase != Generating || r.Lease.Nonce != "" }},
	{"a lease guards an attempt or a reply", func(r Record) bool {
		return r.Lease == Lease{} || r.Phase == Generating || r.Phase == Sending
	}},
	{"a lease has the last token and an expiry", func(r Record) bool {
		return r.Lease == Lease{} || r.Lease.Nonce != "" && r.Lease.Token == r.Token && r.Lease.Expires > 0
	}},
	{"there is a reply if and only if it is being sent", func(r Record) bool { return (r.Reply != nil) == (r.Phase == Sending) }},
	{"a reply has parts left to send", func(r Record) bool {
		return r.Reply == nil || 0 <= r.Reply.Done && r.Reply.Done < r.Reply.Parts
	}},
	{"replies wait only behind work", func(r Record) bool {
		return len(r.Queue) == 0 || r.Phase == Sending || r.Phase == Generating && !r.answersQueued()
	}},
	{"a window ends at a definite moment", func(r Record) bool {
		return r.Phase != Collecting || r.Window.Due >= r.Window.Start && r.Window.Due > 0
	}},
	{"an early start lies before the end of the window", func(r Record) bool {
		return r.Phase != Collecting || r.Window.Early < r.Window.Due
	}},
	{"there is work if and only if there is a wake-up", func(r Record) bool {
		_, wakes := r.Wake()
		return wakes == r.hasWork()
	}},
}

// hasWork is what must end in something without anybody's help: inputs that
// wait, unless their turn was given up or a human has them; a reply that may
// go out; whatever is under a lease; and a pause that ends by itself.
func (r Record) hasWork() bool {
	waiting := r.Pending > 0 && !r.OnHold && r.Phase != Failed
	return waiting || r.Reply != nil && r.mayBeSent() || r.Lease.Nonce != "" || r.PausedUntil != 0
}
