package explore

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// seeded is a fault put in on purpose: in the core, as a wrapper around
// turn.Step, or in the world around it.
type seeded struct {
	name   string
	check  string // the check that must see it
	step   StepFunc
	flaws  flaws
	change func(*Scope) // what the scope needs for it to show
}

// faultScope is where the seeded faults are looked for.
func faultScope() Scope {
	return Scope{
		Policy: base(turn.Discard),
		Budget: Budget{Inputs: 2, Redelivered: 1, Faults: 1},
		Faults: Faults{Store: true, Worker: true, Model: true, Send: true},
	}
}

// before patches what Step is given; after patches what it returns.
func before(patch func(r *turn.Record, e *turn.Event, now *turn.Time, p *turn.Policy)) StepFunc {
	return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
		if r.Reply != nil {
			reply := *r.Reply
			r.Reply = &reply
		}
		patch(&r, &e, &now, &p)
		return turn.Step(r, e, now, p)
	}
}

func after(patch func(was turn.Record, r *turn.Record, e turn.Event, now turn.Time, p turn.Policy)) StepFunc {
	return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
		is, effects := turn.Step(r, e, now, p)
		if effects.Changed {
			if is.Reply != nil {
				reply := *is.Reply
				is.Reply = &reply
			}
			patch(r, &is, e, now, p)
		}
		return is, effects
	}
}

func seededFaults() []seeded {
	return slices.Concat(contextFaults(), coreFaults(), replyFaults(), peopleFaults(), worldFaults(), lifeFaults(), causeFaults(), talkFaults(), operatorFaults(), receiverFaults(), earlyFaults(), endingFaults(), refusalFaults(), overtakenFaults(), signFaults(), settledFaults(), nameFaults(), dutyFaults(), wayFaults(), silenceFaults(), wordFaults(), suspectFaults())
}

// earlyFaults are in what an early start may do.
func earlyFaults() []seeded {
	calm := func(s *Scope) { s.Policy, s.Budget, s.Faults = early(turn.Discard, 1), Budget{Inputs: 3}, Faults{} }
	return []seeded{
		{name: "an early attempt is committed before its window ends", check: "P2 due", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Generated); ok {
				r.Attempt.Early = false
			}
		}), change: calm},
		{name: "a replaced attempt counts as a discard", check: "P2 late", step: after(func(was turn.Record, r *turn.Record, _ turn.Event, _ turn.Time, _ turn.Policy) {
			if was.Attempt.Early && was.Phase == turn.Generating && r.Phase == turn.Collecting && r.Tries.Runs == was.Tries.Runs {
				r.Tries.Discards++
			}
		}), change: calm},
		{name: "early attempts are not counted", check: "P3 early", step: after(func(_ turn.Record, r *turn.Record, _ turn.Event, _ turn.Time, _ turn.Policy) {
			r.Tries.Early = 0
		}), change: calm},
		{name: "an early attempt that fails may fail the turn", check: "P3 cause", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.GenerateFailed); ok {
				r.Attempt.Early = false
			}
		}), change: func(s *Scope) {
			s.Policy, s.Budget, s.Faults = early(turn.Discard, 2), Budget{Inputs: 1, Faults: 1}, Faults{Model: true}
			s.Policy.Debounce = 3 * Tick
		}},
	}
}

