package telegram

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
)

// Parse reads the update of a webhook.
func (t *Channel) Parse(r *channel.Request) (channel.Batch, error) {
	e, err := t.event(r.Body)
	return channel.Batch{Events: e}, err
}

// event reads one update.
func (t *Channel) event(raw []byte) ([]channel.Event, error) {
	var u update
	if err := json.Unmarshal(raw, &u); err != nil {
		return nil, fmt.Errorf("it is no update: %w", err)
	}
	switch {
	case u.Message != nil:
		return t.message(u.Message), nil
	case u.Business != nil:
		return t.message(u.Business), nil
	case u.Edited != nil:
		return t.edit(u.Edited), nil
	case u.EditedBusiness != nil:
		return t.edit(u.EditedBusiness), nil
	case u.Deleted != nil:
		var events []channel.Event
		to := addressOf(u.Deleted.Chat.ID, 0, u.Deleted.Business)
		for _, id := range u.Deleted.IDs {
			events = append(events, channel.Deletion{Chat: channel.Chat{To: to}, ID: u.Deleted.Chat.messageID(id)})
		}
		return events, nil
	}
	return skip(kindOf(raw)), nil
}

// kindOf names an update that is not read here: the API names it by its other field.
func kindOf(raw []byte) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields)
	for name := range fields {
		if name != "update_id" {
			return name
		}
	}
	return "empty"
}

func skip(kind string) []channel.Event { return []channel.Event{channel.Skipped{Kind: kind}} }

func idOf(id int64) string { return strconv.FormatInt(id, 10) }

// messageID names a message of this chat. The numbers of a supergroup's messages begin
// anew, and its conversation may have begun as a group, so they are said with the chat's.
func (c chat) messageID(id int64) string {
	if c.Type == "supergroup" {
		return idOf(c.ID) + "/" + idOf(id)
	}
	return idOf(id)
}

// addressOf is a chat's address: its number, the topic's number ("": none) and the
// business connection. What is empty at the end is left out.
func addressOf(chat, topic int64, business string) channel.Address {
	a := channel.Address{idOf(chat)}
	switch {
	case business != "" && topic == 0:
		return append(a, "", business)
	case business != "":
		return append(a, idOf(topic), business)
	case topic != 0:
		return append(a, idOf(topic))
	}
	return a
}

// address is where a message was written. A thread of replies in a group has a number too,
// and is no topic.
func (m *message) address() channel.Address {
	if !m.IsTopic {
		return addressOf(m.Chat.ID, 0, m.Business)
	}
	return addressOf(m.Chat.ID, m.Thread, m.Business)
}

func (t *Channel) message(m *message) []channel.Event {
	to := m.address()
	switch {
	case m.MigrateTo != 0:
		return []channel.Event{channel.Moved{From: to, To: addressOf(m.MigrateTo, 0, "")}}
	case m.MigrateFrom != 0:
		return []channel.Event{channel.Moved{From: addressOf(m.MigrateFrom, 0, ""), To: to}}
	case m.Chat.Type == "channel":
		return skip("channel_post")
	case t.isOwn(m):
		return []channel.Event{channel.Echo{Chat: channel.Chat{To: to}, ID: idOf(m.ID), Text: m.text()}}
	}
	text, attachments := m.text(), m.attachments()
	if strings.TrimSpace(text) == "" && len(attachments) == 0 {
		return skip("service message")
	}
	if m.byStaff() {
		return []channel.Event{channel.TakeOver{Chat: channel.Chat{To: to}, ID: m.Chat.messageID(m.ID), Text: orKind(text, attachments)}}
	}
	command := t.command(m)
	return []channel.Event{channel.Message{
		Chat:   channel.Chat{To: to},
		AtOnce: command != "",
		Message: onereply.Message{
			ID: m.Chat.messageID(m.ID), Text: t.withoutOwnName(text, command), Sender: m.sender(), SentAt: time.Unix(m.Date, 0).UTC(),
			ReplyTo: m.quote(), ForwardedFrom: m.Forward.person(), Attachments: attachments, Metadata: m.files(),
			Group: m.Album, Unaddressed: !t.isMeant(m, command),
		},
	}}
}

