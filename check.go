package onereply

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// checkName checks a conversation or a message id.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("it must not be empty")
	case len(name) > MaxNameBytes:
		return fmt.Errorf("it has %d bytes, more than %d", len(name), MaxNameBytes)
	case !utf8.ValidString(name):
		return errors.New("it is not valid UTF-8")
	case strings.ContainsRune(name, 0):
		return errors.New("it must not contain NUL")
	}
	return nil
}

// checkReason checks a reason that was given for an action; "" is none.
func checkReason(reason string) error {
	if reason == "" {
		return nil
	}
	return checkName(reason)
}

// errBlank refuses a blank text.
var errBlank = errors.New("it must not be blank")

// checkText checks a text; blank tells whether it may be blank.
func checkText(text string, blank bool) error {
	switch {
	case len(text) > MaxTextBytes:
		return fmt.Errorf("it has %d bytes, more than %d", len(text), MaxTextBytes)
	case !utf8.ValidString(text):
		return errors.New("it is not valid UTF-8")
	case !blank && strings.TrimSpace(text) == "":
		return errBlank
	}
	return nil
}

// checkWritten checks the text of a message, which may be blank beside an attachment.
func checkWritten(text string, attached bool) error {
	err := checkText(text, attached)
	if errors.Is(err, errBlank) {
		err = fmt.Errorf("%w, unless there is an attachment", err)
	}
	return err
}

// checkPause checks how long a pause lasts.
func checkPause(d time.Duration) error {
	if d < 0 || d > MaxPauseFor {
		return fmt.Errorf("it must be 0 to %v", MaxPauseFor)
	}
	return nil
}

// checkReply returns the field that is at fault.
func checkReply(r HumanReply) (string, error) {
	if r.ID != "" {
		if err := checkName(r.ID); err != nil {
			return "id", err
		}
	}
	if err := checkText(r.Text, false); err != nil {
		return "text", err
	}
	return "pause_for", checkPause(r.PauseFor)
}

// checkMessage returns the field that is at fault. The metadata may have so many bytes.
func checkMessage(m Message, metadata int) (string, error) {
	if m.ID != "" {
		if err := checkName(m.ID); err != nil {
			return "id", err
		}
	}
	if err := checkWritten(m.Text, len(m.Attachments) > 0); err != nil {
		return "text", err
	}
	if err := checkPerson(m.Sender); err != nil {
		return "sender", err
	}
	if err := checkPerson(m.ForwardedFrom); err != nil {
		return "forwarded_from", err
	}
	if err := checkQuote(m.ReplyTo); err != nil {
		return "reply_to", err
	}
	if len(m.Metadata) > metadata {
		return "metadata", fmt.Errorf("it has %d bytes, more than %d", len(m.Metadata), metadata)
	}
	if len(m.Metadata) > 0 && !json.Valid(m.Metadata) {
		return "metadata", errors.New("it is not JSON")
	}
	if err := checkInstant(m.SentAt); err != nil {
		return "sent_at", err
	}
	return "attachments", checkAttachments(m.Attachments)
}

func checkPerson(p Person) error {
	if len(p.ID)+len(p.Name) > MaxSenderBytes {
		return fmt.Errorf("id and name have more than %d bytes", MaxSenderBytes)
	}
	if !utf8.ValidString(p.ID) || !utf8.ValidString(p.Name) {
		return errors.New("it is not valid UTF-8")
	}
	return nil
}

func checkQuote(q *Quote) error {
	if q == nil {
		return nil
	}
	if q.ID != "" {
		if err := checkName(q.ID); err != nil {
			return fmt.Errorf("id: %w", err)
		}
	}
	if err := checkText(q.Text, true); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	if err := checkPerson(q.Sender); err != nil {
		return fmt.Errorf("sender: %w", err)
	}
	return nil
}

// checkInstant checks a time that a channel gave; the zero one is none.
func checkInstant(at time.Time) error {
	if y := at.Year(); !at.IsZero() && (y < 1970 || y > 9999) {
		return errors.New("its year must be 1970 to 9999")
	}
	return nil
}

func checkAttachments(attachments []Attachment) error {
	if len(attachments) > MaxAttachments {
		return fmt.Errorf("there are %d, more than %d", len(attachments), MaxAttachments)
	}
	for i, a := range attachments {
		text := a.Kind + a.URL + a.MIMEType
		if text == "" {
			return fmt.Errorf("number %d is empty: give a kind or a url", i+1)
		}
		if len(text) > MaxAttachmentBytes {
			return fmt.Errorf("number %d has more than %d bytes", i+1, MaxAttachmentBytes)
		}
		if !utf8.ValidString(text) {
			return fmt.Errorf("number %d is not valid UTF-8", i+1)
		}
	}
	return nil
}

// checkChange returns the field that is at fault.
func checkChange(c Edit) (string, error) {
	if c.Text == nil && c.Attachments == nil {
		return "text", errors.New("text or attachments must be given")
	}
	if c.Attachments != nil {
		if err := checkAttachments(*c.Attachments); err != nil {
			return "attachments", err
		}
	}
	if err := checkInstant(c.EditedAt); err != nil {
		return "edited_at", err
	}
	if c.Text != nil {
		return "text", checkWritten(*c.Text, c.Attachments != nil && len(*c.Attachments) > 0)
	}
	return "", nil
}