func coreFaults() []seeded {
	return []seeded{
		{name: "the nonce of a result is not compared", check: "P5 fenced", step: before(liveNonce)},
		{name: "the version is not compared at commit", check: "P2 current", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Generated); ok {
				r.Attempt.Through, r.Attempt.ThroughSeq, r.Attempt.Newer = r.Version, r.Seq, 0
			}
		})},
		{name: "a prompt holds the newest messages that fit", check: "P2 part", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if f, ok := e.(turn.GenerateFailed); ok && f.Fault == turn.TooLarge && len(f.Waiting) > 2 {
				last := f.Waiting[len(f.Waiting)-1].Version
				r.Tries.Search.Next = turn.Part{NoHistory: true, After: f.Waiting[0].Version, Through: last, Answers: len(f.Waiting) - 1}
			}
		}), change: crammed},
		{name: "the budget is not looked at", check: "P4 bytes", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.WaitingBytes = 0 }), change: budgeted},
		{name: "what was answered still counts against the budget", check: "P4 bytes", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Sent); ok && r.Pending > 0 {
				r.PendingBytes = was.PendingBytes
			}
		}), change: budgeted},
		{name: "newer input does not discard", check: "P2 late", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.OnNewInput = turn.Finish })},
		{name: "there is no hard cap", check: "P3 hard cap", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.MaxWait = time.Hour }), change: func(s *Scope) { s.Budget.Inputs = 3 }},
		{name: "each input starts the window again", check: "P3 hard cap", step: after(windowAgain), change: func(s *Scope) { s.Budget.Inputs, s.Budget.Faults = 3, 0 }},
		{name: "the hard cap counts from the discard", check: "P3 hard cap", step: before(capFromDiscard), change: func(s *Scope) {
			s.Policy, s.Budget, s.Faults = restless(), Budget{Inputs: 4}, Faults{}
		}},
		{name: "the bound on discards is never reached", check: "P3 bound", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.MaxDiscards = 1000 }), change: func(s *Scope) { s.Policy.MaxDiscards = 0 }},
		{name: "a discard forgets the discards before it", check: "P3 bound", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if r.Tries.Discards > was.Tries.Discards {
				r.Tries.Discards = 0
			}
		}), change: func(s *Scope) { s.Budget = Budget{Inputs: 3} }},
		{name: "a wake-up does not look at the due time", check: "P2 due", step: before(func(r *turn.Record, e *turn.Event, now *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Wake); ok && r.Phase == turn.Collecting {
				r.Window.Due = min(r.Window.Due, *now)
			}
		})},
		{name: "a failed attempt is tried again at once", check: "P2 due", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, now turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.GenerateFailed); ok && r.Phase == turn.Collecting {
				r.Window.Due, r.Window.NotBefore = now, 0
			}
		})},
		{name: "a held lease is taken over", check: "P5 lease", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if wake, ok := (*e).(turn.Wake); ok {
				wake.Alone = true
				*e = wake
			}
		})},
		{name: "a reply is withdrawn after an unknown send", check: "P7 withdrawn", step: before(func(r *turn.Record, _ *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if r.Reply != nil {
				r.Reply.Unsure = false
			}
		})},
		{name: "a retry sends what was delivered again", check: "P7 once", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Sent); ok && r.Reply != nil && was.Reply != nil {
				r.Reply.Done = was.Reply.Done
			}
		}), flaws: flaws{resendDelivered: true}, change: func(s *Scope) { s.MaxParts = 2 }},
		{name: "the policy to hold is not obeyed", check: "P7 once", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.ResendUnknown = true }), change: func(s *Scope) { s.Policy.ResendUnknown = false }},
		{name: "an edit does not count as input", check: "P4 version", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Edit); ok {
				r.Version = was.Version
			}
		}), change: func(s *Scope) { s.Edits = true }},
		{name: "the end of a turn goes idle over newer input", check: "turn.Check", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Sent); ok && r.Phase == turn.Collecting {
				r.Phase, r.Window.Due = turn.Idle, 0
			}
		})},
		{name: "the end of a turn settles newer input too", check: "P3 stranded", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Sent); ok && r.Phase == turn.Collecting {
				*r = turn.Record{Schema: r.Schema, Phase: turn.Idle, Version: r.Version, Answered: r.Version, Turn: r.Turn, Token: r.Token, Seq: r.Seq, AfterSeq: r.Seq, SentParts: r.SentParts}
			}
		})},
		{name: "the mark moves past a message that was edited meanwhile", check: "P3 stranded", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Sent); ok {
				r.Attempt.Edited = false
			}
		}), change: func(s *Scope) { s.Edits = true }},
		{name: "a renewal overwrites an input", check: "P4 version", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Renew); ok && r.Phase == turn.Generating {
				r.Version, r.Pending, r.Attempt.Newer, r.Attempt.NewerSince = r.Attempt.Through, r.Pending-r.Attempt.Newer, 0, 0
			}
		})},
		{name: "a worker that was lost while it sent counts as one that did not send", check: "P7 withdrawn", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Wake); ok && was.Reply != nil && r.Reply != nil {
				r.Reply.Unsure = false
			}
		}), change: func(s *Scope) { s.Budget.Faults = 2; s.Faults.Store = false; s.Faults.Model = false }},
	}
}

// replyFaults are in what happens to a committed reply.
func replyFaults() []seeded {
	twoParts := func(s *Scope) { s.MaxParts = 2 }
	return []seeded{
		{name: "the second part goes out first", check: "P7 order", flaws: flaws{lastPartFirst: true}, change: twoParts},
		{name: "the pause between parts is not kept", check: "P7 pace", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if sent, ok := (*e).(turn.Sent); ok {
				sent.Pause = 0
				*e = sent
			}
		}), change: func(s *Scope) { s.MaxParts, s.Pace = 2, 2*Tick }},
		{name: "a reply counts as sent after its first part", check: "P7 sent", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Sent); ok && r.Reply != nil {
				r.Reply.Parts = r.Reply.Done + 1
			}
		}), change: twoParts},
		{name: "a reply that was sent settles nothing", check: "P1 one reply", step: settlesNothing, change: func(s *Scope) { s.Budget.Inputs, s.Faults.Model = 1, false }},
		{name: "a reply settles what it never saw", check: "P3 answered", step: settling(func(s *turn.Settle, r turn.Record) { s.Through = r.Version })},
		{name: "inputs are closed instead of answered", check: "P3 closed", step: settling(func(s *turn.Settle, _ turn.Record) { s.Status, s.ReplySeq = turn.InputClosed, 0 })},
		{name: "inputs are set aside after a reply", check: "P3 aside", step: settling(func(s *turn.Settle, _ turn.Record) { s.Status, s.ReplySeq = turn.InputFailed, 0 })},
		{name: "an input during a send is not counted", check: "P3 counted", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Message); ok && r.Phase == turn.Sending {
				r.Pending, r.Attempt.Newer, r.Attempt.NewerSince = was.Pending, was.Attempt.Newer, was.Attempt.NewerSince
			}
		})},
		{name: "a renewal starts the responder again", check: "P5 single flight", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			if _, ok := e.(turn.Renew); ok && is.Phase == turn.Generating && effects.Changed {
				effects.Actions = append(effects.Actions, turn.Run{Lease: is.Lease, Through: is.Attempt.Through})
			}
			return is, effects
		}},
	}
}