// edit is the edit of a message. A live location moves without being edited, and is
// skipped.
func (t *Channel) edit(m *message) []channel.Event {
	if m.Chat.Type == "channel" || t.isOwn(m) || m.byStaff() || m.Location != nil {
		return skip("edit")
	}
	attachments := m.attachments()
	text := t.withoutOwnName(m.text(), t.command(m))
	change := onereply.Edit{Text: &text, Attachments: &attachments}
	if m.EditDate != 0 {
		change.EditedAt = time.Unix(m.EditDate, 0).UTC()
	}
	return []channel.Event{channel.Edit{Chat: channel.Chat{To: m.address()}, ID: m.Chat.messageID(m.ID), Edit: change}}
}

// isOwn reports whether this very bot has sent the message, also for a business account.
func (t *Channel) isOwn(m *message) bool {
	return m.From != nil && m.From.ID == t.id || m.BusinessBot != nil && m.BusinessBot.ID == t.id
}

// byStaff reports whether somebody wrote it as the business account for which the bot
// answers: the owner on their phone, or another bot. The chat's number is the customer's.
func (m *message) byStaff() bool {
	return m.Business != "" && m.From != nil && m.From.ID != m.Chat.ID
}

func (m *message) text() string {
	switch {
	case m.Text != "":
		return m.Text
	case m.Caption != "":
		return m.Caption
	case m.Sticker != nil:
		return m.Sticker.Emoji
	case m.Location != nil:
		return m.Location.Latitude.String() + ", " + m.Location.Longitude.String()
	case m.Contact != nil:
		return strings.TrimSpace(strings.Join(nonEmpty(m.Contact.FirstName, m.Contact.LastName, m.Contact.Phone), " "))
	}
	return ""
}

// orKind is a text, or, where there is none, what came in its place.
func orKind(text string, attachments []onereply.Attachment) string {
	if strings.TrimSpace(text) == "" {
		return "[" + attachments[0].Kind + "]"
	}
	return text
}

