package maintenance

import (
	"fmt"
	"slices"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Rule is the name of a rule that a finding breaks. Programs find it in the JSON output.
type Rule string

// The rules.
const (
	Record   Rule = "record"   // it can be read, and turn.Check holds
	Timer    Rule = "timer"    // the timer is the record's wake-up, or was moved by a claim
	Lease    Rule = "lease"    // a lease has a nonce, the last token and an expiry
	Pending  Rule = "pending"  // the record counts the messages that wait, and each will be answered
	Versions Rule = "versions" // no entry is newer than the record
	Replies  Rule = "replies"  // what is to be sent is in the transcript, and the other way round
	Covers   Rule = "covers"   // a message is answered by one reply, and by one that covers it
	Copied   Rule = "copied"   // a copy of the conversation was finished
	Lost     Rule = "lost"     // a conversation that the store knows of has a record
)

// Problem is one rule that a conversation breaks, with the facts for a person. A rule is
// reported once for a conversation, with the first place that breaks it.
type Problem struct {
	Rule Rule
	Text string
}

// claimSlack is how much later than now a claimed timer may be: a node claims
// for five seconds, and its idea of the store's clock may be a little off.
const claimSlack = 10 * time.Second

// state is what is known of one conversation. The rules are pure functions of it, so a
// repair can be judged by the same rules before it is written.
type state struct {
	lost       bool // there is no record
	record     turn.Record
	timer      turn.Time // 0: none
	now        turn.Time // of the store, read after the timer
	transcript transcript
}

// examine returns what is wrong with a conversation. Where the record is lost, or stands
// for an unfinished copy, no other rule says anything: all would be broken.
func examine(s state) []Problem {
	if s.lost {
		return []Problem{{Lost, lostText(s)}}
	}
	if isCopying(s.record) {
		return []Problem{{Copied, "a copy of this conversation was interrupted: run onereply copy again, with --resume"}}
	}
	var found []Problem
	for _, rule := range []struct {
		name  Rule
		check func(state) string
	}{
		{Record, checkRecord}, {Lease, checkLease}, {Timer, checkTimer}, {Pending, checkPending},
		{Versions, checkVersions}, {Replies, checkReplies}, {Covers, checkCovers},
	} {
		if text := rule.check(s); text != "" {
			found = append(found, Problem{rule.name, text})
		}
	}
	return found
}

// lostText says what is left of a conversation whose record was evicted, or deleted
// by somebody. What it meant can't be told from that: which messages a reply was
// under way for, or how often it was tried.
func lostText(s state) string {
	return fmt.Sprintf("its record is lost, and %d entries are left, %d of them messages that wait: save what you need of them and delete the conversation; until then it takes no messages",
		s.transcript.size, len(s.transcript.pending))
}

// checkRecord applies the invariants of package turn, which hold for every record that a
// node writes. The other rules go on from there: they compare the record with
// the timer and with the transcript, which package turn does not see.
func checkRecord(s state) string {
	if err := turn.Check(s.record); err != nil {
		return err.Error()
	}
	return ""
}

// checkLease refuses a lease that does not do its work. Without an expiry it would bind
// the conversation for ever; with another nonce or token its holder could not be fenced.
func checkLease(s state) string {
	lease := s.record.Lease
	switch {
	case lease == turn.Lease{}:
		return ""
	case lease.Expires <= 0:
		return fmt.Sprintf("the lease of %q has no expiry, so nobody would ever take over", lease.Holder)
	case lease.Nonce == "" || lease.Token != s.record.Token:
		return fmt.Sprintf("the lease of %q is not one that was given out", lease.Holder)
	}
	return ""
}

// checkTimer compares the timer with the record's wake-up. A claim moves a
// timer that is due a few seconds ahead of now, and nothing else moves one. So a timer
// may be later than the wake-up, up to a claim's time from now, and never earlier.
func checkTimer(s state) string {
	wake, works := s.record.Wake()
	switch {
	case !works && s.timer == 0:
		return ""
	case !works:
		return "there is a timer and nothing to do"
	case s.timer == 0:
		return "there is work and no timer: nobody would ever look"
	case s.timer == wake:
		return ""
	case s.timer < wake:
		return fmt.Sprintf("the timer is %v before the wake-up", wake.Sub(s.timer))
	case s.timer > s.now.Add(claimSlack):
		return fmt.Sprintf("the timer is %v after the wake-up", s.timer.Sub(wake))
	}
	return ""
}

// checkPending compares the record's count with the messages that wait. A wrong count can
// be counted again. A stranded message can't be mended: to answer it or to close it is a
// decision.
func checkPending(s state) string {
	waiting := s.transcript.waiting(s.record)
	switch {
	case waiting != s.record.Pending:
		return fmt.Sprintf("the record counts %d waiting messages, the transcript has %d", s.record.Pending, waiting)
	case s.transcript.stranded(s.record):
		return "a message waits that the record takes for settled: nobody would ever answer it"
	}
	return ""
}

// checkVersions looks for entries that the record does not know of. One write makes an
// entry and the record that counts it, so no entry can be newer than the record.
func checkVersions(s state) string {
	switch {
	case s.transcript.lastVersion > s.record.Version:
		return fmt.Sprintf("an entry has version %d, the record %d", s.transcript.lastVersion, s.record.Version)
	case s.transcript.lastSeq() > s.record.Seq:
		return fmt.Sprintf("an entry has sequence %d, the record %d", s.transcript.lastSeq(), s.record.Seq)
	}
	return ""
}

// checkReplies compares what the record says is to be sent with the transcript, in both
// directions: a reply that is to be sent has its text there, and a committed reply there
// is one that the record will send. Retention keeps committed replies, so none is
// missing because it is old.
func checkReplies(s state) string {
	unsent := map[int64]bool{}
	for _, reply := range underWay(s.record) {
		unsent[reply.Seq] = true
		n, found := s.transcript.bySeq[reply.Seq]
		if !found {
			return fmt.Sprintf("the reply of turn %d is to be sent and is not in the transcript", reply.Turn)
		}
		if r := s.transcript.replies[n]; r.status != turn.ReplyCommitted {
			return fmt.Sprintf("the reply %q is to be sent and has status %s", r.id, r.status)
		}
	}
	for _, r := range s.transcript.replies {
		if r.status == turn.ReplyCommitted && !unsent[r.seq] {
			return fmt.Sprintf("the reply %q was committed and nobody will send it", r.id)
		}
	}
	return ""
}

// underWay are the replies that are being sent or wait for it, in that order.
func underWay(r turn.Record) []turn.Reply {
	if r.Reply == nil {
		return r.Queue
	}
	return append([]turn.Reply{*r.Reply}, r.Queue...)
}

// checkCovers reads from the transcript alone whether each message has one
// reply: what people saw. It trusts nothing in the record.
//
// A covered message may be missing because retention has removed it. So missing ones
// are a problem only where they are more than the entries that can have been removed
// before the reply.
func checkCovers(s state) string {
	sent := map[string][]replyFact{} // by message
	for n, r := range s.transcript.replies {
		unknown := 0
		for i, id := range r.covers {
			if slices.Contains(r.covers[:i], id) {
				return fmt.Sprintf("the reply %q covers the message %q twice", r.id, id)
			}
			if _, found := s.transcript.covered(r, id); !found {
				unknown++
			} else if r.status == turn.ReplySent {
				sent[id] = append(sent[id], r)
			}
		}
		if unknown > 0 && unknown > s.transcript.gone(n) {
			return fmt.Sprintf("the reply %q covers a message that was never accepted before it", r.id)
		}
	}
	for id, m := range s.transcript.messages {
		if text := checkAnswer(s.transcript, id, m, sent[id]); text != "" {
			return text
		}
	}
	return ""
}

// checkAnswer looks at one message. It has a second reply only where it was
// edited after the first one had been made, or where the first was committed for what
// it saw although the edit was there.
func checkAnswer(t transcript, id string, m messageFact, sent []replyFact) string {
	for i := 0; i+1 < len(sent); i++ {
		afresh := m.editedAt != 0 && (sent[i].late || m.editedAt >= sent[i].at)
		if !afresh {
			return fmt.Sprintf("the message %q is covered by two sent replies, %q and %q", id, sent[i].id, sent[i+1].id)
		}
	}
	if n, found := t.bySeq[m.replySeq]; found && m.status == turn.InputAnswered && !slices.Contains(t.replies[n].covers, id) {
		return fmt.Sprintf("the message %q counts as answered by the reply %q, which does not cover it", id, t.replies[n].id)
	}
	return ""
}

// wakeUp is the timer that belongs to a record, 0 for none.
func wakeUp(r turn.Record) turn.Time {
	at, works := r.Wake()
	if !works {
		return 0
	}
	return at
}

// Finding is a problem of one conversation, and whether it was repaired.
type Finding struct {
	Bot          string `json:"bot"`
	Conversation string `json:"conversation"`
	Rule         Rule   `json:"rule"`
	Problem      string `json:"problem"`
	Repaired     bool   `json:"repaired"`
	Left         string `json:"left,omitempty"` // why it was not repaired, where that was tried
}

// findingsOf names the conversation in each of its problems.
func findingsOf(key store.Key, problems []Problem) []Finding {
	findings := make([]Finding, len(problems))
	for i, p := range problems {
		findings[i] = Finding{Bot: key.Bot, Conversation: key.Conversation, Rule: p.Rule, Problem: p.Text}
	}
	return findings
}
