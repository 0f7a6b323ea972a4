package simulate

import (
	"slices"
	"strings"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

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