// settling patches what the end of a reply settles.
func settling(patch func(*turn.Settle, turn.Record)) StepFunc {
	return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
		is, effects := turn.Step(r, e, now, p)
		if _, ok := e.(turn.Sent); ok {
			for i := range effects.Settles {
				patch(&effects.Settles[i], is)
			}
		}
		return is, effects
	}
}

// settlesNothing keeps the inputs of a reply that was sent, and answers them
// again.
func settlesNothing(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
	is, effects := turn.Step(r, e, now, p)
	if _, ok := e.(turn.Sent); ok && effects.Changed && is.Reply == nil {
		effects.Settles, effects.Notices = nil, nil
		sent := is.SentParts
		is = r
		is.SentParts = sent
		is.Phase, is.Reply, is.Lease = turn.Collecting, nil, turn.Lease{}
		is.Window.Start, is.Window.Due = now, now
	}
	return is, effects
}

// outside has people reply once, in each way.
func outside(s *Scope) { s.Outside, s.Budget, s.Faults = true, Budget{Inputs: 1, Humans: 1}, Faults{} }

// peopleFaults are in what people ask for.
func peopleFaults() []seeded {
	return []seeded{
		{name: "a pause does not end the attempt", check: "turn.Check", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			if _, ok := e.(turn.Pause); ok && r.Phase == turn.Generating {
				r.OnHold = true
				return r, turn.Effects{Outcome: turn.Done, Changed: true}
			}
			return turn.Step(r, e, now, p)
		}, change: func(s *Scope) { s.Budget.Pauses = 1 }},
		{name: "the next part of a reply goes out under a pause", check: "P7 pause", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			if sent, ok := e.(turn.Sent); ok && r.OnHold && r.Reply != nil {
				r.OnHold = false
				r, effects := turn.Step(r, sent, now, p)
				r.OnHold = true
				return r, effects
			}
			return turn.Step(r, e, now, p)
		}, change: func(s *Scope) { s.Budget.Pauses, s.MaxParts = 1, 2 }},
		{name: "a wake-up starts an attempt under a pause", check: "P2 pause", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			held := r.OnHold
			if _, ok := e.(turn.Wake); ok {
				r.OnHold = false
			}
			is, effects := turn.Step(r, e, now, p)
			if held && effects.Changed {
				is.OnHold = true
			}
			return is, effects
		}, change: func(s *Scope) { s.Budget.Pauses = 1 }},
		{name: "a person's reply is stored and never queued", check: "P7 forgotten", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.HumanReply); ok && r.Reply != nil && r.Reply.Kind == turn.ReplyHuman {
				r.Phase, r.Reply, r.Answered = turn.Idle, nil, r.Version
			}
		}), change: func(s *Scope) { s.Budget.Humans = 1 }},
		{name: "a pause lets an attempt go on as if it were sealed", check: "P2 pause", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			if _, ok := e.(turn.Pause); ok && r.Phase == turn.Generating {
				r.OnHold, r.Attempt.Sealed = true, true
				return r, turn.Effects{Outcome: turn.Done, Changed: true}
			}
			return turn.Step(r, e, now, p)
		}, change: func(s *Scope) { s.Budget.Pauses = 1 }},
		{name: "a pause that is to end never does", check: "P3 pause", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			if _, ok := e.(turn.Wake); ok && r.PausedUntil != 0 && now >= r.PausedUntil {
				r.PausedUntil = 0
				return r, turn.Effects{Outcome: turn.Done, Changed: true}
			}
			return turn.Step(r, e, now, p)
		}, change: func(s *Scope) { s.Holds, s.Budget = true, Budget{Inputs: 1, Pauses: 1} }},
		{name: "the end of a pause ends an opt-out too", check: "P2 hold", step: before(func(r *turn.Record, e *turn.Event, now *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Wake); ok && r.PausedUntil != 0 && *now >= r.PausedUntil {
				r.OptedOut = false
			}
		}), change: func(s *Scope) { s.Holds, s.Budget = true, Budget{Inputs: 1, Pauses: 2} }},
		{name: "a stop word closes what others have waiting", check: "P3 closed", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			if _, ok := e.(turn.StopWord); ok && is.Phase == turn.Collecting {
				effects.Settles = append(effects.Settles, turn.Settle{AfterSeq: is.AfterSeq, From: is.Answered, Through: is.Version, Status: turn.InputClosed})
				is.Phase, is.Pending, is.Answered, is.AfterSeq, is.Window = turn.Idle, 0, is.Version, is.Seq, turn.Window{}
			}
			return is, effects
		}, change: func(s *Scope) { s.Group, s.Budget = true, Budget{Inputs: 1, Stops: 1} }},
		{name: "the next part of a reply goes out after a person has said something", check: "P7 cut", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Sent); ok && r.Reply != nil {
				r.Reply.Cut = ""
			}
		}), change: func(s *Scope) { s.MaxParts, s.Budget = 2, Budget{Inputs: 1, Humans: 1} }},
		{name: "a notification closes what waits", check: "P3 answered", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if h, ok := (*e).(turn.HumanReply); ok {
				h.Beside = false
				*e = h
			}
		}), change: outside},
		{name: "a notification cuts the reply on its way", check: "P2 beside", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if h, ok := e.(turn.HumanReply); ok && h.Beside && r.Reply != nil && r.Reply.Kind == turn.ReplyAnswer {
				r.Reply.Cut = turn.ByHuman
			}
		}), change: outside},
		{name: "a reply that was sent elsewhere is sent again", check: "P7 once", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if h, ok := (*e).(turn.HumanReply); ok {
				h.Sent = false
				*e = h
			}
		}), change: outside},
		{name: "a pause after a reply makes a longer one shorter", check: "P6 timer", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, now turn.Time, _ turn.Policy) {
			if h, ok := e.(turn.HumanReply); ok && h.PauseFor > 0 {
				r.PausedUntil = now.Add(h.PauseFor)
			}
		}), change: func(s *Scope) {
			outside(s)
			s.Holds, s.Budget.Pauses = true, 1
		}},
		{name: "a window that a notification interrupts forgets the attachment that it waits for", check: "P2 due", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if h, ok := e.(turn.HumanReply); ok && h.Beside {
				r.Window.Media = 0
			}
		}), change: func(s *Scope) {
			outside(s)
			s.Media = true
		}},
		{name: "a seal is forgotten", check: "P2 seal", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Generated); ok {
				r.Attempt.Sealed = false
			}
		}), change: func(s *Scope) { s.Budget.Seals = 1 }},
	}
}

