package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onereply/onereply"
)

// An event is encoded once for all who watch, and none is taken for another.
func TestEventsAreEncodedOnce(t *testing.T) {
	all := newEventCache()
	event := func(i int) onereply.Event {
		return onereply.Event{ID: fmt.Sprintf("epoch-%d", i), Type: "input_accepted", Conversation: fmt.Sprintf("c%d", i)}
	}
	for i := range 10 * len(all.slots) {
		e := event(i)
		first, err := all.encode(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"id: " + e.ID + "\nevent: input_accepted\ndata: {", `"conversation":"` + e.Conversation + `"`} {
			if !strings.Contains(string(first), want) {
				t.Fatalf("the frame of event %d holds no %q:\n%s", i, want, first)
			}
		}
		if again, _ := all.encode(e); &again[0] != &first[0] {
			t.Fatalf("event %d was encoded twice", i)
		}
		if earlier, _ := all.encode(event(i / 2)); !strings.Contains(string(earlier), fmt.Sprintf("id: epoch-%d\n", i/2)) {
			t.Fatalf("another event was given for event %d:\n%s", i/2, earlier)
		}
	}
}

// A text that was erased since is not shown from the cache to who resumes.
func TestErasedTextsAreNotShownFromTheCache(t *testing.T) {
	all := newEventCache()
	e := onereply.Event{ID: "epoch-1", Type: "message.accepted", Text: "a secret", Reason: "another"}
	if first, err := all.encode(e); err != nil || !strings.Contains(string(first), "a secret") {
		t.Fatalf("%s, %v", first, err)
	}
	e.Text, e.Reason = "", ""
	if later, err := all.encode(e); err != nil || strings.Contains(string(later), "secret") || strings.Contains(string(later), "another") {
		t.Errorf("after it was erased: %s, %v", later, err)
	}
}
