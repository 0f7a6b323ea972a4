package engine

import (
	"slices"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Who was due first goes first, whatever the order in which they were found;
// of those due at once, who came first.
func TestWhoWasDueFirstGoesFirst(t *testing.T) {
	r := newReady([]string{"bot"}, 10)
	for name, due := range map[string]turn.Time{"third": 30, "first": 10, "second": 20} {
		r.push(&conversation{key: store.Key{Bot: "bot", Conversation: name}}, due)
	}
	for _, name := range []string{"last", "very last"} {
		r.push(&conversation{key: store.Key{Bot: "bot", Conversation: name}}, 40)
	}
	var order []string
	for c := r.pop(); c != nil; c = r.pop() {
		order = append(order, c.key.Conversation)
	}
	if want := []string{"first", "second", "third", "last", "very last"}; !slices.Equal(order, want) {
		t.Errorf("served in the order %v, want %v", order, want)
	}
}
