package whatsapp

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// The parts of the API's objects that are read here. Fields that are absent have their
// zero values.

// envelope is the body of a webhook: the changes of one or more business accounts.
type envelope struct {
	Object string `json:"object"`
	Entry  []struct {
		Changes []struct {
			Field string          `json:"field"`
			Value json.RawMessage `json:"value"`
		} `json:"changes"`
	} `json:"entry"`
}

// value is one change. The single events are read one by one, so that one of an unknown
// form spoils no other.
type value struct {
	Metadata struct {
		Number string `json:"display_phone_number"`
		ID     string `json:"phone_number_id"`
	} `json:"metadata"`
	Contacts []contact         `json:"contacts"`
	Messages []json.RawMessage `json:"messages"`
	Echoes   []json.RawMessage `json:"message_echoes"`
	Statuses []json.RawMessage `json:"statuses"`
	NewIDs   []json.RawMessage `json:"user_id_update"`
}

// contact is somebody who is named in a change.
type contact struct {
	Phone   string `json:"wa_id"`
	UserID  string `json:"user_id"`
	Profile struct {
		Name     string `json:"name"`
		Username string `json:"username"`
	} `json:"profile"`
}

// message is a message of a person, or one that staff wrote in WhatsApp's own app (then it
// has a To). The type says which of the other fields is set.
type message struct {
	From       string  `json:"from"`         // phone number; "": hidden
	FromUserID string  `json:"from_user_id"` // "": from before these ids
	To         string  `json:"to"`
	ToUserID   string  `json:"to_user_id"`
	ID         string  `json:"id"`
	Time       seconds `json:"timestamp"`
	Type       string  `json:"type"`
	Group      string  `json:"group_id"` // "": no group

	Context *struct {
		ID                  string `json:"id"`
		From                string `json:"from"`
		Forwarded           bool   `json:"forwarded"`
		FrequentlyForwarded bool   `json:"frequently_forwarded"`
	} `json:"context"`

	Text *struct {
		Body string `json:"body"`
	} `json:"text"`
	Image    *media `json:"image"`
	Audio    *media `json:"audio"`
	Video    *media `json:"video"`
	Document *media `json:"document"`
	Sticker  *media `json:"sticker"`
	Button   *struct {
		Text string `json:"text"`
	} `json:"button"`
	Interactive *interactive `json:"interactive"`
	Location    *location    `json:"location"`
	Contacts    []card       `json:"contacts"`
	Order       *order       `json:"order"`

	System *system `json:"system"`
	Edit   *struct {
		Original string   `json:"original_message_id"`
		Message  *message `json:"message"`
	} `json:"edit"`
	Revoke *struct {
		Original string `json:"original_message_id"`
	} `json:"revoke"`
}

type media struct {
	ID       string `json:"id"`
	MIMEType string `json:"mime_type"`
	Caption  string `json:"caption"`
	Name     string `json:"filename"`
	Voice    bool   `json:"voice"`
}

// interactive is a choice from buttons or a list, or a form that was filled in.
type interactive struct {
	Button *title `json:"button_reply"`
	List   *title `json:"list_reply"`
	Form   *struct {
		Body string `json:"body"`
		JSON string `json:"response_json"`
	} `json:"nfm_reply"`
}

type title struct {
	Title string `json:"title"`
}

type location struct {
	Latitude  json.Number `json:"latitude"`
	Longitude json.Number `json:"longitude"`
	Name      string      `json:"name"`
	Address   string      `json:"address"`
}

type card struct {
	Name struct {
		Formatted string `json:"formatted_name"`
	} `json:"name"`
	Phones []struct {
		Phone string `json:"phone"`
	} `json:"phones"`
}

type order struct {
	Text  string `json:"text"`
	Items []struct {
		Product  string      `json:"product_retailer_id"`
		Quantity json.Number `json:"quantity"`
	} `json:"product_items"`
}

// system tells that a person has another number, or another id.
type system struct {
	Type      string `json:"type"`
	Body      string `json:"body"` // User NAME changed from OLD to NEW
	Phone     string `json:"wa_id"`
	UserID    string `json:"user_id"`
	OldUserID string `json:"previous_user_id"`
}

// newID is a person's new id, told beside their messages.
type newID struct {
	UserID struct {
		Previous string `json:"previous"`
		Current  string `json:"current"`
	} `json:"user_id"`
}

// status is what became of a message that was sent.
type status struct {
	ID          string     `json:"id"`
	Status      string     `json:"status"`
	Recipient   string     `json:"recipient_id"` // phone number, or group
	RecipientID string     `json:"recipient_user_id"`
	Kind        string     `json:"recipient_type"` // group, or what is a person
	Part        string     `json:"biz_opaque_callback_data"`
	Errors      []apiError `json:"errors"`
}

// apiError is why a call, or a message, has failed.
type apiError struct {
	Code    int    `json:"code"`
	Subcode int    `json:"error_subcode"`
	Title   string `json:"title"`
	Message string `json:"message"`
	Data    struct {
		Details string `json:"details"`
	} `json:"error_data"`
}

// answer is what the API says to a call.
type answer struct {
	Messages []struct {
		ID string `json:"id"`
	} `json:"messages"`
	Error *apiError `json:"error"`
}

// seconds is a time, which the API tells as a text or as a number.
type seconds int64

// UnmarshalJSON reads either form. One that can't be read is no time.
func (s *seconds) UnmarshalJSON(raw []byte) error {
	number, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err == nil {
		*s = seconds(number)
	}
	return nil
}

// time is the zero value where there is none.
func (s seconds) time() time.Time {
	if s <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0).UTC()
}
