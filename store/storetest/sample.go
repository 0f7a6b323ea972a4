package storetest

import (
	"encoding/json"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Contents is all that can be read of a store: what its sample has to hold.
type Contents struct {
	Found   []store.Found            `json:"found"` // by key
	Items   []store.Item             `json:"items"`
	Entries map[string][]store.Entry `json:"entries"` // by key
}

// WriteSample writes a few conversations into an empty store, in which every field
// of a record and of an entry occurs. A store keeps a sample of each of its schemas
// as files beside its tests: what is stored for these conversations, raw, and the
// Contents. Later programs must go on reading it.
func WriteSample(t *testing.T, s store.Store) {
	t.Helper()
	subject := &subject{T: t, store: s, outcomes: &outcomes{}}
	filled := subject.write(key, none, filledEntry())
	filled.Record, filled.Log = filledRecord(), filledLog()
	filled.Timer, _ = filled.Record.Wake()
	subject.ok(filled)
	first := subject.ok(waking(subject.write(keyOf("waiting"), none, message(1, "m1"), message(2, "m2")), start+10))
	subject.ok(waking(subject.write(keyOf("waiting"), first, withStatus(reply(3, "r1"), turn.ReplySent)), start+20))
	failed := subject.write(store.Key{Bot: "été", Conversation: "a:b"}, none, withStatus(message(1, "m'"), turn.InputFailed))
	failed.Record.Phase, failed.At = turn.Failed, start+1
	subject.ok(failed)
	subject.ok(subject.write(keyOf("idle"), none))
}

// ReadContents reads all that is in a store, in the form that files keep.
func ReadContents(t *testing.T, s store.Store) Contents {
	t.Helper()
	subject := &subject{T: t, store: s, outcomes: &outcomes{}}
	c := Contents{Found: sortedByKey(subject.sweepAll(100)), Items: subject.listAll(store.ListQuery{}), Entries: map[string][]store.Entry{}}
	for _, f := range c.Found {
		c.Entries[f.Key.String()] = subject.entries(f.Key, store.EntryQuery{})
	}
	return c
}

// SameContents expects that a store holds what was recorded.
func SameContents(t *testing.T, got Contents, want json.RawMessage) {
	t.Helper()
	g, w := canonical(got), canonical(want)
	if g == w {
		return
	}
	at := 0 // of the first difference
	for at < min(len(g), len(w)) && g[at] == w[at] {
		at++
	}
	near := func(text string) string { return text[max(0, at-100):min(len(text), at+100)] }
	t.Errorf("the store gives\n…%s…\nand the sample holds\n…%s…\nBefore the first release write the sample again, with -record. "+
		"After it, what was stored must be read as it is.", near(g), near(w))
}
