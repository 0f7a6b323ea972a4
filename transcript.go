package onereply

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Entry is one line of a transcript, as people and programs see it.
type Entry struct {
	Seq         int64           `json:"seq"`
	Kind        store.Kind      `json:"kind"`
	ID          string          `json:"id"`
	Text        string          `json:"text"`
	Sender      *Person         `json:"sender,omitempty"`
	At          Time            `json:"at"`
	SentAt      Time            `json:"sent_at,omitzero"`
	Status      turn.Status     `json:"status"`
	Reason      string          `json:"reason,omitempty"`
	Covers      []string        `json:"covers"`
	Version     int64           `json:"version"`
	Turn        int64           `json:"turn,omitempty"`
	Parts       []string        `json:"parts,omitempty"`
	LateInput   bool            `json:"late_input,omitempty"`
	Author      string          `json:"author,omitempty"` // of a reply: "human" or "fallback", else the responder
	EditedAt    Time            `json:"edited_at,omitzero"`
	Attachments []Attachment    `json:"attachments,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
}

// Transcript returns at most limit entries with a sequence greater than after,
// in order. limit is 1 to 1000; 0 means 100.
func (a *App) Transcript(ctx context.Context, bot, conversation string, after int64, limit int) ([]Entry, error) {
	return a.transcript(ctx, bot, conversation, store.EntryQuery{After: after, Limit: limit})
}

// TranscriptBefore returns the last entries, at most limit, with a sequence less
// than before, in order; 0 means that the last of all are wanted. limit is 1 to
// 1000; 0 means 100.
func (a *App) TranscriptBefore(ctx context.Context, bot, conversation string, before int64, limit int) ([]Entry, error) {
	entries, err := a.transcript(ctx, bot, conversation, store.EntryQuery{Before: before, Limit: limit, Backward: true})
	slices.Reverse(entries)
	return entries, err
}

func (a *App) transcript(ctx context.Context, bot, conversation string, q store.EntryQuery) ([]Entry, error) {
	c, err := a.begin("transcript", bot, conversation)
	if err != nil {
		return nil, err
	}
	if q.Limit, err = pageLimit(q.Limit); err != nil {
		return nil, c.fail(CodeInvalid, "limit", err)
	}
	found, err := a.store.Entries(ctx, c.key, q)
	entries := make([]Entry, len(found))
	for i, e := range found {
		entries[i] = entryOf(e)
	}
	return entries, c.of(err)
}

func entryOf(e store.Entry) Entry {
	out := Entry{
		Seq: e.Seq, Kind: e.Kind, ID: e.ID, Text: e.Text, At: timeOf(e.At), SentAt: timeOf(e.SentAt), Status: e.Status, Reason: e.Reason,
		Covers: e.Covers, Version: e.Version, Turn: e.Turn, Parts: e.Parts, LateInput: e.Late, Author: e.Author,
		EditedAt: timeOf(e.EditedAt), Attachments: e.Attachments, Metadata: e.Metadata,
	}
	if out.Covers == nil {
		out.Covers = []string{}
	}
	if e.Sender != (Person{}) {
		sender := e.Sender
		out.Sender = &sender
	}
	return out
}
