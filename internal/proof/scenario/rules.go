package scenario

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// breaches are what must not be in any story, whatever it expects.
func (l *Ledger) breaches() []string {
	return slices.Concat(
		l.checkAnswers(), l.checkRepeats(), l.checkFates(), l.checkOnce(), l.checkPromptsOfReplies(),
		l.checkSealed(), l.checkCurrent(), l.checkTranscripts(), l.checkSingleFlight(), l.checkRest(), l.checkTurnEnds(),
	)
}

// checkAnswers: the API says what the story names; where it names nothing, it
// takes what it is given.
func (l *Ledger) checkAnswers() (c complaints) {
	for _, a := range l.Answers {
		switch {
		case a.Expect != 0:
			c.wrong(!answers(a.Status, a.Expect), "%s %s was answered %d, not %d", a.Event, a.Label, a.Status, a.Expect)
		case !a.Excused:
			c.wrong(a.Status/100 != 2, "%s %s at %v was answered %d", a.Event, a.Label, a.At, a.Status)
		}
	}
	return c
}

// checkRepeats: of all deliveries of one message, one is taken in at most.
func (l *Ledger) checkRepeats() (c complaints) {
	taken := map[string]int{}
	for _, a := range l.Answers {
		if a.Label != "" && a.stored() && a.Outcome != "duplicate" {
			taken[a.Conversation+"/"+a.Label]++
		}
	}
	for label, times := range taken {
		c.wrong(times > 1, "message %s was taken in %d times", label, times)
	}
	return c
}

// checkFates: what was acknowledged ends in a reply, or in a state that says
// why not; and what was refused left nothing behind.
func (l *Ledger) checkFates() (c complaints) {
	type place struct{ conversation, label string }
	fates := map[place]string{}
	phases := map[string]string{}
	for _, conversation := range l.Conversations {
		phases[conversation.Conversation] = conversation.Phase
		for _, e := range conversation.Entries {
			if e.Kind == "message" {
				fates[place{conversation.Conversation, e.ID}] = e.Status
			}
		}
	}
	possible := map[place]bool{}
	for _, a := range l.Answers {
		if a.Label != "" && (a.stored() || a.Status == 0) {
			possible[place{a.Conversation, a.Label}] = true
		}
	}
	for label, conversation := range l.stored() {
		fate, phase := fates[place{conversation, label}], phases[conversation]
		c.wrong(fate == "", "message %s was acknowledged and is not stored", label)
		c.wrong(fate == "pending" && phase != "paused" && phase != "failed", "message %s is left pending while %s is %s", label, conversation, phase)
	}
	for at := range fates {
		c.wrong(!possible[at], "message %s is stored, but it was refused", at.label)
	}
	return c
}

// checkOnce: a message is in one reply at most, unless it was edited after
// that, and no part is shown twice, out of order, or among another reply's.
func (l *Ledger) checkOnce() (c complaints) {
	edited := map[string]bool{}
	for _, e := range l.Scenario.Events {
		if e.Type == "edit" {
			edited[e.ID] = true
		}
	}
	covered := map[string]string{}
	for _, r := range l.replies(anyReply) {
		for _, label := range r.Covers {
			name := r.Conversation + "/" + label
			c.wrong(covered[name] != "" && !edited[label], "message %s is in the replies %s and %s", label, covered[name], r.ID)
			covered[name] = r.ID
		}
		again := l.failedAfterwards(r)
		for i, part := range r.Parts {
			c.wrong(part != i+1 && !again, "parts of reply %s were shown in the order %v", r.ID, r.Parts)
		}
	}
	return append(c, l.checkInterleaving()...)
}

func (l *Ledger) checkInterleaving() (c complaints) {
	current := map[string]string{}
	ended := map[string]bool{}
	for _, p := range l.Posts {
		if !p.Shown {
			continue
		}
		if before := current[p.Conversation]; before != p.Reply {
			ended[p.Conversation+"\x00"+before] = true
		}
		c.wrong(ended[p.Conversation+"\x00"+p.Reply] && !l.failedAfterwards(Reply{ID: p.Reply}), "parts of reply %s stand among those of another", p.Reply)
		current[p.Conversation] = p.Reply
	}
	return c
}

// checkPromptsOfReplies: what a reply covers is what its prompt held, each
// message once.
func (l *Ledger) checkPromptsOfReplies() (c complaints) {
	for _, call := range l.Calls {
		seen := map[string]bool{}
		for _, label := range call.Labels {
			c.wrong(seen[label], "the prompt of call %d holds %s twice", call.Number, label)
			seen[label] = true
		}
	}
	for _, r := range l.byBot() {
		call := l.callOf(r.Texts[0])
		if call == nil {
			c.wrong(true, "reply %s comes from no call of the model: %.60q", r.ID, r.Texts[0])
			continue
		}
		c.wrong(!sameSet(call.Labels, r.Covers), "reply %s covers %v, but its prompt held %v", r.ID, r.Covers, call.Labels)
	}
	return c
}

// checkSealed: what an agent sealed is sent.
func (l *Ledger) checkSealed() (c complaints) {
	spoken := l.spoken()
	for i := range l.Calls {
		call := &l.Calls[i]
		c.wrong(call.Sealed && !slices.Contains(spoken, call), "call %d was sealed, but nobody saw its answer", call.Number)
	}
	return c
}

