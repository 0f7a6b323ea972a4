package chatmodel

import (
	"bytes"
	"encoding/json"
)

// Message is one message of a request. Both APIs write it alike.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Marshal encodes a request. It leaves <, > and & as people wrote them: a model reads
// the same text either way, but logs are read by people.
func Marshal(request any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(request)
	return b.Bytes(), err
}
