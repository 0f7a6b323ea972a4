package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
)

// maxChallenge bounds what Slack asks to have repeated.
const maxChallenge = 1024

// Parse reads a request, or answers the one by which Slack verifies the address.
func (c *Channel) Parse(r *channel.Request) (channel.Batch, error) {
	var whole envelope
	if err := json.Unmarshal(r.Body, &whole); err != nil {
		return channel.Batch{}, fmt.Errorf("it is no event: %w", err)
	}
	switch whole.Type {
	case "url_verification":
		if whole.Challenge == "" || len(whole.Challenge) > maxChallenge {
			return channel.Batch{}, errors.New("the challenge must have 1 to 1024 bytes")
		}
		return channel.Batch{Answer: &channel.Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(whole.Challenge)}}, nil
	case "event_callback":
		return channel.Batch{Events: []channel.Event{c.event(&whole)}}, nil
	}
	return channel.Batch{Events: []channel.Event{channel.Skipped{Kind: cmp.Or(whole.Type, "empty")}}}, nil
}

// reading is one event, with the workspace, app and bot for which it came.
type reading struct {
	*event
	team string
	app  string
	self identity
}

// event reads one event. One of an unknown form changes nothing: it would come again
// otherwise.
func (c *Channel) event(whole *envelope) channel.Event {
	var e event
	if err := json.Unmarshal(whole.Event, &e); err != nil {
		return channel.Skipped{Kind: "unreadable event"}
	}
	if e.Type != "message" && e.Type != "app_mention" {
		return channel.Skipped{Kind: cmp.Or(e.Type, "empty event")}
	}
	if whole.Team == "" || e.Channel == "" {
		return channel.Skipped{Kind: e.Type + " of nowhere"}
	}
	r := reading{event: &e, team: whole.Team, app: whole.App}
	if known := c.self.Load(); known != nil {
		r.self = *known
	}
	for _, a := range whole.Authorizations {
		if a.IsBot && r.self.User == "" {
			r.self.User = a.User
		}
	}
	switch e.Subtype {
	case "message_changed":
		return r.changed()
	case "message_deleted":
		return r.deleted()
	}
	return r.written()
}

// isDirect reports whether the event is of a chat with the bot alone. The channels of such
// chats have a letter of their own, and mentions don't tell their type.
func (r *reading) isDirect() bool {
	return r.ChannelType == "im" || r.ChannelType == "" && strings.HasPrefix(r.Channel, "D")
}

// chat is where a message was written: in its thread, or in the one that it begins. In a
// direct chat those in no thread are one conversation.
func (r *reading) chat(m *message) channel.Chat {
	to := channel.Address{r.team, r.Channel}
	switch {
	case m.Thread != "":
		to = append(to, m.Thread)
	case !r.isDirect():
		to = append(to, m.TS)
	}
	return channel.Chat{To: to}
}

// isOwn reports whether this very app has posted the message.
func (r *reading) isOwn(m *message) bool {
	own := m.App != "" && m.App == r.app || m.BotProfile != nil && m.BotProfile.App != "" && m.BotProfile.App == r.app
	return own || m.Bot != "" && m.Bot == r.self.Bot || m.User != "" && m.User == r.self.User
}

// isMeant reports whether a message is for the bot. While the bot's own name is not known,
// any mention counts.
func (r *reading) isMeant(text string) bool {
	return r.isDirect() || r.Type == "app_mention" || mentions(text, r.self.User)
}

// subtypes are those of messages that people write.
var subtypes = []string{"", "file_share", "thread_broadcast", "me_message", "bot_message"}