// liveNonce gives each result the nonce of the live lease.
func liveNonce(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
	switch event := (*e).(type) {
	case turn.Generated:
		event.Nonce = r.Lease.Nonce
		*e = event
	case turn.Sent:
		event.Nonce = r.Lease.Nonce
		*e = event
	case turn.Renew:
		event.Nonce = r.Lease.Nonce
		*e = event
	}
}

// windowAgain restarts the hard cap with each input.
func windowAgain(_ turn.Record, r *turn.Record, e turn.Event, now turn.Time, p turn.Policy) {
	if _, ok := e.(turn.Message); ok && r.Phase == turn.Collecting {
		r.Window.Start = now
		r.Window.Due = max(min(r.Window.QuietUntil, now.Add(p.MaxWait)), r.Window.NotBefore)
	}
}

// capFromDiscard counts the hard cap from the discard that the window follows.
func capFromDiscard(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
	if _, ok := (*e).(turn.Message); ok && r.Phase == turn.Collecting && r.Tries.Discards > 0 {
		r.Window.WaitingSince = r.Window.Start
	}
}

func worldFaults() []seeded {
	return []seeded{
		{name: "a plain write instead of the compare-and-swap", check: "P4 version", flaws: flaws{plainWrite: true}},
		{name: "a repeated id is found after the version grew", check: "P4 version", flaws: flaws{dedupeAfterBump: true}},
		{name: "the end of a turn overwrites the timer", check: "P6 timer", flaws: flaws{timerCleared: true}},
		{name: "a renewal leaves the timer where it was", check: "P6 timer", flaws: flaws{timerKept: true}},
		{name: "a holder takes a renewal for done before it is", check: "P5 single flight", flaws: flaws{renewalAssumed: true}},
		{name: "a stale fire deletes the timer", check: "P6 timer", flaws: flaws{staleFireClears: true}},
		{name: "timers live in memory only", check: "P3 rest", flaws: flaws{timerInMemory: true}},
		{name: "the prompt is read at the end of the attempt", check: "P1 covers", flaws: flaws{promptReadLate: true}, change: func(s *Scope) { s.Policy.OnNewInput = turn.Finish }},
		{name: "what a reply covers is computed at commit", check: "P1 covers", flaws: flaws{coversAtCommit: true}, change: func(s *Scope) { s.Policy.OnNewInput = turn.Finish }},
		{name: "a lease is judged by the local wall clock", check: "P2 due", flaws: flaws{localClock: 2 * Tick}},
		{name: "a send does not look at its lease", check: "P5 fenced send", flaws: flaws{sendUnchecked: true}},
		{name: "a send that timed out is taken for failed", check: "P7 once", flaws: flaws{unknownIsFailure: true}, change: func(s *Scope) { s.Budget.Inputs = 1 }},
		{name: "a write of unknown outcome is taken for applied", check: "P4 lost", flaws: flaws{unknownIsOK: true}},
		{name: "the caller is answered before the write", check: "P4 lost", flaws: flaws{ackBeforeWrite: true}},
	}
}

