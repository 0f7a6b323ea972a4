package onereply

import (
	"encoding/json"
	"strings"
	"time"
)

// Role says on which side of the conversation an entry of a prompt stands.
type Role string

// The roles.
const (
	RoleUser      Role = "user"      // the people who write to the bot
	RoleAssistant Role = "assistant" // the bot, or a person in its place
)

// Author says what kind of author an entry of a prompt has.
type Author string

// The authors.
const (
	AuthorPerson Author = "person" // somebody who writes to the bot
	AuthorBot    Author = "bot"    // this bot, or another one that writes to it
	AuthorHuman  Author = "human"  // a person who answered in this bot's place
)

// PromptEntry is a message or a reply, as a [Responder] sees it.
type PromptEntry struct {
	ID     string
	Role   Role
	Author Author

	// Sender is who wrote a message; the zero value: that is not known, or it is a
	// reply.
	Sender Person

	// Text of a reply is as much of it as people saw.
	Text string

	// At is when the message was sent, by its sender's or the channel's clock; where that
	// is not known, when it was accepted. Of a reply it is the time of its commit.
	At time.Time

	// Edited: the message was changed since it was sent.
	Edited bool

	// Context: the message is context and must not be answered: it came so, or was settled
	// without a reply.
	Context bool

	// ReplyTo is the message that this one answers; nil: none.
	ReplyTo *Quote

	// ForwardedFrom is who wrote the message first; the zero value: it was not forwarded.
	ForwardedFrom Person

	Attachments []Attachment
	Metadata    json.RawMessage

	recorded bool // it was edited after it was settled: its answer has not seen this text
}

// NamesMode says when the names of senders stand in prompts.
type NamesMode string

// The modes of names.
const (
	NamesAuto   NamesMode = "auto"   // once two people are in the prompt, its history included
	NamesAlways NamesMode = "always" // also with one
	NamesNever  NamesMode = "never"
)

// ChatMessage is one message of a prompt, as chat models take it.
type ChatMessage struct {
	Role Role
	Text string
}

// Chat is the whole prompt as messages whose roles alternate: neighbouring entries of
// the history that have one role are one message. The last message is [Turn.Text].
func (t *Turn) Chat() []ChatMessage {
	w := t.promptWriter()
	history, head := t.splitHistory()
	var chat []ChatMessage
	for len(history) > 0 {
		end := 1
		for end < len(history) && history[end].Role == history[0].Role {
			end++
		}
		chat = append(chat, ChatMessage{Role: history[0].Role, Text: w.group(history[:end])})
		history = history[end:]
	}
	return append(chat, ChatMessage{Role: RoleUser, Text: w.messages(head, t.Messages)})
}

// Text is the last message of the prompt: the messages that wait, with a line break
// between them. The messages since the last reply that nobody answered stand before
// them, and are marked as not to be answered. A placeholder stands for each attachment.
// [Bot].Names and [Bot].Times say what stands before each message.
func (t *Turn) Text() string {
	_, head := t.splitHistory()
	return t.promptWriter().messages(head, t.Messages)
}

// splitHistory is the history up to the last reply, and the messages after it. No model
// takes the latter as messages of their own: the roles would not alternate.
func (t *Turn) splitHistory() (before, after []PromptEntry) {
	end := len(t.History)
	for end > 0 && t.History[end-1].Role != RoleAssistant {
		end--
	}
	return t.History[:end], t.History[end:]
}

// promptWriter writes the entries of one turn as the texts that a chat model reads.
//
// Senders choose their names and texts, and must not be able to write a line that looks
// as if somebody else had written it. Two rules see to that. Where names are shown, each
// further line of a text begins with a bar, so a line that begins with a name is always
// the writer's own. All else that the writer adds stands in brackets: names never have
// any (see shownName), and a line of a text that looks like a note in brackets begins
// with a bar too (see barred).
type promptWriter struct {
	names     map[Person]string // how each sender is called, by identity
	showNames bool              // before each message
	times     bool
	entries   map[string]*PromptEntry // by id, for quotes
}

func (t *Turn) promptWriter() *promptWriter {
	w := &promptWriter{times: t.times, entries: map[string]*PromptEntry{}}
	w.names, w.showNames = t.shownNames()
	for _, entries := range [][]PromptEntry{t.History, t.Messages} {
		for i := range entries {
			w.entries[entries[i].ID] = &entries[i]
		}
	}
	return w
}

