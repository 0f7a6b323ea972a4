package engine

import (
	"cmp"
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// wordKind is what a text means that is one of the bot's words.
type wordKind int

const (
	noWord wordKind = iota
	stopWord
	optOutWord
	optInWord
)

// closes reports whether the word closes what its sender has waiting.
func (w wordKind) closes() bool { return w == stopWord || w == optOutWord }

// outcome is what the sender of a word that closes is told.
func (w wordKind) outcome() turn.Outcome {
	if w == optOutWord {
		return turn.OnPause
	}
	return turn.Closed
}

// text is the text that a request brings: that of a new message, or the new one of a
// message, which may be what was said in a voice note.
func (r *Request) text() string {
	switch {
	case r.Op == Receive:
		return r.Body.Text
	case r.Op == Edit && r.Text != nil:
		return *r.Text
	}
	return ""
}

// wordOf is the word that a request is with this text.
func (bot Bot) wordOf(r *Request, text string) wordKind {
	switch {
	case r.Body.Sender.Bot || r.Context || r.Unaddressed: // words are for people who speak to the bot
		return noWord
	case bot.OptOutWords.Has(text):
		return optOutWord
	case bot.StopWords.Has(text):
		return stopWord
	case bot.OptInWords.Has(text):
		return optInWord
	}
	return noWord
}

// optIn ends the pause of an opt-out before the message or edit that says so, which is an
// input like any other.
func (n *Node) optIn(c *conversation, b *batch, t *task) {
	if t.word == optInWord {
		n.step(c, b, t, turn.OptIn{})
	}
}

// stop has the core close what the sender of a stop word has waiting, and pause the
// conversation after an opt-out word.
//
// The messages that wait were read after the record (see [Load]), and the write is
// applied to that record only, so they are those that wait when it is applied.
func (n *Node) stop(c *conversation, b *batch, t *task, event turn.StopWord, sender store.Sender) turn.Effects {
	through := b.write.Record.Attempt.Through
	for _, e := range b.waiting(t.stored.waiting) {
		if e.Sender.ID == sender.ID {
			event.Own = append(event.Own, turn.Waiting{Version: e.Version, Media: anyPending(e.Attachments)})
		} else if _, seen := asOf(e, through); seen {
			event.Shared = true
		}
	}
	event.OptOut = t.word == optOutWord
	slices.SortFunc(event.Own, func(a, b turn.Waiting) int { return cmp.Compare(a.Version, b.Version) })
	return n.step(c, b, t, event)
}