// lifeFaults are in what outlives a turn.
func lifeFaults() []seeded {
	minute := func(s *Scope) {
		s.Tick = 15 * time.Second
		s.Policy = baseOf(turn.Interrupt, s.Tick)
		s.Policy.TurnsPerMinute = 1
		s.Budget, s.Faults = Budget{Inputs: 2}, Faults{}
	}
	alone := func(s *Scope) { s.Budget, s.Faults = Budget{Inputs: 1}, Faults{} }
	return []seeded{
		{name: "an attempt is begun again instead of committed", check: "P3 rest", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			g, ok := e.(turn.Generated)
			if !ok {
				return turn.Step(r, e, now, p)
			}
			is, effects := turn.Step(r, turn.HandBack{Nonce: g.Nonce}, now, p)
			is.Tries = turn.Tries{} // as after an answer
			return is, effects
		}, change: alone},
		{name: "an answer is taken for a rejection", check: "P3 cause", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if g, ok := (*e).(turn.Generated); ok {
				*e = turn.GenerateFailed{Nonce: g.Nonce, Fault: turn.Rejected}
			}
		}), change: alone},
		{name: "tokens begin anew after a deletion", check: "P5 token", flaws: flaws{tokensAnew: true}, change: func(s *Scope) { s.Budget = Budget{Inputs: 2, Deletions: 1} }},
		{name: "a seal looks at no token", check: "P5 fenced", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Seal); ok {
				*e = turn.Seal{Token: r.Lease.Token}
			}
		}), change: func(s *Scope) { s.Budget = Budget{Inputs: 2, Deletions: 1, Seals: 1} }},
		{name: "the ceiling on turns is not kept", check: "P2 ceiling", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.TurnsPerMinute = 0 }), change: minute},
		{name: "the rest after too many turns lasts an hour", check: "P3 hard cap", step: after(func(was turn.Record, r *turn.Record, _ turn.Event, now turn.Time, _ turn.Policy) {
			if r.Window.NotBefore > was.Window.NotBefore {
				r.Window.NotBefore = now.Add(time.Hour)
				r.Window.Due = r.Window.NotBefore
			}
		}), change: minute},
	}
}

// causeFaults are in when and why a turn, an attempt or a try ends.
func causeFaults() []seeded {
	quiet := func(s *Scope) { s.Budget.Inputs, s.Budget.Redelivered = 1, 0 }
	aside := func(s *Scope) {
		s.Policy, s.Budget, s.Faults = fragile(), Budget{Inputs: 2, Nudges: 1, Faults: 1}, Faults{Worker: true}
	}
	return []seeded{
		{name: "a lease lasts longer than it is set", check: "P6 timer", step: after(func(was turn.Record, r *turn.Record, _ turn.Event, _ turn.Time, _ turn.Policy) {
			if r.Lease.Nonce != was.Lease.Nonce && r.Lease.Nonce != "" {
				r.Lease.Expires = r.Lease.Expires.Add(20 * time.Second)
			}
		}), change: quiet},
		{name: "a lost worker is looked for a while after its lease", check: "P6 timer", flaws: flaws{timerLate: turn.Generating}},
		{name: "a window is looked at a while after its end", check: "P6 timer", flaws: flaws{timerLate: turn.Collecting}},
		{name: "a send is tried again later than it should be", check: "P6 timer", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.SendFailed); ok && r.Reply != nil {
				r.Reply.RetryAt = r.Reply.RetryAt.Add(Tick)
			}
		}), change: quiet},
		{name: "an outage of the model uses up an attempt", check: "P3 cause", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if failed, ok := (*e).(turn.GenerateFailed); ok && failed.Fault == turn.Outage {
				failed.Fault = turn.Failure
				*e = failed
			}
		}), change: func(s *Scope) { s.Budget, s.Faults = Budget{Inputs: 1, Faults: 2}, Faults{Model: true} }},
		{name: "a send that failed for now is not tried again", check: "P3 cause", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.RetryFor = 0 }), change: quiet},
		{name: "inputs are set aside with the first lost worker", check: "P3 aside", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.MaxAttempts = 1 }), change: func(s *Scope) { s.Budget, s.Faults = Budget{Inputs: 1, Faults: 1}, Faults{Worker: true} }},
		{name: "the next message forgets what was set aside", check: "P3 aside", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Message); ok && was.Phase == turn.Failed {
				r.SetAside = nil
			}
		}), change: aside},
		{name: "what was set aside before is forgotten when more is", check: "P3 aside", step: after(func(was turn.Record, r *turn.Record, _ turn.Event, _ turn.Time, _ turn.Policy) {
			if was.SetAside != nil && r.SetAside != nil && r.SetAside.Turn != was.SetAside.Turn {
				r.SetAside.Pending -= was.SetAside.Pending
			}
		}), change: func(s *Scope) { aside(s); s.Budget.Faults = 2 }},
		{name: "a requeue brings back what was set aside last, and nothing before", check: "P3 counted", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			if _, ok := e.(turn.Requeue); ok {
				for i := range effects.Settles {
					effects.Settles[i].From = r.SetAside.Through - 1
				}
			}
			return is, effects
		}, change: func(s *Scope) { aside(s); s.Budget.Faults = 2 }},
		{name: "a requeue brings back what was set aside under an attempt", check: "P2 current", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			_, requeued := e.(turn.Requeue)
			if !requeued || r.Phase != turn.Generating || r.SetAside == nil {
				return turn.Step(r, e, now, p)
			}
			calm := r
			calm.Phase, calm.Lease = turn.Collecting, turn.Lease{}
			is, effects := turn.Step(calm, e, now, p)
			is.Phase, is.Lease = r.Phase, r.Lease
			return is, effects
		}, change: aside},
		{name: "each reply is said to be late", check: "P2 late", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Generated); ok && r.Reply != nil {
				r.Reply.Late = true
			}
		})},
		{name: "an announced attachment is not waited for", check: "P2 due", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.MediaWait = 0 }), change: func(s *Scope) {
			s.Budget, s.Faults, s.Media = Budget{Inputs: 2}, Faults{}, true
		}},
	}
}

