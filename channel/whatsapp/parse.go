package whatsapp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
)

// maxChallenge bounds what Meta asks to have repeated.
const maxChallenge = 1024

// Parse reads a webhook, or answers the request by which Meta verifies the address.
func (c *Channel) Parse(r *channel.Request) (channel.Batch, error) {
	if r.Method == http.MethodGet {
		challenge := r.URL.Query().Get("hub.challenge")
		if challenge == "" || len(challenge) > maxChallenge {
			return channel.Batch{}, errors.New("hub.challenge must have 1 to 1024 bytes")
		}
		return channel.Batch{Answer: &channel.Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(challenge)}}, nil
	}
	var whole envelope
	if err := json.Unmarshal(r.Body, &whole); err != nil {
		return channel.Batch{}, fmt.Errorf("it is no webhook: %w", err)
	}
	if whole.Object != "whatsapp_business_account" {
		return channel.Batch{Events: skip(cmp.Or(whole.Object, "empty"))}, nil
	}
	var batch channel.Batch
	for _, entry := range whole.Entry {
		for _, change := range entry.Changes {
			batch.Events = append(batch.Events, c.change(change.Field, change.Value)...)
		}
	}
	return batch, nil
}

func skip(kind string) []channel.Event { return []channel.Event{channel.Skipped{Kind: kind}} }

// change reads one change. Meta posts the events of all numbers of an app to one address,
// so those of another number are left to others.
func (c *Channel) change(field string, raw json.RawMessage) []channel.Event {
	var v value
	if err := json.Unmarshal(raw, &v); err != nil {
		return skip(field)
	}
	if v.Metadata.ID != "" && v.Metadata.ID != c.phone {
		return skip("another number")
	}
	var events []channel.Event
	switch field {
	case "messages":
		events = append(each(v.Messages, "message", func(m *message) channel.Event { return c.message(&v, m) }),
			each(v.Statuses, "status", c.status)...)
	case "smb_message_echoes":
		events = each(v.Echoes, "echo", func(m *message) channel.Event { return c.echo(&v, m) })
	case "standby":
		events = append(each(v.Messages, "message", func(m *message) channel.Event { return overheard(c.message(&v, m)) }),
			each(v.Echoes, "echo", func(m *message) channel.Event { return c.echo(&v, m) })...)
	case "user_id_update":
		events = each(v.NewIDs, field, func(n *newID) channel.Event { return c.moved(n.UserID.Previous, n.UserID.Current, field) })
	}
	if events == nil {
		return skip(cmp.Or(field, "empty"))
	}
	return events
}

// each reads events of one kind. One that can't be read changes nothing.
func each[T any](raw []json.RawMessage, kind string, read func(*T) channel.Event) (events []channel.Event) {
	for _, one := range raw {
		var t T
		if err := json.Unmarshal(one, &t); err != nil {
			events = append(events, channel.Skipped{Kind: "unreadable " + kind})
			continue
		}
		events = append(events, read(&t))
	}
	return events
}

// person is the address of somebody's chat: that of their id, if it is known. The phone
// number is another name of the chat then.
func (c *Channel) person(userID, phone string) channel.Chat {
	if userID == "" {
		return channel.Chat{To: channel.Address{c.phone, phone}}
	}
	chat := channel.Chat{To: channel.Address{c.phone, userID}}
	if phone != "" {
		chat.Also = []channel.Address{{c.phone, phone}}
	}
	return chat
}

// groupWord is the second part of a group's address. It is the id of no person, and no
// phone number.
const groupWord = "group"

func (c *Channel) group(id string) channel.Chat {
	return channel.Chat{To: channel.Address{c.phone, groupWord, id}}
}

// message is the event of a message. A person must have a name of either kind: without one
// nobody could be answered.
func (c *Channel) message(v *value, m *message) channel.Event {
	if m.Type == "system" && m.System != nil {
		return c.renamed(m)
	}
	if m.From == "" && m.FromUserID == "" {
		return channel.Skipped{Kind: "message of nobody"}
	}
	chat := c.person(m.FromUserID, m.From)
	if m.Group != "" {
		chat = c.group(m.Group)
	}
	switch {
	case m.Edit != nil && m.Edit.Message != nil && m.Edit.Original != "":
		return edit(chat, m)
	case m.Revoke != nil && m.Revoke.Original != "":
		return channel.Deletion{Chat: chat, ID: m.Revoke.Original}
	case m.isEmpty() || m.ID == "":
		return channel.Skipped{Kind: cmp.Or(m.Type, "message")}
	}
	return channel.Message{Chat: chat, Message: onereply.Message{
		ID: m.ID, Text: m.text(), Sender: v.sender(m), SentAt: m.Time.time(),
		ReplyTo: v.quote(m), ForwardedFrom: m.forwarded(), Attachments: m.attachments(), Metadata: m.files(),
	}}
}

