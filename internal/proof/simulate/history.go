package simulate

import (
	"slices"
	"strings"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// notTold is how many messages of the newest that nobody answered a history holds at most,
// besides those that were not meant for the bot.
const notTold = historyLength / 2

// unanswered are the messages of this talk that were closed, or are context, and came after
// the last reply, as far as a prompt that is read now has to tell of them.
func (l *ledger) unanswered(key store.Key) map[string]bool {
	all := l.entries(key, store.EntryQuery{After: l.conversation(key).fresh})
	must := map[string]bool{}
	var left, observed int
	for _, e := range slices.Backward(all) {
		switch {
		case e.Kind == store.Reply:
			return must
		case e.Kind != store.Message || e.Status != turn.InputClosed && e.Status != turn.InputContext:
		case mentioned(e.ID) && !meant(e.ID):
			observed++
			must[e.ID] = must[e.ID] || observed <= observeLength
		default:
			left++
			must[e.ID] = must[e.ID] || left <= notTold
		}
	}
	return must
}

// judgeTold is P2 for what nobody answered: the model is told of it with the next message.
// It has to stand there when the reading begins, and still when the model is called. What a
// prompt has no room for is left out, and that is not judged.
func (l *ledger) judgeTold(o engine.Start) {
	if l.policy.PromptBytes > 0 {
		return
	}
	now, told := l.unanswered(o.Key), idsIn(o.Prompt.History)
	for id, must := range l.toTell[o.Lease.Nonce] {
		if must && now[id] && !told[id] {
			l.fail("P2 told", "the model is not told of %s, which nobody answered", id)
		}
	}
}

func idsIn(entries []store.Entry) map[string]bool {
	ids := map[string]bool{}
	for _, e := range entries {
		ids[e.ID] = true
	}
	return ids
}

// judgeHistory is P1 for what the model is told of before: messages as they
// were written, and of replies what the person saw.
func (l *ledger) judgeHistory(o engine.Start) {
	t := l.conversation(o.Key)
	for _, e := range o.Prompt.History {
		if e.Kind == store.Message {
			l.judgeText(o.Key, e)
			l.judgeChanged(t, e, l.read[o.Lease.Nonce])
			if t.aside[e.ID] && e.Status != turn.InputAnswered {
				l.fail("P3 history", "%s was set aside, and is part of a history", e.ID)
			}
			continue
		}
		if r := t.replies[e.Seq]; r != nil && !l.askedFor(o.Key, 0, markSent) && !r.tells(e.Text, l.whole) {
			l.fail("P7 fate", "the model is told that the person saw %q of reply %s", e.Text, e.ID)
		}
	}
}

// tells reports whether a text is what the person saw of the reply. Where nobody knows of
// the last parts whether they were seen, it may leave them out.
func (r *reply) tells(text string, whole bool) bool {
	var seen []string
	for part, text := range r.texts {
		if r.shown[part] {
			seen = append(seen, text)
		}
	}
	if (whole || len(seen) == len(r.texts)) && len(seen) > 0 && slices.Equal(messagesIn(text), r.seen) {
		return true
	}
	return !whole && r.done < len(r.texts) && strings.HasPrefix(strings.Join(seen, "\n"), text)
}