// talkFaults are in where one talk ends and the next begins.
func talkFaults() []seeded {
	resets := func(s *Scope) { s.Budget, s.Faults = Budget{Inputs: 2, Redelivered: 1, Resets: 1}, Faults{} }
	onReset := func(patch func(was turn.Record, r *turn.Record)) StepFunc {
		return after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Reset); ok {
				patch(was, r)
			}
		})
	}
	return []seeded{
		{name: "a prompt tells what was said before a reset", check: "P2 fresh", step: onReset(func(was turn.Record, r *turn.Record) { r.FreshAfter = was.FreshAfter }), change: resets},
		{name: "a long silence ends no talk", check: "P2 fresh", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.SessionIdle = 0 }), change: func(s *Scope) {
			s.Policy, s.Budget, s.Faults = forgetful(), Budget{Inputs: 2}, Faults{}
		}},
		{name: "a repeat is answered after a reset", check: "P4 twice", flaws: flaws{idsAnew: true}, change: resets},
		{name: "turns are counted anew after a reset", check: "P7 turn", step: onReset(func(_ turn.Record, r *turn.Record) { r.Turn = 0 }), change: resets},
		{name: "a reset leaves waiting what waits", check: "P3 settled", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			if _, ok := e.(turn.Reset); ok && r.Phase == turn.Collecting {
				r.Seq++
				r.FreshAfter = r.Seq
				return r, turn.Effects{Outcome: turn.Done, Changed: true, AppendReset: r.Seq}
			}
			return turn.Step(r, e, now, p)
		}, change: resets},
	}
}

// operatorFaults are in what an agent's seal and an operator's word do.
func operatorFaults() []seeded {
	olderToken := before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
		if seal, ok := (*e).(turn.Seal); ok && seal.Token < r.Lease.Token {
			*e = turn.Seal{Token: r.Lease.Token}
		}
	})
	inTrouble := func(s *Scope) {
		s.Policy, s.MaxParts = held(), 2
		s.Budget, s.Faults = Budget{Inputs: 1, Resends: 1, Faults: 1}, Faults{Send: true}
	}
	reported := func(s *Scope) {
		s.Budget, s.Faults = Budget{Inputs: 1, Reports: 2}, Faults{}
	}
	return []seeded{
		{name: "a report of a failure outweighs one of a delivery", check: "P7 report", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if report, ok := (*e).(turn.Report); ok {
				report.Receipts = nil
				*e = report
			}
		}), change: reported},
		{name: "nobody is told of a reply that failed afterwards", check: "P7 report", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Report); ok {
				r.Unconfirmed = was.Unconfirmed
			}
		}), change: reported},
		{name: "a report that comes before the end of the send is forgotten", check: "P7 report", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Report); ok && r.Reply != nil {
				r.Reply.Receipts = nil
			}
		}), change: func(s *Scope) {
			s.MaxParts = 2
			s.Budget, s.Faults = Budget{Inputs: 1, Reports: 1}, Faults{}
		}},
		{name: "a part is sent again although the channel had said that it arrived", check: "P7 settled", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			if _, ok := e.(turn.Report); ok && r.Reply != nil && r.Reply.Unsure && r.Lease.Nonce == "" {
				return r, turn.Effects{Outcome: turn.Done, Changed: true}
			}
			return turn.Step(r, e, now, p)
		}, change: func(s *Scope) { s.Budget, s.Faults = Budget{Inputs: 1, Reports: 1, Faults: 1}, Faults{Send: true} }},
		{name: "the channel's id is kept for the part before", check: "P7 named", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Sent); ok && len(r.SentParts) > 1 {
				r.SentParts = append([]turn.SentPart(nil), r.SentParts...)
				r.SentParts[len(r.SentParts)-1].Part--
			}
		}), change: func(s *Scope) { s.MaxParts, s.Budget, s.Faults = 2, Budget{Inputs: 1}, Faults{} }},
		{name: "what the channel says of a reply that is sent again is forgotten", check: "P7 withdrawn", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.SendFailed); ok {
				r.Reply.Receipts = nil
			}
		}), change: func(s *Scope) {
			s.Policy = held()
			s.Budget, s.Faults = Budget{Inputs: 1, Reports: 2, Resends: 1, Faults: 1}, Faults{Send: true}
		}},
		{name: "a seal accepts the token of a lease that was lost", check: "P5 fenced", step: olderToken, change: func(s *Scope) {
			s.Budget, s.Faults = Budget{Inputs: 1, Seals: 1, Faults: 1}, Faults{Worker: true}
		}},
		{name: "a seal accepts a token from before a deletion", check: "P5 fenced", step: olderToken, change: func(s *Scope) { s.Budget = Budget{Inputs: 2, Deletions: 1, Seals: 1} }},
		{name: "a reply that is sent again starts from its first part", check: "P7 once", step: after(func(was turn.Record, r *turn.Record, _ turn.Event, _ turn.Time, _ turn.Policy) {
			if sendsAgain(*r) && !sendsAgain(was) {
				r.Reply.Done = 0
			}
		}), change: inTrouble},
		{name: "an operator's word to send again is forgotten", check: "P7 forgotten", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			if _, ok := e.(turn.Resend); ok {
				return r, turn.Effects{Outcome: turn.Done, Changed: true}
			}
			return turn.Step(r, e, now, p)
		}, change: inTrouble},
	}
}

