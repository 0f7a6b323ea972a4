package whatsapp

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/onereply/onereply"
)

// isEmpty reports whether there is nothing to answer: a reaction, a kind that WhatsApp does
// not tell businesses, or one that is not known here.
func (m *message) isEmpty() bool {
	return strings.TrimSpace(m.text()) == "" && m.attachments() == nil
}

// text is what the message says, whatever its kind.
func (m *message) text() string {
	switch {
	case m.Text != nil:
		return m.Text.Body
	case m.Button != nil:
		return m.Button.Text
	case m.Interactive != nil:
		return m.Interactive.text()
	case m.Location != nil:
		return m.Location.text()
	case len(m.Contacts) > 0:
		return cards(m.Contacts)
	case m.Order != nil:
		return m.Order.text()
	}
	for _, f := range m.media() {
		if f.Caption != "" {
			return f.Caption
		}
	}
	return ""
}

func (i *interactive) text() string {
	switch {
	case i.Button != nil:
		return i.Button.Title
	case i.List != nil:
		return i.List.Title
	case i.Form != nil:
		return cmp.Or(i.Form.JSON, i.Form.Body)
	}
	return ""
}

func (l *location) text() string {
	at := l.Latitude.String() + ", " + l.Longitude.String()
	return strings.Join(nonEmpty(l.Name, l.Address, at), ", ")
}

func cards(contacts []card) string {
	var lines []string
	for _, c := range contacts {
		said := nonEmpty(c.Name.Formatted)
		for _, p := range c.Phones {
			said = append(said, p.Phone)
		}
		lines = append(lines, strings.Join(nonEmpty(said...), " "))
	}
	return strings.Join(nonEmpty(lines...), "\n")
}

func (o *order) text() string {
	lines := nonEmpty(o.Text)
	for _, item := range o.Items {
		lines = append(lines, strings.Join(nonEmpty(item.Quantity.String(), "×", item.Product), " "))
	}
	return strings.Join(lines, "\n")
}

func nonEmpty(texts ...string) (kept []string) {
	for _, text := range texts {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

// file is a file of a message.
type file struct {
	kind string
	*media
}

func (m *message) media() (files []file) {
	for _, f := range []file{{"image", m.Image}, {"audio", m.Audio}, {"video", m.Video}, {"document", m.Document}, {"sticker", m.Sticker}} {
		if f.media == nil {
			continue
		}
		if f.Voice {
			f.kind = "voice"
		}
		files = append(files, f)
	}
	return files
}

// attachments are the files of the message. They have no address: who fetches a file needs
// the token. Its id is in the metadata.
func (m *message) attachments() (all []onereply.Attachment) {
	for _, f := range m.media() {
		all = append(all, onereply.Attachment{Kind: f.kind, MIMEType: f.MIMEType})
	}
	return all
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
	for _, f := range m.media() {
		all = append(all, named{f.kind, f.ID, f.Name})
	}
	if all == nil {
		return nil
	}
	raw, err := json.Marshal(map[string]any{"whatsapp": map[string]any{"media": all}})
	if err != nil {
		return nil
	}
	return raw
}

// sender is who wrote a message. The change names them apart from it.
func (v *value) sender(m *message) onereply.Person {
	p := onereply.Person{ID: cmp.Or(m.FromUserID, m.From)}
	for _, c := range v.Contacts {
		if m.FromUserID != "" && c.UserID == m.FromUserID || m.From != "" && c.Phone == m.From {
			p.Name = cmp.Or(c.Profile.Name, c.Profile.Username)
		}
	}
	return p
}

// userID is the id of somebody with this phone number, "" where it is not told.
func (v *value) userID(phone string) string {
	for _, c := range v.Contacts {
		if phone != "" && c.Phone == phone {
			return c.UserID
		}
	}
	return ""
}

// quote is the message that a message answers. WhatsApp tells its id and who wrote it; if
// that is the business, the bot did, or staff.
func (v *value) quote(m *message) *onereply.Quote {
	if m.Context == nil || m.Context.ID == "" {
		return nil
	}
	own := v.Metadata.Number != "" && m.Context.From == v.Metadata.Number
	return &onereply.Quote{ID: m.Context.ID, Sender: onereply.Person{ID: m.Context.From, Bot: own}}
}

// forwarded says that a message was forwarded. WhatsApp names nobody.
func (m *message) forwarded() onereply.Person {
	if m.Context != nil && (m.Context.Forwarded || m.Context.FrequentlyForwarded) {
		return onereply.Person{Name: "unknown"}
	}
	return onereply.Person{}
}
