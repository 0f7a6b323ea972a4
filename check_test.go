package onereply_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/memory"
)

// Each limit: what is just within it is taken, what is just beyond is refused,
// names the field, and leaves nothing behind.
func TestLimits(t *testing.T) {
	x := strings.Repeat
	text := func(s string) onereply.Message { return onereply.Message{Text: s} }
	file := onereply.Attachment{Kind: "image", URL: "https://example.com/1"}
	files := func(n int) (all []onereply.Attachment) {
		for range n {
			all = append(all, file)
		}
		return all
	}
	tests := map[string]struct {
		field    string
		ok, over onereply.Message
	}{
		"text":               {"text", text(x("x", onereply.MaxTextBytes)), text(x("x", onereply.MaxTextBytes+1))},
		"blank text":         {"text", onereply.Message{Attachments: files(1)}, text(" \n")},
		"text in UTF-8":      {"text", text("é"), text("\xe9")},
		"id":                 {"id", onereply.Message{ID: x("i", onereply.MaxNameBytes), Text: "x"}, onereply.Message{ID: x("i", onereply.MaxNameBytes+1), Text: "x"}},
		"id without NUL":     {"id", onereply.Message{ID: "\x01", Text: "x"}, onereply.Message{ID: "\x00", Text: "x"}},
		"sender":             {"sender", onereply.Message{Text: "x", Sender: onereply.Person{ID: x("i", 1000), Name: x("n", 24)}}, onereply.Message{Text: "x", Sender: onereply.Person{ID: x("i", 1000), Name: x("n", 25)}}},
		"sender in UTF-8":    {"sender", onereply.Message{Text: "x", Sender: onereply.Person{Name: "é"}}, onereply.Message{Text: "x", Sender: onereply.Person{Name: "\xe9"}}},
		"forwarded from":     {"forwarded_from", onereply.Message{Text: "x", ForwardedFrom: onereply.Person{Name: x("n", 1024)}}, onereply.Message{Text: "x", ForwardedFrom: onereply.Person{Name: x("n", 1025)}}},
		"quoted id":          {"reply_to", onereply.Message{Text: "x", ReplyTo: &onereply.Quote{ID: x("i", onereply.MaxNameBytes)}}, onereply.Message{Text: "x", ReplyTo: &onereply.Quote{ID: x("i", onereply.MaxNameBytes+1)}}},
		"quoted text":        {"reply_to", onereply.Message{Text: "x", ReplyTo: &onereply.Quote{Text: x("x", onereply.MaxTextBytes)}}, onereply.Message{Text: "x", ReplyTo: &onereply.Quote{Text: x("x", onereply.MaxTextBytes+1)}}},
		"quoted sender":      {"reply_to", onereply.Message{Text: "x", ReplyTo: &onereply.Quote{Sender: onereply.Person{ID: x("i", 1024)}}}, onereply.Message{Text: "x", ReplyTo: &onereply.Quote{Sender: onereply.Person{ID: "\xe9"}}}},
		"metadata":           {"metadata", onereply.Message{Text: "x", Metadata: quoted(64 << 10)}, onereply.Message{Text: "x", Metadata: quoted(64<<10 + 1)}},
		"metadata in JSON":   {"metadata", onereply.Message{Text: "x", Metadata: json.RawMessage("{}")}, onereply.Message{Text: "x", Metadata: json.RawMessage("{")}},
		"attachments":        {"attachments", onereply.Message{Attachments: files(onereply.MaxAttachments)}, onereply.Message{Attachments: files(onereply.MaxAttachments + 1)}},
		"attachment":         {"attachments", onereply.Message{Attachments: []onereply.Attachment{{URL: x("u", onereply.MaxAttachmentBytes)}}}, onereply.Message{Attachments: []onereply.Attachment{{URL: x("u", onereply.MaxAttachmentBytes), Kind: "k"}}}},
		"attachment, UTF-8":  {"attachments", onereply.Message{Attachments: []onereply.Attachment{{Kind: "é"}}}, onereply.Message{Attachments: []onereply.Attachment{{Kind: "\xe9"}}}},
		"sent at, the least": {"sent_at", onereply.Message{Text: "x", SentAt: time.Date(1970, 1, 1, 0, 0, 1, 0, time.UTC)}, onereply.Message{Text: "x", SentAt: time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"sent at, the most":  {"sent_at", onereply.Message{Text: "x", SentAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, onereply.Message{Text: "x", SentAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			app := plain(t)
			_, err := app.Receive(t.Context(), "bot", "c", test.over)
			wantRefused(t, err, onereply.CodeInvalid, test.field)
			if _, err := app.State(t.Context(), "bot", "c"); err == nil {
				t.Error("the refused message left something behind")
			}
			if _, err := app.Receive(t.Context(), "bot", "c", test.ok); err != nil {
				t.Errorf("what is within the limit: %v", err)
			}
		})
	}
}

// quoted is a JSON string of so many bytes.
func quoted(bytes int) json.RawMessage {
	return json.RawMessage(`"` + strings.Repeat("x", bytes-2) + `"`)
}

func plain(t *testing.T) *onereply.App {
	t.Helper()
	s := memory.New()
	app, err := onereply.Open(t.Context(), s, onereply.Options{Logger: slog.New(slog.DiscardHandler)}, onereply.Bot{Name: "bot", Responder: saying("hello")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close(); s.Close() })
	return app
}

func wantRefused(t *testing.T, err error, code onereply.Code, field string) {
	t.Helper()
	var got *onereply.Error
	if !errors.As(err, &got) || got.Code != code || got.Field != field {
		t.Errorf("got %v, want it refused as %s because of %q", err, code, field)
	}
}

// What every call refuses before it reaches a conversation.
func TestCallsThatAreRefused(t *testing.T) {
	app := plain(t)
	long := strings.Repeat("x", onereply.MaxNameBytes+1)
	type call func(ctx context.Context, bot, conversation string) error
	calls := map[string]call{
		"receive": func(ctx context.Context, b, c string) error {
			_, err := app.Receive(ctx, b, c, onereply.Message{Text: "x"})
			return err
		},
		"edit": func(ctx context.Context, b, c string) error {
			_, err := app.Edit(ctx, b, c, "m", onereply.Edit{Text: new("x")})
			return err
		},
		"retract": func(ctx context.Context, b, c string) error { _, err := app.Retract(ctx, b, c, "m"); return err },
		"typing":  func(ctx context.Context, b, c string) error { return app.Typing(ctx, b, c, 0) },
		"flush":   func(ctx context.Context, b, c string) error { _, err := app.Flush(ctx, b, c); return err },
		"reset":   func(ctx context.Context, b, c string) error { _, err := app.Reset(ctx, b, c, ""); return err },
		"pause": func(ctx context.Context, b, c string) error {
			_, err := app.Pause(ctx, b, c, onereply.Pause{})
			return err
		},
		"resume":  func(ctx context.Context, b, c string) error { _, err := app.Resume(ctx, b, c, true); return err },
		"requeue": func(ctx context.Context, b, c string) error { _, err := app.Requeue(ctx, b, c); return err },
		"answer": func(ctx context.Context, b, c string) error {
			_, err := app.Answer(ctx, b, c, onereply.HumanReply{Text: "x"})
			return err
		},
		"seal":       func(ctx context.Context, b, c string) error { return app.Seal(ctx, b, c, 1) },
		"forget":     func(ctx context.Context, b, c string) error { return app.Forget(ctx, b, c) },
		"state":      func(ctx context.Context, b, c string) error { _, err := app.State(ctx, b, c); return err },
		"transcript": func(ctx context.Context, b, c string) error { _, err := app.Transcript(ctx, b, c, 0, 0); return err },
	}
	for name, f := range calls {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, f(t.Context(), "else", "c"), onereply.CodeNotFound, "bot")
			wantRefused(t, f(t.Context(), "bot", ""), onereply.CodeInvalid, "conversation")
			wantRefused(t, f(t.Context(), "bot", long), onereply.CodeInvalid, "conversation")
			wantRefused(t, f(t.Context(), "bot", "\xff"), onereply.CodeInvalid, "conversation")
		})
	}
	ctx := t.Context()
	one := func(_ any, err error) error { return err }
	for name, test := range map[string]struct {
		err   error
		code  onereply.Code
		field string
	}{
		"an edit of nothing":      {one(app.Edit(ctx, "bot", "c", "m", onereply.Edit{})), onereply.CodeInvalid, "text"},
		"an edit to a blank":      {one(app.Edit(ctx, "bot", "c", "m", onereply.Edit{Text: new(" ")})), onereply.CodeInvalid, "text"},
		"an edit without an id":   {one(app.Edit(ctx, "bot", "c", "", onereply.Edit{Text: new("x")})), onereply.CodeInvalid, "id"},
		"an edit at no time":      {one(app.Edit(ctx, "bot", "c", "m", onereply.Edit{Text: new("x"), EditedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})), onereply.CodeInvalid, "edited_at"},
		"a deletion without id":   {one(app.Retract(ctx, "bot", "c", long)), onereply.CodeInvalid, "id"},
		"typing for too long":     {app.Typing(ctx, "bot", "c", time.Hour), onereply.CodeInvalid, "for"},
		"typing backwards":        {app.Typing(ctx, "bot", "c", -1), onereply.CodeInvalid, "for"},
		"a long reason":           {one(app.Pause(ctx, "bot", "c", onereply.Pause{Reason: long})), onereply.CodeInvalid, "reason"},
		"a reason not in UTF-8":   {one(app.Pause(ctx, "bot", "c", onereply.Pause{Reason: "\xff"})), onereply.CodeInvalid, "reason"},
		"a reason with NUL":       {one(app.Pause(ctx, "bot", "c", onereply.Pause{Reason: "a\x00b"})), onereply.CodeInvalid, "reason"},
		"a reset with NUL":        {one(app.Reset(ctx, "bot", "c", "a\x00b")), onereply.CodeInvalid, "reason"},
		"a reset with a long one": {one(app.Reset(ctx, "bot", "c", long)), onereply.CodeInvalid, "reason"},
		"a report with NUL":       {one(app.ReportReply(ctx, "bot", "c", 1, onereply.ReplyReport{Status: onereply.ReplyFailed, Reason: "\x00"})), onereply.CodeInvalid, "reason"},
		"a long pause":            {one(app.Pause(ctx, "bot", "c", onereply.Pause{For: onereply.MaxPauseFor + 1})), onereply.CodeInvalid, "for"},
		"a pause before now":      {one(app.Pause(ctx, "bot", "c", onereply.Pause{For: -1})), onereply.CodeInvalid, "for"},
		"an answer with a bad id": {one(app.Answer(ctx, "bot", "c", onereply.HumanReply{Text: "x", ID: "\x00"})), onereply.CodeInvalid, "id"},
		"an answer for an age":    {one(app.Answer(ctx, "bot", "c", onereply.HumanReply{Text: "x", PauseFor: onereply.MaxPauseFor + 1})), onereply.CodeInvalid, "pause_for"},
		"a blank answer":          {one(app.Answer(ctx, "bot", "c", onereply.HumanReply{Text: " "})), onereply.CodeInvalid, "text"},
		"a seal of nothing":       {app.Seal(ctx, "bot", "c", 1), onereply.CodeConflict, "token"},
		"a state of nothing":      {one(app.State(ctx, "bot", "none")), onereply.CodeNotFound, "conversation"},
		"the end too long":        {one(app.TranscriptBefore(ctx, "bot", "c", 0, -1)), onereply.CodeInvalid, "limit"},
		"a transcript too long":   {one(app.Transcript(ctx, "bot", "c", 0, 1001)), onereply.CodeInvalid, "limit"},
		"a list of no bot":        {one(app.Conversations(ctx, onereply.ConversationQuery{Bot: "else"})), onereply.CodeNotFound, "bot"},
		"a list of no phase":      {one(app.Conversations(ctx, onereply.ConversationQuery{Phase: "asleep"})), onereply.CodeInvalid, "phase"},
		"a list that is too long": {one(app.Conversations(ctx, onereply.ConversationQuery{Limit: 1001})), onereply.CodeInvalid, "limit"},
	} {
		t.Run(name, func(t *testing.T) { wantRefused(t, test.err, test.code, test.field) })
	}
}