func nonEmpty(texts ...string) (kept []string) {
	for _, text := range texts {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

// sender is who wrote the message. An anonymous admin, and somebody who writes as a
// channel, is that chat; the bot in whose name they write is Telegram's own.
func (m *message) sender() onereply.Person {
	switch {
	case m.SenderChat != nil:
		return onereply.Person{ID: idOf(m.SenderChat.ID), Name: m.SenderChat.Title}
	case m.From != nil:
		return m.From.person()
	}
	return onereply.Person{}
}

func (u *user) person() onereply.Person {
	name := strings.Join(nonEmpty(u.FirstName, u.LastName), " ")
	if name == "" {
		name = u.Username
	}
	return onereply.Person{ID: idOf(u.ID), Name: name, Bot: u.IsBot}
}

func (o *origin) person() onereply.Person {
	switch {
	case o == nil:
		return onereply.Person{}
	case o.User != nil:
		return o.User.person()
	case o.Sender != nil:
		return onereply.Person{ID: idOf(o.Sender.ID), Name: o.Sender.Title}
	case o.Chat != nil:
		return onereply.Person{ID: idOf(o.Chat.ID), Name: o.Chat.Title}
	}
	return onereply.Person{Name: o.UserName}
}

// quote is the message that a message answers. In a topic each message answers the one
// that opened it, which nobody meant.
func (m *message) quote() *onereply.Quote {
	r := m.ReplyTo
	if r == nil || m.IsTopic && r.ID == m.Thread {
		return nil
	}
	text := r.text()
	if m.Quote != nil && m.Quote.Text != "" {
		text = m.Quote.Text
	}
	return &onereply.Quote{ID: m.Chat.messageID(r.ID), Text: text, Sender: r.sender()}
}

// attachments are the files of the message. They have no address: that would hold the
// bot's token. The file's id is in the metadata.
func (m *message) attachments() []onereply.Attachment {
	var all []onereply.Attachment
	m.eachFile(func(kind string, f file) {
		all = append(all, onereply.Attachment{Kind: kind, MIMEType: f.MIMEType})
	})
	return all
}

// eachFile visits the files of a message. A photo comes in several sizes, the largest last.
// An animation is told as a document too.
func (m *message) eachFile(visit func(kind string, f file)) {
	if n := len(m.Photo); n > 0 {
		visit("image", m.Photo[n-1])
	}
	if m.Sticker != nil {
		visit("sticker", file{ID: m.Sticker.ID})
	}
	document := m.Document
	if m.Animation != nil {
		document = nil
	}
	for _, one := range []struct {
		kind string
		file *file
	}{{"animation", m.Animation}, {"document", document}, {"voice", m.Voice}, {"audio", m.Audio}, {"video", m.Video}, {"video", m.VideoNote}} {
		if one.file != nil {
			visit(one.kind, *one.file)
		}
	}
}

// files is the metadata: the ids by which getFile finds the files of the message. nil: it
// has none.
func (m *message) files() json.RawMessage {
	type named struct {
		Kind string `json:"kind"`
		ID   string `json:"file_id"`
		Name string `json:"name,omitempty"`
	}
	var all []named
	m.eachFile(func(kind string, f file) { all = append(all, named{kind, f.ID, f.Name}) })
	if all == nil {
		return nil
	}
	raw, err := json.Marshal(map[string]any{"telegram": map[string]any{"files": all}})
	if err != nil {
		return nil
	}
	return raw
}

// name is the bot's username, "" while it is not known.
func (t *Channel) name() string {
	if name := t.username.Load(); name != nil {
		return *name
	}
	return ""
}

// spans visits the marked parts of the text, or of the caption.
func (m *message) spans(visit func(s span, text string)) {
	text, spans := m.Text, m.Entities
	if text == "" {
		text, spans = m.Caption, m.CaptionSpans
	}
	units := utf16.Encode([]rune(text))
	for _, s := range spans {
		if s.Offset >= 0 && s.Length > 0 && s.Offset <= len(units)-s.Length {
			visit(s, string(utf16.Decode(units[s.Offset:s.Offset+s.Length])))
		}
	}
}

// command is the command with which the message begins, such as /start or /start@name_bot;
// "": there is none, or it is for another bot.
func (t *Channel) command(m *message) (command string) {
	m.spans(func(s span, text string) {
		if s.Type != "bot_command" || s.Offset != 0 {
			return
		}
		_, name, named := strings.Cut(text, "@")
		if !named || t.name() == "" || strings.EqualFold(name, t.name()) {
			command = text
		}
	})
	return command
}

// withoutOwnName is the text without the bot's name behind its command: /stop@name_bot is
// the command /stop.
func (t *Channel) withoutOwnName(text, command string) string {
	plain, _, named := strings.Cut(command, "@")
	if !named {
		return text
	}
	return plain + strings.TrimPrefix(text, command)
}

// isMeant reports whether a message is for the bot. In a group it is if it is a command for
// the bot, mentions it, or answers one of its messages. While the bot's name is not known,
// any mention counts.
func (t *Channel) isMeant(m *message, command string) bool {
	if m.Chat.Type == "private" || m.Business != "" || command != "" {
		return true
	}
	if m.ReplyTo != nil && m.ReplyTo.From != nil && m.ReplyTo.From.ID == t.id {
		return true
	}
	meant := false
	m.spans(func(s span, text string) {
		switch s.Type {
		case "mention":
			meant = meant || t.name() == "" || strings.EqualFold(text, "@"+t.name())
		case "text_mention":
			meant = meant || s.User != nil && s.User.ID == t.id
		}
	})
	return meant
}
