package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/onereply/onereply"
)

// messageBody is the body of a message. A field that is null counts as absent. A pointer
// tells an absent field from an empty one, where the two mean different things: an absent
// id is made by the App, and an absent addressed is true.
type messageBody struct {
	Kind        string                `json:"kind"` // "" or "message"; other kinds need no answer
	ID          *string               `json:"id"`
	Text        string                `json:"text"`
	Sender      onereply.Person       `json:"sender"`
	SentAt      *string               `json:"sent_at"`
	ReplyTo     *quoteBody            `json:"reply_to"`
	Forwarded   origin                `json:"forwarded_from"`
	Attachments []onereply.Attachment `json:"attachments"`
	Metadata    json.RawMessage       `json:"metadata"`
	Group       string                `json:"group"`
	FromMe      bool                  `json:"from_me"`
	Addressed   *bool                 `json:"addressed"`
	Context     bool                  `json:"context"`
}

// quoteBody is the message that a message answers.
type quoteBody struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Sender origin `json:"sender"`
}

// origin is the author of a message that is quoted or forwarded. A text is the name: of
// such an author channels often tell no more.
type origin onereply.Person

// UnmarshalJSON reads a person, or a name.
func (o *origin) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &o.Name)
	}
	return json.Unmarshal(raw, (*onereply.Person)(o))
}

// hasNoEffect reports whether it is a reaction, a receipt, or another thing that does not
// change what should be answered. Adapters may pass on everything that a provider sends,
// without knowing which kinds count.
func (b *messageBody) hasNoEffect() bool { return b.Kind != "" && b.Kind != "message" }

// message is the body as the library has it, or the problem with one of its fields. The
// App checks lengths and texts itself; here is only what JSON can get wrong.
func (b *messageBody) message() (onereply.Message, error) {
	m := onereply.Message{
		Text:        b.Text,
		Sender:      b.Sender,
		Attachments: b.Attachments,
		Group:       b.Group,
		FromMe:      b.FromMe,
		Unaddressed: b.Addressed != nil && !*b.Addressed,
		Context:     b.Context,

		ForwardedFrom: onereply.Person(b.Forwarded),
	}
	if q := b.ReplyTo; q != nil {
		m.ReplyTo = &onereply.Quote{ID: q.ID, Text: q.Text, Sender: onereply.Person(q.Sender)}
	}
	if string(b.Metadata) != "null" {
		m.Metadata = b.Metadata
	}
	if b.ID != nil {
		// An empty id would be replaced by a new one each time: no repeat would be recognised.
		if err := checkName("id", *b.ID); err != nil {
			return m, err
		}
		m.ID = *b.ID
	}
	var err error
	m.SentAt, err = instant("sent_at", b.SentAt)
	return m, err
}

// instant reads the time of a field, as the provider says it. It orders messages and
// edits, so a time that can't be read is refused and not ignored.
func instant(field string, text *string) (time.Time, error) {
	if text == nil {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, *text)
	if year := at.UTC().Year(); err != nil || year < 1 || year > 9999 {
		return time.Time{}, errField(field, "It must be a time as in RFC 3339, such as 2026-01-31T12:00:00.000Z.")
	}
	return at, nil
}

// reasonNoEffect is the reason in receipts of things that need no answer.
const reasonNoEffect = "no_effect"

// postMessage takes in a message: the one call that people wait for. 202 means that the
// message is durable; no model has run. The receipt of a repeat is that of the first
// time, marked as a duplicate. If the answer is lost on its way, the client sends the
// same id again and gets that receipt. Without an id no repeat can be recognised.
func (s *Server) postMessage(w http.ResponseWriter, r *http.Request) error {
	var body messageBody
	err := decode(w, r, &body)
	// Other kinds than messages may have fields of the same name and another type.
	if body.hasNoEffect() && (err == nil || problemOf(err).kind == kindWrongType) {
		return s.ignore(w, r, &body)
	}
	if err != nil {
		return err
	}
	message, err := body.message()
	if err != nil {
		return err
	}
	got, err := s.app.Receive(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), message)
	return accepted(w, got, err)
}

// ignore answers things that are no message with success, so that no provider sends them
// again. It stores nothing. The receipt has the version of the conversation, 0 where
// there is none.
func (s *Server) ignore(w http.ResponseWriter, r *http.Request, body *messageBody) error {
	known, err := s.app.State(r.Context(), r.PathValue("bot"), r.PathValue("conversation"))
	var refused *onereply.Error
	if err != nil && !(errors.As(err, &refused) && refused.Code == onereply.CodeNotFound) {
		return err
	}
	s.metrics.ignored.Add(1)
	got := onereply.Receipt{Version: known.Version, Outcome: onereply.OutcomeIgnored, Reason: reasonNoEffect}
	if body.ID != nil {
		got.MessageID = *body.ID
	}
	return accepted(w, got, nil)
}

// patchMessage edits a message. While the message waits the edit is a new input: a
// running attempt that saw the old text is discarded. After the reply an edit is shown,
// and nothing is answered anew; the receipt says that it was recorded.
func (s *Server) patchMessage(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Text        *string                `json:"text"`
		Attachments *[]onereply.Attachment `json:"attachments"`
		EditedAt    *string                `json:"edited_at"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.Text == nil && body.Attachments == nil {
		return errField("text", "Give text, attachments, or both: what the message is now.")
	}
	at, err := instant("edited_at", body.EditedAt)
	if err != nil {
		return err
	}
	change := onereply.Edit{Text: body.Text, Attachments: body.Attachments, EditedAt: at}
	got, err := s.app.Edit(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), r.PathValue("id"), change)
	return accepted(w, got, err)
}

// deleteMessage retracts a message. While it waits that is a new input too; after the
// reply it is erased. The text is removed from the store either way, and the id stays
// known, so that a late repeat does not bring the message back.
func (s *Server) deleteMessage(w http.ResponseWriter, r *http.Request) error {
	got, err := s.app.Retract(r.Context(), r.PathValue("bot"), r.PathValue("conversation"), r.PathValue("id"))
	return accepted(w, got, err)
}

// accepted acknowledges an input, after the App has.
func accepted(w http.ResponseWriter, got onereply.Receipt, err error) error {
	if err != nil {
		return err
	}
	return respond(w, http.StatusAccepted, got)
}
