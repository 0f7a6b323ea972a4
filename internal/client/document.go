package client

import "encoding/json"

// Document is a value, and the JSON that it was read from. Commands print the JSON: so
// they show fields that a newer node adds and this program does not know.
type Document[T any] struct {
	Value T
	Raw   json.RawMessage
}

// UnmarshalJSON reads the value and keeps the JSON. It copies, because the decoder uses
// the bytes again after the call.
func (d *Document[T]) UnmarshalJSON(data []byte) error {
	d.Raw = append(d.Raw[:0], data...)
	return json.Unmarshal(data, &d.Value)
}

// MarshalJSON gives the JSON as it was.
func (d Document[T]) MarshalJSON() ([]byte, error) { return d.Raw, nil }