// receiverFaults are in the pauses that the receiver asks for.
func receiverFaults() []seeded {
	pauses := func(s *Scope) { s.Budget, s.Faults = Budget{Inputs: 2, Faults: 1}, Faults{Pause: true} }
	return []seeded{
		{name: "a reply that is withdrawn takes the receiver's pause with it", check: "P7 receiver", step: after(func(was turn.Record, r *turn.Record, _ turn.Event, _ turn.Time, _ turn.Policy) {
			if was.Reply != nil && r.Reply == nil {
				r.NoSendUntil = 0
			}
		}), change: pauses},
		{name: "a reply is sent with its commit, whatever the receiver asked for", check: "P7 receiver", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			kept := r.NoSendUntil
			if _, ok := e.(turn.Generated); ok {
				r.NoSendUntil = 0
			}
			is, effects := turn.Step(r, e, now, p)
			is.NoSendUntil = max(is.NoSendUntil, kept)
			return is, effects
		}, change: pauses},
		{name: "a pause that holds for the whole bot holds for one conversation", check: "P7 receiver", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.NoSendUntil = 0 }), change: pauses},
		{name: "a receiver's pause has no bound", check: "P6 timer", step: after(func(was turn.Record, r *turn.Record, e turn.Event, now turn.Time, _ turn.Policy) {
			if failed, ok := e.(turn.SendFailed); ok && r.NoSendUntil != was.NoSendUntil {
				r.NoSendUntil = now.Add(failed.After)
			}
		}), change: pauses},
	}
}

// refusalFaults are in the search for a message that the model refuses.
func refusalFaults() []seeded {
	refuses := func(s *Scope) {
		s.Policy, s.Refuses = base(turn.Discard), true
		s.Policy.Refusal = true
		s.Budget, s.Faults = Budget{Inputs: 2, Nudges: 1}, Faults{}
	}
	return []seeded{
		{name: "the message before the refused one is set aside", check: "P3 aside", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			for i := range effects.Settles {
				if s := &effects.Settles[i]; s.Status == turn.InputFailed && s.From > 0 {
					s.From, s.Through = s.From-1, s.Through-1
				}
			}
			return is, effects
		}, change: refuses},
		{name: "the answer to a probe is committed as the reply", check: "P2 current", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Generated); ok {
				r.Attempt.Part = turn.Part{}
			}
		}), change: refuses},
		{name: "each refusal begins the search again", check: "P3 calls", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if failed, ok := e.(turn.GenerateFailed); ok && failed.Fault == turn.Refused {
				r.Tries.Search = turn.Search{}
			}
		}), change: func(s *Scope) { refuses(s); s.Budget = Budget{Inputs: 2} }},
		{name: "each refusal sends the text that stands in", check: "P3 notice", step: before(func(r *turn.Record, _ *turn.Event, _ *turn.Time, _ *turn.Policy) { r.StoodIn = false }), change: refuses},
		{name: "a part of what waits settles all of it", check: "P3 answered", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			for i := range effects.Settles {
				if effects.Settles[i].Status == turn.InputAnswered {
					effects.Settles[i].Through = is.Version
				}
			}
			return is, effects
		}, change: func(s *Scope) {
			s.Policy, s.Room = base(turn.Discard), 1
			s.Budget, s.Faults = Budget{Inputs: 2}, Faults{}
		}},
	}
}

// signFaults are in what people are told while they wait.
func signFaults() []seeded {
	slow := func(s *Scope) {
		s.Policy, s.Budget, s.Faults = patient(), Budget{Inputs: 1, Faults: 2}, Faults{Model: true}
	}
	return []seeded{
		{name: "people are told again each time somebody looks", check: "P3 sign", step: before(func(r *turn.Record, _ *turn.Event, _ *turn.Time, _ *turn.Policy) {
			r.Signs.Delay, r.Signs.Outage = 0, 0
		}), change: slow},
		{name: "nobody is told of an outage", check: "P3 sign", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.OutageAfter = 0 }), change: slow},
		{name: "people are told at once that it takes longer", check: "P3 sign", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.DelayAfter = Tick }), change: slow},
	}
}

var update = flag.Bool("update", false, "write the table of faults into docs/proof.md")

const (
	proofPage  = "../../../docs/proof.md"
	tableBegin = "<!-- begin: go test ./internal/proof/explore -run SeededFaults -update -->\n"
	tableEnd   = "<!-- end -->\n"
)