func edit(chat channel.Chat, m *message) channel.Event {
	text := m.Edit.Message.text()
	change := onereply.Edit{Text: &text, EditedAt: m.Time.time()}
	if attachments := m.Edit.Message.attachments(); attachments != nil {
		change.Attachments = &attachments
	}
	return channel.Edit{Chat: chat, ID: m.Edit.Original, Edit: change}
}

// overheard makes an event what is only told to us: while another program, such as Meta's
// own agent, answers a person, their messages are context and not work.
func overheard(e channel.Event) channel.Event {
	if m, ok := e.(channel.Message); ok {
		m.Context = true
		return m
	}
	return e
}

// echo is a message that somebody else sent from this number: staff in WhatsApp's own app,
// or Meta's agent. What they edit or delete changes nothing.
func (c *Channel) echo(v *value, m *message) channel.Event {
	if m.isEmpty() || m.ID == "" || m.Edit != nil || m.Revoke != nil || m.To == "" && m.ToUserID == "" {
		return channel.Skipped{Kind: "echo of " + cmp.Or(m.Type, "nothing")}
	}
	text := m.text()
	if attachments := m.attachments(); text == "" {
		text = "[" + attachments[0].Kind + "]"
	}
	chat := c.person(cmp.Or(m.ToUserID, v.userID(m.To)), m.To)
	if m.Group != "" {
		chat = c.group(m.Group)
	}
	return channel.TakeOver{Chat: chat, ID: m.ID, Text: text}
}

// renamed is a message that says that somebody has another number, or another id.
func (c *Channel) renamed(m *message) channel.Event {
	s := m.System
	switch s.Type {
	case "user_changed_user_id":
		old := cmp.Or(s.OldUserID, oldID(s.Body))
		if old == "" && m.FromUserID != s.UserID {
			old = m.FromUserID
		}
		return c.moved(cmp.Or(old, m.From), s.UserID, s.Type)
	case "user_changed_number":
		if m.FromUserID != "" && cmp.Or(s.UserID, m.FromUserID) == m.FromUserID {
			break // the next message joins the new number with the id
		}
		return c.moved(cmp.Or(m.FromUserID, m.From), cmp.Or(s.UserID, s.Phone), s.Type)
	}
	return channel.Skipped{Kind: cmp.Or(s.Type, "system")}
}

// oldIDForm finds the id before the change in the text that tells of it.
var oldIDForm = regexp.MustCompile(` from ([A-Z]{2}\.[A-Za-z0-9.]{1,140}) to `)

func oldID(body string) string {
	if found := oldIDForm.FindStringSubmatch(body); found != nil {
		return found[1]
	}
	return ""
}

func (c *Channel) moved(from, to, kind string) channel.Event {
	if from == "" || to == "" || from == to {
		return channel.Skipped{Kind: kind}
	}
	return channel.Moved{From: channel.Address{c.phone, from}, To: channel.Address{c.phone, to}}
}

// status is what became of a message of ours. The first one, sent, says no more than that
// WhatsApp took it: it may still fail.
func (c *Channel) status(s *status) channel.Event {
	if s.ID == "" || s.Recipient == "" && s.RecipientID == "" {
		return channel.Skipped{Kind: "status"}
	}
	chat := c.person(s.RecipientID, s.Recipient)
	if s.Kind == "group" {
		chat = c.group(s.Recipient)
	}
	report := channel.Report{Chat: chat, ID: s.ID, Part: s.Part}
	switch s.Status {
	case "delivered":
		report.Status = onereply.ReplyDelivered
	case "read":
		report.Status = onereply.ReplyRead
	case "failed":
		report.Status, report.Reason = onereply.ReplyFailed, "WhatsApp gives no reason"
		if len(s.Errors) > 0 {
			report.Reason = s.Errors[0].explain()
		}
	default:
		return channel.Skipped{Kind: "status " + cmp.Or(s.Status, "unknown")}
	}
	return report
}
