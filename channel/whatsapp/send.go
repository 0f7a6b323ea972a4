package whatsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/internal/upstream"
)

// outgoing is a message that is sent. One of To and Recipient is set.
type outgoing struct {
	Product   string `json:"messaging_product"`
	Kind      string `json:"recipient_type"`      // individual or group
	To        string `json:"to,omitempty"`        // a phone number, or a group
	Recipient string `json:"recipient,omitempty"` // a person's id
	Type      string `json:"type"`
	Text      struct {
		Body string `json:"body"`
	} `json:"text"`
	Part string `json:"biz_opaque_callback_data,omitempty"` // comes back with each status
}

// maxOpaque is how long the text may be that comes back with each status.
const maxOpaque = 512

// outgoingTo addresses a message. A person's id has a dot, which no phone number has.
func (c *Channel) outgoingTo(a channel.Address) (*outgoing, error) {
	o := &outgoing{Product: "whatsapp", Kind: "individual", Type: "text"}
	switch {
	case len(a) < 2 || a[0] != c.phone:
		return nil, fmt.Errorf("the conversation belongs to another number than phone_number_id %s", c.phone)
	case len(a) == 3 && a[1] == groupWord && a[2] != "":
		o.Kind, o.To = "group", a[2]
	case len(a) != 2 || a[1] == "":
		return nil, errors.New("the address must be that of a person or a group")
	case strings.Contains(a[1], "."):
		o.Recipient = a[1]
	default:
		o.To = a[1]
	}
	return o, nil
}

// Send posts one message.
func (c *Channel) Send(ctx context.Context, p *channel.Part) (channel.Sent, error) {
	message, err := c.outgoingTo(p.To)
	if err != nil {
		return channel.Sent{}, onereply.RefusedError(err)
	}
	message.Text.Body = p.Text
	if len(p.ID) <= maxOpaque {
		message.Part = p.ID
	}
	said, err := c.post(ctx, message)
	if err != nil {
		return channel.Sent{}, outcomeOf(err)
	}
	if len(said.Messages) == 0 {
		return channel.Sent{}, nil
	}
	return channel.Sent{ID: said.Messages[0].ID}, nil
}

// Typing shows that the bot is writing, as an answer to a message. It also marks that
// message as read, and those before it. Groups have no such thing.
func (c *Channel) Typing(ctx context.Context, to channel.Address, message string) error {
	if message == "" || len(to) != 2 {
		return nil
	}
	_, err := c.post(ctx, map[string]any{
		"messaging_product": "whatsapp", "status": "read", "message_id": message,
		"typing_indicator": map[string]string{"type": "text"},
	})
	return err
}

// APIError is an answer of the API that is no success.
type APIError struct {
	Status     int
	Code       int // Meta's; 0: there is none
	Subcode    int
	RetryAfter time.Duration
	Text       string // what Meta says, and what to do
}

func (e *APIError) Error() string {
	text := fmt.Sprintf("WhatsApp answered %d: %s", e.Status, e.Text)
	if e.Status == http.StatusUnauthorized && e.Code != badToken {
		text += "; is the token right?"
	}
	return text
}

// post makes one call. Its error is an [*APIError] where the API has answered, an
// [*upstream.Lost] where nothing has, and any other where the answer can't be read.
func (c *Channel) post(ctx context.Context, message any) (answer, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return answer{}, err
	}
	got, err := c.messages.Post(ctx, nil, body)
	if err != nil {
		return answer{}, err
	}
	defer got.Close()
	raw, err := got.All()
	if err != nil && got.OK() {
		return answer{}, fmt.Errorf("the answer of WhatsApp can't be read: %w", err)
	}
	var said answer
	unreadable := json.Unmarshal(raw, &said)
	switch {
	case said.Error != nil:
		return answer{}, &APIError{
			Status: got.Status, Code: said.Error.Code, Subcode: said.Error.Subcode,
			RetryAfter: upstream.RetryAfter(got.Header, time.Now()), Text: got.Excerpt(said.Error.explain()),
		}
	case !got.OK():
		return answer{}, &APIError{Status: got.Status, RetryAfter: upstream.RetryAfter(got.Header, time.Now()), Text: got.Excerpt(string(raw))}
	case unreadable != nil:
		return answer{}, fmt.Errorf("the answer of WhatsApp is no JSON: %s", got.Excerpt(string(raw)))
	}
	return said, nil
}

// Codes of Meta's that say more than the status of the answer.
const (
	outsideWindow = 131047 // the person last wrote more than 24 hours ago
	pairRate      = 131056 // too many messages to this person
	numberRate    = 130429 // too many messages from this number
	closedCountry = 130497
	badToken      = 190
	invalid       = 100 // with the subcode noSuchObject: the number's id is wrong
	noSuchObject  = 33
)

// limits are the other codes of limits of the number, the account or the app. They last
// for longer.
var limits = map[int]bool{4: true, 17: true, 613: true, 80007: true, 131048: true, 133016: true}

// broken are the codes after which somebody has to see to the account: messages to all
// people would fail.
var broken = map[int]bool{
	3: true, 10: true, 102: true, 190: true, 368: true, 131005: true, 131031: true, 131042: true, 131045: true, 131057: true, 133010: true,
}

// Pauses after answers that name none.
const (
	pairPause   = 6 * time.Second // WhatsApp takes a message to one person in so long
	numberPause = 5 * time.Second
	limitPause  = time.Minute
	brokenPause = 30 * time.Second
)

// outcomeOf reads from the error of a call whether the message was sent.
//
//	no connection                certainly not sent; tried again
//	131056                       certainly not sent; the conversation pauses
//	130429, other limits, 429    certainly not sent; the whole bot pauses
//	401, 403, 404, broken        certainly not sent; the whole bot pauses, until somebody sees to it
//	other 4xx                    certainly not sent, for good: outside the 24 hours, no such person
//	5xx, 1, a lost answer        unknown: WhatsApp may have sent it
func outcomeOf(err error) error {
	if lost, ok := errors.AsType[*upstream.Lost](err); ok && lost.Unsent {
		return onereply.NotDeliveredError(err)
	}
	failed, ok := errors.AsType[*APIError](err)
	if !ok {
		return fmt.Errorf("nobody knows whether WhatsApp sent it: %w", err)
	}
	pause := func(least time.Duration, wholeBot bool) error {
		return &onereply.SendError{NotDelivered: true, RetryAfter: max(failed.RetryAfter, least), WholeBot: wholeBot, Err: failed}
	}
	switch {
	case failed.Code == pairRate:
		return pause(pairPause, false)
	case failed.Code == numberRate:
		return pause(numberPause, true)
	case limits[failed.Code] || failed.Status == http.StatusTooManyRequests:
		return pause(limitPause, true)
	case failed.isBroken():
		return pause(brokenPause, true)
	case failed.Status >= 500 || failed.Status < 400 || failed.Code == 1:
		return fmt.Errorf("nobody knows whether WhatsApp sent it: %w", err)
	}
	return onereply.RefusedError(failed)
}

// isBroken reports whether messages to all people would fail. A country that the business
// may not write to is refused with 403 too.
func (e *APIError) isBroken() bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusNotFound:
		return true
	case http.StatusForbidden:
		return e.Code != closedCountry
	}
	return broken[e.Code] || e.Code >= 200 && e.Code < 300 || e.Code == invalid && e.Subcode == noSuchObject
}