func (r *reading) written() channel.Event {
	m := &r.message
	m.Subtype = r.Subtype
	text, attachments := plain(m.Text, r.self.User), m.attachments()
	switch {
	case !slices.Contains(subtypes, m.Subtype):
		return channel.Skipped{Kind: m.Subtype}
	case m.TS == "" || m.User == "" && m.Bot == "":
		return channel.Skipped{Kind: "message of nobody"}
	case r.isOwn(m):
		return channel.Echo{Chat: r.chat(m), ID: m.TS, Text: unescape.Replace(m.Text)}
	case strings.TrimSpace(text) == "" && attachments == nil:
		return channel.Skipped{Kind: "empty message"}
	}
	return channel.Message{Chat: r.chat(m), Message: onereply.Message{
		ID: m.TS, Text: text, Sender: m.sender(), SentAt: timeOf(m.TS), Attachments: attachments, Metadata: m.files(),
		Unaddressed: !r.isMeant(m.Text),
	}}
}

// changed is an edit. Slack also tells of one when it shows a link's preview, and when a
// thread grows: the message reads as before then.
func (r *reading) changed() channel.Event {
	now, before := r.Message, r.Previous
	switch {
	case now == nil || now.TS == "" || r.isOwn(now):
		return channel.Skipped{Kind: "message_changed"}
	case now.Subtype == "tombstone":
		return r.withdrawn(now, before)
	case before != nil && before.Text == now.Text && len(before.Files) == len(now.Files):
		return channel.Skipped{Kind: "message_changed without an edit"}
	case !r.concerns(now, before):
		return channel.Skipped{Kind: "edit of a message of others"}
	}
	text, attachments := plain(now.Text, r.self.User), now.attachments()
	change := onereply.Edit{Text: &text, Attachments: &attachments, EditedAt: timeOf(r.EventTS)}
	if now.Edited != nil {
		change.EditedAt = timeOf(now.Edited.TS)
	}
	return channel.Edit{Chat: r.chat(now), ID: now.TS, Edit: change}
}

func (r *reading) deleted() channel.Event {
	gone := &message{TS: cmp.Or(r.Deleted, r.TS)}
	if r.Previous != nil {
		gone.Thread = r.Previous.Thread
	}
	return r.withdrawn(gone, r.Previous)
}

func (r *reading) withdrawn(m, before *message) channel.Event {
	if m.TS == "" || before != nil && r.isOwn(before) || !r.concerns(m, before) {
		return channel.Skipped{Kind: "deletion of a message of others"}
	}
	return channel.Deletion{Chat: r.chat(m), ID: m.TS}
}

// concerns reports whether the bot can have got the message: else each edit in a busy
// channel would be kept for a message that never comes.
func (r *reading) concerns(now, before *message) bool {
	return now.Thread != "" || r.isMeant(now.Text) || before != nil && r.isMeant(before.Text)
}

func (m *message) sender() onereply.Person {
	p := onereply.Person{ID: cmp.Or(m.User, m.Bot), Name: m.Username, Bot: m.Bot != "" || m.Subtype == "bot_message"}
	switch {
	case m.Profile != nil:
		p.Name = cmp.Or(m.Profile.Display, m.Profile.Real, m.Profile.Name, p.Name)
	case m.BotProfile != nil:
		p.Name = cmp.Or(m.BotProfile.Name, p.Name)
	}
	return p
}

// attachments are the files of the message. They have no address: who fetches a file needs
// the token. Its id is in the metadata.
func (m *message) attachments() (all []onereply.Attachment) {
	for _, f := range m.Files {
		if f.Mode != "tombstone" {
			all = append(all, onereply.Attachment{Kind: f.kind(), MIMEType: f.MIMEType})
		}
	}
	return all
}

func (f file) kind() string {
	switch kind, _, _ := strings.Cut(f.MIMEType, "/"); kind {
	case "image", "audio", "video":
		return kind
	}
	return "document"
}

// files is the metadata: the ids by which the API gives the files of the message. nil: it
// has none.
func (m *message) files() json.RawMessage {
	type named struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
		Name string `json:"name,omitempty"`
	}
	var all []named
	for _, f := range m.Files {
		if f.Mode != "tombstone" {
			all = append(all, named{f.kind(), f.ID, f.Name})
		}
	}
	if all == nil {
		return nil
	}
	raw, err := json.Marshal(map[string]any{"slack": map[string]any{"files": all}})
	if err != nil {
		return nil
	}
	return raw
}