// These notes divide a message of the user where not all of it is to be answered.
const (
	noteContext = "[" + noteNotAnswered + ", and not to be answered:]"
	noteAnswer  = "[" + noteToAnswer + ":]"
)

// The beginnings of all notes: of those two, and of those before a text. looksLikeNote needs
// each of them, so that no text that somebody writes can pass for a note.
const (
	noteNotAnswered = "Not answered"
	noteToAnswer    = "To be answered"
	noteSent        = "sent "
	noteInReply     = "in reply to"
	noteEdited      = "edited later"
	noteForwarded   = "forwarded from "
)

// group is the text of entries of one role that are neighbours in the history.
func (w *promptWriter) group(entries []PromptEntry) string {
	if entries[0].Role == RoleAssistant {
		texts := make([]string, len(entries))
		for i, e := range entries {
			texts[i] = e.Text
		}
		return strings.Join(texts, "\n")
	}
	var context, answered []PromptEntry
	for _, e := range entries {
		if e.Context {
			context = append(context, e)
		} else {
			answered = append(answered, e)
		}
	}
	return w.messages(context, answered)
}

// messages is the text of one message of the user. It reads the same now and when it is
// history, so models that cache the beginning of a prompt can use the cache.
func (w *promptWriter) messages(context, answer []PromptEntry) string {
	lines := make([]string, 0, len(context)+len(answer)+2)
	if len(context) > 0 {
		lines = append(lines, noteContext)
	}
	for _, e := range context {
		lines = append(lines, w.message(e))
	}
	if len(context) > 0 && len(answer) > 0 {
		lines = append(lines, noteAnswer)
	}
	for _, e := range answer {
		lines = append(lines, w.message(e))
	}
	return strings.Join(lines, "\n")
}

// message is one message: who wrote it, what is to be known of it, and the text.
func (w *promptWriter) message(e PromptEntry) string {
	var head []string
	if w.showNames {
		head = append(head, w.nameOf(e.Sender)+":")
	}
	if w.times && !e.At.IsZero() {
		head = append(head, "["+noteSent+e.At.UTC().Format(time.RFC3339)+"]")
	}
	if e.ReplyTo != nil {
		head = append(head, "["+noteInReply+w.quote(*e.ReplyTo)+"]")
	}
	if e.recorded {
		head = append(head, "["+noteEdited+"]")
	}
	if e.ForwardedFrom != (Person{}) {
		head = append(head, "["+noteForwarded+w.nameOf(e.ForwardedFrom)+"]")
	}
	text := barred(describe(e), w.showNames)
	switch {
	case len(head) == 0:
		return text
	case strings.HasPrefix(text, bar):
		return strings.Join(head, " ") + "\n" + text
	}
	return strings.Join(head, " ") + " " + text
}

// quote is the author and the text of a message that another one answers. The channel
// may have told its id only; then the prompt itself may have the rest.
func (w *promptWriter) quote(q Quote) string {
	author, text := "", q.Text
	if q.Sender != (Person{}) {
		author = w.nameOf(q.Sender)
	}
	if e := w.entries[q.ID]; e != nil && q.ID != "" {
		if author = w.nameOf(e.Sender); e.Role == RoleAssistant {
			author = "you"
		}
		if strings.TrimSpace(text) == "" {
			text = describe(*e)
		}
	}
	if author != "" {
		author = " " + author
	}
	if text = quotable(text); text != "" {
		return author + ": \"" + text + "\""
	}
	if author == "" {
		return " an earlier message"
	}
	return author
}

// describe is the message's text, and a placeholder for each attachment, so
// that a kind that can't be read is still mentioned.
func describe(e PromptEntry) string {
	lines := make([]string, 0, 1+len(e.Attachments))
	if strings.TrimSpace(e.Text) != "" {
		lines = append(lines, e.Text)
	}
	for _, a := range e.Attachments {
		kind := a.Kind
		if kind == "" {
			kind = "attachment"
		}
		switch {
		case a.Pending:
			lines = append(lines, "["+kind+", not available]")
		case a.URL != "":
			lines = append(lines, "["+kind+": "+a.URL+"]")
		default:
			lines = append(lines, "["+kind+"]")
		}
	}
	return strings.Join(lines, " ")
}
