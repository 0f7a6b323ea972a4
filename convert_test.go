package onereply

import (
	"reflect"
	"testing"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Each field of a stored entry arrives in its own field of the API.
func TestEntriesAndEventsKeepEachField(t *testing.T) {
	stored := store.Entry{
		Seq: 1, Kind: store.Reply, ID: "id", Status: turn.ReplySent, Reason: "reason", At: 2000, Version: 3,
		Body: store.Body{
			Text: "text", Sender: store.Sender{ID: "u", Name: "Ann"}, SentAt: 4000, EditedAt: 5000, Turn: 6, Parts: []string{"p"}, Covers: []string{"m"},
			Late: true, Author: "human", Metadata: []byte("1"),
			Attachments: []store.Attachment{{Kind: "image", URL: "url", MIMEType: "type", Pending: true}},
		},
	}
	want := Entry{
		Seq: 1, Kind: EntryReply, ID: "id", Status: StatusSent, Reason: "reason", At: timeOf(2000), Version: 3, Text: "text",
		Sender: &Person{ID: "u", Name: "Ann"}, SentAt: timeOf(4000), EditedAt: timeOf(5000), Turn: 6, Parts: []string{"p"}, Covers: []string{"m"},
		LateInput: true, Author: "human", Metadata: []byte("1"),
		Attachments: []Attachment{{Kind: "image", URL: "url", MIMEType: "type", Pending: true}},
	}
	if got := entryOf(stored); !reflect.DeepEqual(got, want) {
		t.Errorf("the entry is\n%+v, want\n%+v", got, want)
	}
	told := engine.Event{
		Notice: turn.Notice{
			Kind: turn.KindReplySent, At: 1000, Reason: "reason", Turn: 2, Token: 3, Version: 4, Through: 5, Due: 6000, Seq: 7, Attempt: 8,
			Part: 9, Parts: 10, Late: true, Holder: "holder", MessageID: "m", FirstByte: 11000,
		},
		Key: store.Key{Bot: "b", Conversation: "c"}, Node: "node", ReplyID: "r", Covers: []string{"m"}, Text: "text", TextLeftOut: true,
	}
	seen := Event{
		ID: "id", Type: string(turn.KindReplySent), At: timeOf(1000), Node: "node", Bot: "b", Conversation: "c", Turn: 2, Token: 3, Attempt: 8,
		Version: 4, Through: 5, DueAt: timeOf(6000), FirstByteAt: timeOf(11000), Seq: 7, MessageID: "m", ReplyID: "r", Covers: []string{"m"},
		Text: "text", TextLeftOut: true, Part: 9, Parts: 10, LateInput: true, Reason: "reason",
	}
	if got := eventOf("id", &told); !reflect.DeepEqual(got, seen) {
		t.Errorf("the event is\n%+v, want\n%+v", got, seen)
	}
}

// Each field of a stored entry arrives in its own field of the prompt.
func TestPromptEntriesKeepEachField(t *testing.T) {
	stored := store.Entry{
		Kind: store.Message, ID: "m", Status: turn.InputClosed, At: 2000,
		Body: store.Body{
			Text: "text", Sender: store.Sender{ID: "u", Name: "Ann"}, SentAt: 1000, EditedAt: 3000, Metadata: []byte("1"),
			Attachments: []store.Attachment{{Kind: "image", URL: "url", MIMEType: "type", Pending: true}},
		},
	}
	want := PromptEntry{
		ID: "m", Role: RoleUser, Author: AuthorPerson, Sender: Person{ID: "u", Name: "Ann"}, Text: "text", At: timeOf(1000).Time, Edited: true, Context: true,
		Metadata: []byte("1"), Attachments: []Attachment{{Kind: "image", URL: "url", MIMEType: "type", Pending: true}},
	}
	if got := promptEntryOf(stored); !reflect.DeepEqual(got, want) {
		t.Errorf("the entry is\n%+v, want\n%+v", got, want)
	}
	for author, want := range map[string]Author{turn.ReplyHuman: AuthorHuman, turn.ReplyFallback: AuthorBot, turn.ReplyAnswer: AuthorBot} {
		got := promptEntryOf(store.Entry{Kind: store.Reply, ID: "r", Status: turn.ReplySent, At: 2000, Body: store.Body{Author: author}})
		if got.Role != RoleAssistant || got.Author != want || got.At != timeOf(2000).Time || got.Context {
			t.Errorf("a reply by %q is %+v", author, got)
		}
	}
}
