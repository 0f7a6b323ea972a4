package redis

import (
	"errors"
	"testing"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

func FuzzNames(f *testing.F) {
	f.Add("a:b", "c", "7:support")
	f.Add("a", "b:c", "1:")
	f.Add("é\x00{}", "\xff", "01:a")
	f.Add("", "", "-1:a")
	f.Fuzz(func(t *testing.T, bot, conversation, text string) {
		key := store.Key{Bot: bot, Conversation: conversation}
		if got, err := keyOf(nameOf(key)); err != nil || got != key {
			t.Errorf("%v: got %v, %v", key, got, err)
		}
		if got, err := keyOf(text); err == nil && nameOf(got) != text {
			t.Errorf("%q is read as %v, whose name is %q", text, got, nameOf(got))
		}
	})
}

func FuzzEntries(f *testing.F) {
	head, body, err := encodeEntry(message(key("c"), store.Op{}, store.Op{1}, 1).Append[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(head, body)
	f.Add("[]", "{}")
	f.Add(`["1","","","1","1","1","","x"]`, "{}")
	f.Add(`["1","","","1","1",1,"","x"]`, "")
	f.Fuzz(func(t *testing.T, head, body string) {
		e, err := decodeEntry(head, body)
		if err != nil {
			return
		}
		newHead, newBody, err := encodeEntry(e)
		if err != nil {
			t.Fatalf("%q, %q is read as %+v, which can't be written: %v", head, body, e, err)
		}
		if _, err := decodeEntry(newHead, newBody); err != nil {
			t.Errorf("%q, %q is written as %q, %q, which can't be read: %v", head, body, newHead, newBody, err)
		}
	})
}

func TestCursorsThatNoPageGaveAreRefused(t *testing.T) {
	s := openNew(t, testservers.NewRedis(t))
	for _, cursor := range []string{"?", "e30x", "bnVsbCBudWxs", paging.Encode(swept{Shard: 99}), paging.Encode(swept{Shard: -1})} {
		if _, _, err := s.Sweep(t.Context(), cursor, 10); !errors.Is(err, store.ErrCursor) {
			t.Errorf("Sweep %q: got %v, want ErrCursor", cursor, err)
		}
	}
	for _, cursor := range []string{"?", "e30x", "bnVsbCBudWxs"} {
		if _, err := s.List(t.Context(), store.ListQuery{Cursor: cursor}); !errors.Is(err, store.ErrCursor) {
			t.Errorf("List %q: got %v, want ErrCursor", cursor, err)
		}
	}
}

// The order of a bot's names is that of its keys, which lists rely on.
func TestNamesOfABotSortAsItsKeys(t *testing.T) {
	conversations := []string{"", "1", "10", "2", "a", "a\x00", "ab", "é", "\xff"}
	for i := 1; i < len(conversations); i++ {
		if nameOf(key(conversations[i-1])) >= nameOf(key(conversations[i])) {
			t.Errorf("%q is not before %q", nameOf(key(conversations[i-1])), nameOf(key(conversations[i])))
		}
	}
}
