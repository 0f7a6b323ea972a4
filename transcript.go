package onereply

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/onereply/onereply/store"
)

// EntryKind is the kind of an entry.
type EntryKind string

// The kinds of entries.
const (
	EntryMessage EntryKind = "message" // somebody wrote it
	EntryReply   EntryKind = "reply"   // the bot, or a person in its place, answered
	EntryName    EntryKind = "name"    // another name leads here, which is the Text: see [App.SetAlias] and [App.Move]
	EntryReset   EntryKind = "reset"   // the conversation began afresh: see [App.Reset]. It has no ID and no Status
)

// Status is the state of a message or a reply.
type Status string

// The statuses of messages.
const (
	StatusPending   Status = "pending"   // it waits for a reply
	StatusAnswered  Status = "answered"  // a reply that was sent answers it
	StatusClosed    Status = "closed"    // it was settled without a reply
	StatusFailed    Status = "failed"    // it was set aside: the model refuses it, or each worker that took it was lost
	StatusDismissed Status = "dismissed" // it was set aside, and then closed by a person
	StatusDeleted   Status = "deleted"   // by its author; the text is gone. Its Reason is "erased" if it was settled before
	StatusContext   Status = "context"   // it is context, and never answered
)

// The statuses of replies.
const (
	StatusCommitted   Status = "committed"   // it is on its way
	StatusSent        Status = "sent"        // it was delivered
	StatusPartial     Status = "partial"     // some parts were delivered, the rest was given up
	StatusUndelivered Status = "undelivered" // it was certainly not delivered
	StatusUnknown     Status = "unknown"     // nobody knows whether it was delivered
	StatusWithdrawn   Status = "withdrawn"   // certainly not delivered, and then overtaken by newer input
	StatusNoReply     Status = "no_reply"    // the responder chose not to reply
)

// Entry is one message or reply of a transcript, or the mark of a reset.
type Entry struct {
	// Seq orders the transcript. It grows, but may leave gaps.
	Seq  int64     `json:"seq"`
	Kind EntryKind `json:"kind"`
	ID   string    `json:"id"`
	Text string    `json:"text"`

	// Sender is who wrote a message; nil: that is not known, or it is a reply.
	Sender *Person `json:"sender,omitempty"`

	// ReplyTo is the message that a message answers; nil: none.
	ReplyTo *Quote `json:"reply_to,omitempty"`

	// ForwardedFrom is who wrote a message first; nil: it was not forwarded.
	ForwardedFrom *Person `json:"forwarded_from,omitempty"`

	// At is when the message was accepted, the reply was committed, or the mark was set.
	At Time `json:"at"`

	// SentAt is when the message was sent, by the sender's clock; zero: not known.
	SentAt Time `json:"sent_at,omitzero"`

	Status Status `json:"status"`

	// Reason says why it has its Status, or why there was a reset; "" where that needs
	// none.
	Reason string `json:"reason,omitempty"`

	// Covers are the IDs of the messages that a reply answers; never nil.
	Covers []string `json:"covers"`

	// Version is that of the input that touched a message last, or that a reply answers.
	Version int64 `json:"version"`

	// Turn is the number of a reply's turn; 0 for a message.
	Turn int64 `json:"turn,omitempty"`

	// Parts are the texts of a reply that goes out in several messages.
	Parts []string `json:"parts,omitempty"`

	// Receipt is what the channel has reported of all parts of a reply: [ReplyDelivered] or
	// [ReplyRead]; "": nothing, or not of all.
	Receipt ReplyStatus `json:"receipt,omitempty"`

	// LateInput: the reply was sent although newer input existed.
	LateInput bool `json:"late_input,omitempty"`

	// Author of a reply is "human", "fallback", "refusal", or "" for the responder.
	Author string `json:"author,omitempty"`

	// EditedAt is when the message was edited last; zero: never.
	EditedAt Time `json:"edited_at,omitzero"`

	Attachments []Attachment    `json:"attachments,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
}

// TranscriptPage is a part of a transcript.
type TranscriptPage struct {
	Entries []Entry // in order; never nil

	// More: there are more entries, behind these or, of [App.TranscriptBefore], before
	// them. A page may have fewer entries than its limit although there are more: its
	// texts are bounded too, by [MaxPageBytes].
	More bool
}

// Transcript returns the entries with a sequence greater than after, in order, at most
// limit of them: 1 to 1000; 0 means 100. To go on, give the last one's Seq as after. Of a
// conversation in which nothing was received, the page is empty.
func (a *App) Transcript(ctx context.Context, bot, conversation string, after int64, limit int) (TranscriptPage, error) {
	return a.transcript(ctx, bot, conversation, store.EntryQuery{After: after, Limit: limit})
}

// TranscriptBefore returns the last entries with a sequence less than before, in order,
// at most limit of them: 1 to 1000; 0 means 100. before of 0 means the end of the
// transcript. To go on, give the first one's Seq as before.
func (a *App) TranscriptBefore(ctx context.Context, bot, conversation string, before int64, limit int) (TranscriptPage, error) {
	page, err := a.transcript(ctx, bot, conversation, store.EntryQuery{Before: before, Limit: limit, Backward: true})
	slices.Reverse(page.Entries)
	return page, err
}

func (a *App) transcript(ctx context.Context, bot, conversation string, q store.EntryQuery) (TranscriptPage, error) {
	c, err := a.begin("transcript", bot, conversation)
	if err != nil {
		return TranscriptPage{}, err
	}
	if q.Limit, err = pageLimit(q.Limit); err != nil {
		return TranscriptPage{}, c.fail(CodeInvalid, "limit", err)
	}
	found, err := a.locate(ctx, c.key)
	if err != nil {
		return TranscriptPage{}, c.of(err)
	}
	out := TranscriptPage{Entries: []Entry{}, More: true}
	for out.More && len(out.Entries) == 0 { // a page may hold nothing that is shown
		var page []store.Entry
		if page, out.More, err = a.store.Entries(ctx, found.key, q); err != nil {
			return TranscriptPage{}, c.of(err)
		}
		for _, e := range page {
			if isShown(e) {
				out.Entries = append(out.Entries, entryOf(e))
			}
		}
		if out.More {
			q = q.Next(page)
		}
	}
	return out, nil
}

// isShown reports whether people see an entry. They don't see what is kept for a message
// that has not come, nor what only claims an id.
func isShown(e store.Entry) bool { return e.Kind != store.Early && !e.IsClaim() }

// entryOf is a stored entry as the API shows it.
func entryOf(e store.Entry) Entry {
	out := Entry{
		Seq: e.Seq, Kind: EntryKind(e.Kind), ID: e.ID, Text: e.Text, Sender: senderOf(e.Sender), ReplyTo: quoteOf(e.ReplyTo), ForwardedFrom: senderOf(e.ForwardedFrom), At: timeOf(e.At), SentAt: timeOf(e.SentAt),
		Status: Status(e.Status), Reason: e.Reason, Covers: e.Covers, Version: e.Version, Turn: e.Turn, Parts: e.Parts,
		LateInput: e.Late, Author: e.Author, EditedAt: timeOf(e.EditedAt), Attachments: attachmentsOf(e.Attachments), Metadata: e.Metadata,
	}
	if e.Kind == store.Reply {
		out.Receipt = ReplyStatus(e.Receipts.Whole(max(len(e.Parts), 1)))
	}
	if out.Covers == nil {
		out.Covers = []string{}
	}
	return out
}

// senderOf is nil where it is not known who wrote a message.
func senderOf(s store.Sender) *Person {
	if s == (store.Sender{}) {
		return nil
	}
	sender := Person(s)
	return &sender
}