// Every mistake in the bots is reported at once.
func TestBotsWithMistakes(t *testing.T) {
	bad := onereply.Bot{
		Debounce: -2, MaxWait: -3, OnNewInput: "later", MaxDiscards: -2, Lease: time.Millisecond, History: 501, MediaWait: -2, UnknownSend: "maybe",
		Timeout: -1, Attempts: -2, Fallback: strings.Repeat("x", onereply.MaxTextBytes+1), RefusalText: strings.Repeat("x", onereply.MaxTextBytes+1), Notice: onereply.Notice{After: -1}, OutageNotice: onereply.Notice{After: 1}, RetryFor: -2, SendTimeout: -2, Pace: onereply.Pace{PerCharacter: -1, Least: 2 * time.Minute, Most: time.Second},
		GroupWait: -2, SplitAt: -1, SplitWait: -2, TurnsPerMinute: -1, Budget: onereply.Budget{Tokens: -1}, Start: "soon", EarlyAttempts: -1,
	}
	s := memory.New()
	defer s.Close()
	_, err := onereply.Open(t.Context(), s, onereply.Options{}, bad, onereply.Bot{Name: "twice", Responder: saying("")}, onereply.Bot{Name: "twice", Responder: saying("")})
	if err == nil {
		t.Fatal("it opens")
	}
	for _, want := range []string{
		"name", "Responder", "Debounce", "MaxWait", "OnNewInput", "MaxDiscards", "Lease", "History", "MediaWait", "UnknownSend",
		"Timeout", "Attempts", "Fallback", "RefusalText", "Notice needs", "OutageNotice needs", "RetryFor", "SendTimeout", "Pace.PerCharacter", "Pace.Least", "Pace.Most", "GroupWait", "SplitAt", "TurnsPerMinute", "Budget must", "Start must", "EarlyAttempts", "twice",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing is said about %s", want)
		}
	}
	if _, err := onereply.Open(t.Context(), s, onereply.Options{}); err == nil {
		t.Error("a node without bots opens")
	}
}
