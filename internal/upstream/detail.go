package upstream

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Detail is the content of a refusal's body, in the forms that model APIs and their many
// imitators use. All fields may be empty.
type Detail struct {
	Message string
	Type    string
	Code    string
	Param   string
	Status  int // an HTTP status where the body names one
}

// ParseError reads an answer, or an event of a stream, and reports whether it is an
// error. Some endpoints answer 200 and put the error into the body.
func ParseError(data []byte) (Detail, bool) {
	var outer struct {
		errorFields
		Error  json.RawMessage `json:"error"`
		Object string          `json:"object"`
	}
	if json.Unmarshal(firstOfArray(data), &outer) != nil {
		return Detail{}, false
	}
	switch {
	case isSet(outer.Error):
		return parseInner(outer.Error), true
	case outer.Object == "error":
		return outer.detail(), true
	}
	return Detail{}, false
}

// parseRefusal reads the body of an answer whose status says that it is an error. A body
// without a known form is the message itself. So an operator sees at least the beginning
// of a gateway's page.
func parseRefusal(body []byte) Detail {
	detail, _ := ParseError(body)
	var other struct {
		Detail json.RawMessage `json:"detail"` // the form of many Python servers
	}
	if detail.Message == "" && json.Unmarshal(body, &other) == nil && isSet(other.Detail) {
		detail.Message = parseInner(other.Detail).Message
	}
	if detail.Message == "" {
		detail.Message = string(body)
	}
	return detail
}

// firstOfArray unwraps an error that came as an array of one.
func firstOfArray(data []byte) []byte {
	var several []json.RawMessage
	if json.Unmarshal(data, &several) == nil && len(several) > 0 {
		return several[0]
	}
	return data
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// parseInner reads an error that is an object, a text, or something else.
func parseInner(raw json.RawMessage) Detail {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return Detail{Message: text}
	}
	var fields errorFields
	if json.Unmarshal(raw, &fields) == nil {
		return fields.detail()
	}
	return Detail{Message: string(raw)}
}

// errorFields is raw so that a field of an unexpected type spoils no other.
type errorFields struct {
	Message json.RawMessage `json:"message"`
	Type    json.RawMessage `json:"type"`
	Code    json.RawMessage `json:"code"`
	Param   json.RawMessage `json:"param"`
}

// detail reads the fields. Some APIs give an HTTP status as the code.
func (f errorFields) detail() Detail {
	d := Detail{Message: plain(f.Message), Type: plain(f.Type), Code: plain(f.Code), Param: plain(f.Param)}
	if status, err := strconv.Atoi(d.Code); err == nil && status >= 400 && status < 600 {
		d.Status = status
	}
	return d
}

// plain is a JSON text without its quotes, and anything else as it stands.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return strings.TrimSpace(string(raw))
}