// TestSeededFaults shows that the checks can fail: each fault is caught by the
// check that is meant for it, each place at which a check can fail has failed
// over one of them, and docs/proof.md has the table.
func TestSeededFaults(t *testing.T) {
	table := "| fault | caught by | within states | moves of the shortest sequence |\n| --- | --- | --- | --- |\n"
	unseen := sites(t)
	for _, fault := range seededFaults() {
		scope := faultScope()
		scope.Name, scope.Step, scope.flaws = fault.name, fault.step, fault.flaws
		if fault.change != nil {
			fault.change(&scope)
		}
		report, err := Run(t.Context(), scope, nil)
		var violation *Violation
		if !errors.As(err, &violation) {
			t.Errorf("%s: nothing saw it: %v %v", fault.name, report, err)
			continue
		}
		if violation.Check != fault.check {
			t.Errorf("%s: %s saw it, not %s:\n%v", fault.name, violation.Check, fault.check, violation)
		}
		delete(unseen, violation.site)
		table += fmt.Sprintf("| %s | %s | %d | %d |\n", fault.name, violation.Check, rounded(report.States), len(violation.Trace))
	}
	for site, check := range unseen {
		t.Errorf("%s at %s fails over no fault of the table: add one, or remove the check", check, site)
	}
	comparePage(t, table)
}

// rounded is the next power of ten.
func rounded(states int) int {
	bound := 1
	for bound < states {
		bound *= 10
	}
	return bound
}

func comparePage(t *testing.T, table string) {
	t.Helper()
	page, err := os.ReadFile(proofPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), tableBegin)
	_, tail, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatal("the page has no markers for the table of faults")
	}
	want := head + tableBegin + "\n" + table + "\n" + tableEnd + tail
	if *update {
		if err := os.WriteFile(proofPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(page) {
		t.Errorf("the table in docs/proof.md is out of date: run go test ./internal/proof/explore -run SeededFaults -update\n%s", table)
	}
}

// sites are all calls that note a broken promise, with the check that each
// names.
func sites(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && notes(call.Fun) {
				check := call.Args[0].(*ast.BasicLit).Value
				found[fmt.Sprintf("%s:%d", name, set.Position(call.Pos()).Line)] = strings.Trim(check, `"`)
			}
			return true
		})
	}
	if len(found) == 0 {
		t.Fatal("no check was found in the source")
	}
	return found
}

// notes reports whether a function is one that notes a broken promise.
func notes(function ast.Expr) bool {
	switch f := function.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name == "fail"
	case *ast.Ident:
		return f.Name == "violated"
	}
	return false
}

// contextFaults are in messages that are never answered, and those of other bots.
func contextFaults() []seeded {
	mentioned := func(s *Scope) { s.Budget, s.Faults = Budget{Inputs: 1, Mentions: 1}, Faults{} }
	chat := func(s *Scope) { s.Policy, s.Bots, s.Budget, s.Faults = chatty(), true, Budget{Inputs: 3}, Faults{} }
	asContext := func(patch func(was turn.Record, r *turn.Record, now turn.Time, p turn.Policy)) StepFunc {
		return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			if effects.AppendContext {
				patch(r, &is, now, p)
			}
			return is, effects
		}
	}
	return []seeded{
		{name: "context counts as an input", check: "P2 context", step: asContext(func(_ turn.Record, r *turn.Record, _ turn.Time, _ turn.Policy) {
			r.Version++
			r.Answered++
		}), change: mentioned},
		{name: "context moves the window", check: "P2 context", step: asContext(func(_ turn.Record, r *turn.Record, now turn.Time, p turn.Policy) {
			if r.Phase == turn.Collecting {
				r.Window.QuietUntil = now.Add(p.Debounce)
			}
		}), change: mentioned},
		{name: "context is answered", check: "P2 context", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if m, ok := (*e).(turn.Message); ok {
				m.Context = false
				*e = m
			}
		}), change: mentioned},
		{name: "what is not meant for the bot is answered", check: "P2 context", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if m, ok := (*e).(turn.Message); ok {
				m.Unaddressed = false
				*e = m
			}
		}), change: func(s *Scope) { mentioned(s); s.Policy = observing() }},
		{name: "what comes too late is answered", check: "P2 context", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.MaxAge = 0 }), change: func(s *Scope) { mentioned(s); s.Policy = timely() }},
		{name: "other bots are answered without end", check: "P3 bots", step: before(func(_ *turn.Record, _ *turn.Event, _ *turn.Time, p *turn.Policy) { p.MaxBotTurns = 1000 }), change: chat},
		{name: "what other bots got is forgotten with each reply", check: "P3 bots", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Sent); ok {
				r.Bots.Count = 0
			}
		}), change: chat},
		{name: "a reply on its way to another bot is not counted", check: "P3 bots", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, p *turn.Policy) {
			if _, ok := (*e).(turn.Message); ok && r.Phase == turn.Sending {
				p.MaxBotTurns++
			}
		}), change: chat},
	}
}

// crammed is a scope in which more waits than fits into a prompt.
func crammed(s *Scope) {
	s.Policy, s.Budget, s.Faults = small(turn.Discard), Budget{Inputs: 3}, Faults{}
}

// budgeted is a scope in which more is written than may wait.
func budgeted(s *Scope) { s.Policy, s.Budget, s.Faults = tight(), Budget{Inputs: 3}, Faults{} }