// checkCurrent: a reply that does not say otherwise covers everything that was
// accepted before it was committed and still waited.
func (l *Ledger) checkCurrent() (c complaints) {
	for _, conversation := range l.Conversations {
		committed := map[string]int64{} // by message: the reply that answers it
		for _, e := range conversation.Entries {
			if e.Kind == "reply" && e.Status != "withdrawn" {
				for _, label := range e.Covers {
					committed[label] = e.Seq
				}
			}
		}
		for _, reply := range conversation.Entries {
			if reply.Kind != "reply" || reply.Status != "sent" || reply.LateInput || reply.Author != "" {
				continue
			}
			for _, m := range conversation.Entries {
				overtaken := m.Kind == "message" && m.Status == "answered" && m.Seq < reply.Seq && committed[m.ID] > reply.Seq
				c.wrong(overtaken, "reply %s was committed although %s had been accepted", reply.ID, m.ID)
			}
		}
	}
	return c
}

// checkTranscripts: the transcript tells what the person saw, and a deleted
// message's text is gone.
func (l *Ledger) checkTranscripts() (c complaints) {
	type name struct{ conversation, id string }
	shown := map[name]Reply{}
	for _, r := range l.replies(anyReply) {
		shown[name{r.Conversation, r.ID}] = r
	}
	told := map[name]bool{}
	for _, conversation := range l.Conversations {
		for _, e := range conversation.Entries {
			c.wrong(e.Status == "deleted" && e.Text != "", "the text of the deleted message %s is still there", e.ID)
			if e.Kind != "reply" {
				continue
			}
			key := name{conversation.Conversation, e.ID}
			r, seen := shown[key]
			told[key] = true
			c.wrong(seen && !sameSet(r.Covers, e.Covers), "reply %s: the transcript says that it covers %v, the person was told %v", e.ID, e.Covers, r.Covers)
			switch again := l.failedAfterwards(r); {
			case again: // it was shown, and the channel said otherwise
			case e.Reason == "sent_elsewhere":
				c.wrong(seen, "reply %s was sent elsewhere, and %d parts of it were shown again", e.ID, len(r.Parts))
			case e.Status == "sent":
				c.wrong(len(r.Parts) == 0 || len(r.Parts) != r.Of, "reply %s counts as sent, but %d of %d parts were shown", e.ID, len(r.Parts), r.Of)
			case e.Status == "unknown":
			case e.Status == "partial":
				c.wrong(!seen || len(r.Parts) >= r.Of, "reply %s counts as partial, but %d of %d parts were shown", e.ID, len(r.Parts), r.Of)
			default:
				c.wrong(seen, "reply %s was shown, but the transcript says that it is %s", e.ID, e.Status)
			}
		}
	}
	for key := range shown {
		c.wrong(!told[key], "reply %s was shown, but is not in the transcript", key.id)
	}
	return c
}

// failedAfterwards reports whether the channel says in the story that the reply, which it
// took, has failed.
func (l *Ledger) failedAfterwards(r Reply) bool {
	return slices.ContainsFunc(l.Scenario.Events, func(e Event) bool {
		_, turn, _ := strings.Cut(r.ID, "/")
		return e.Path == "/replies/"+turn+"/status" && bytes.Contains(e.Body, []byte("failed"))
	})
}

// checkSingleFlight: one call of the model at a time for a conversation,
// except on nodes that were frozen and do not know yet. A store whose clock
// jumps ends leases early; that costs a call, and never a reply.
func (l *Ledger) checkSingleFlight() (c complaints) {
	if l.Scenario.has("clock_jump") {
		return nil
	}
	conversations := map[string]bool{}
	for _, call := range l.Calls {
		conversations[call.Conversation] = true
	}
	if len(conversations) > 1000 {
		return nil // each is looked at in all calls
	}
	for conversation := range conversations {
		peak := l.peak(conversation, true)
		c.wrong(peak > 1, "%d calls of the model ran at once for %s", peak, conversation)
	}
	return c
}

// checkRest: in the end nothing is under way.
func (l *Ledger) checkRest() (c complaints) {
	for _, conversation := range l.Conversations {
		phase := conversation.Phase
		settled := phase == "idle" || phase == "paused" || phase == "failed"
		c.wrong(!settled, "%s is left %s", conversation.Conversation, phase)
		c.wrong(phase == "idle" && (conversation.Pending != 0 || conversation.Answered != conversation.Version), "%s is idle with %d messages waiting, answered %d of %d", conversation.Conversation, conversation.Pending, conversation.Answered, conversation.Version)
	}
	return c
}

// turnEnded is the step of a timeline that ends a turn.
const turnEnded = "turn.ended"

// turn names a turn of the conversation as its reply would be called.
func (c Conversation) turn(t told) string { return fmt.Sprintf("%s/%d", c.Conversation, t.Turn) }

// checkTurnEnds: a turn that is over has ended once, and no window or attempt of it is
// told afterwards; one that is open has not ended. What is drawn of a turn ends there.
func (l *Ledger) checkTurnEnds() (c complaints) {
	for _, conversation := range l.Conversations {
		for _, t := range conversation.Turns {
			if t.Turn == 0 || t.Lost > 0 {
				continue // of none, or its beginning is not kept
			}
			name, ends := conversation.turn(t), 0
			for _, step := range t.Steps {
				switch step.Type {
				case turnEnded:
					ends++
				case "turn.scheduled", "turn.started":
					c.wrong(ends > 0, "turn %s has ended, and then comes %s", name, step.Type)
				}
			}
			c.wrong(t.Open && ends != 0, "turn %s is open, and has ended", name)
			c.wrong(!t.Open && ends != 1, "turn %s is over, and has ended %d times", name, ends)
		}
	}
	return c
}
