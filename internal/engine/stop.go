package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// wordKind is the meaning of a text that is one of the bot's words.
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

// input has the core accept a message, or the edit of one. An opt-in word ends the pause of
// an opt-out first; it is an input like any other. If the core refuses the input because
// too much waits, nothing is done, not even that.
func (n *Node) input(c *conversation, b *batch, t *task, event turn.Event) turn.Effects {
	before := *b
	if t.word == optInWord {
		n.step(c, b, t, turn.OptIn{})
	}
	effects := n.step(c, b, t, event)
	if effects.Outcome == turn.TooMuch {
		*b = before
		t.refuse(fmt.Errorf("%w: with it, what waits would have more than %d bytes", ErrTooMany, n.bot(c).Policy.WaitingBytes))
	}
	return effects
}

// optLate has an edit of a message that waits for no answer count where the new text is an
// opt-out or an opt-in word: what a person wants of the bot holds whenever they say so, and
// a voice note may be transcribed after its answer. A stop word there closes nothing: it
// stands before all that its sender has waiting.
func (n *Node) optLate(c *conversation, b *batch, t *task, entry store.Entry) {
	if entry.Sender.Bot || entry.Status == turn.InputContext {
		return
	}
	outcome := t.result.Outcome
	switch t.word {
	case optOutWord:
		n.step(c, b, t, turn.OptOut{})
		outcome = turn.OnPause
	case optInWord:
		n.step(c, b, t, turn.OptIn{})
	}
	t.result.Outcome, t.result.Reason = outcome, ""
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
			event.Own = append(event.Own, turn.Waiting{Version: e.Version, Media: anyPending(e.Attachments), Bytes: e.Size})
		} else if _, seen := asOf(e, through); seen {
			event.Shared = true
		}
	}
	event.OptOut = t.word == optOutWord
	sortByVersion(event.Own)
	return n.step(c, b, t, event)
}

func sortByVersion(messages []turn.Waiting) {
	slices.SortFunc(messages, func(a, b turn.Waiting) int { return cmp.Compare(a.Version, b.Version) })
}
