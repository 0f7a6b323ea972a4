// Package storejson is the JSON in which stores keep conversations, so that all of
// them keep the same and read it alike.
//
// It knows the contract of package store and must never import an engine of it.
package storejson

import (
	"bytes"
	"encoding/json"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Document is what a store keeps of a conversation as one JSON value: its record, and
// the log beside it. Their fields stand side by side.
type Document struct {
	turn.Record
	store.Log
}

// EncodeDocument is the JSON of what a write puts in the place of a document.
func EncodeDocument(w *store.Write) ([]byte, error) {
	return Encode(Document{Record: w.Record, Log: w.Log})
}

// ReadDocument reads a document into a snapshot.
func ReadDocument(text []byte, to *store.Snapshot) error {
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	to.Record, to.Log = d.Record, d.Log
	return nil
}

// Encode is the JSON of a value. It leaves <, > and & as they are, since people read
// what is stored. A value that is not JSON itself, which only the metadata of a
// message can be, is an error.
func Encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
