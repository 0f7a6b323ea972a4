package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

func action(at turn.Time, what string) store.AuditEntry {
	return store.AuditEntry{At: at, Action: what, By: "a1", From: "192.0.2.7"}
}

func audited(t *testing.T, s store.Store, remembered *Actions, q AuditQuery) (lines []string) {
	t.Helper()
	found, err := Audit(t.Context(), s, remembered, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range found {
		lines = append(lines, fmt.Sprintf("%d %s %s", a.At-now, a.Action, a.Key.Conversation))
	}
	return lines
}

// Newest first; what the node remembers and the record tells is told once; no more
// than the limit; of one bot or conversation where that is asked for.
func TestAudit(t *testing.T) {
	s := newStore()
	put(t, s, store.Write{Key: keyOf("bot", 1), At: now, Record: turn.Record{Phase: turn.Idle}, Log: store.Log{Audit: []store.AuditEntry{action(now-5, "pause"), action(now-3, "resume")}}})
	put(t, s, store.Write{Key: keyOf("other", 2), At: now, Record: turn.Record{Phase: turn.Idle}, Log: store.Log{Audit: []store.AuditEntry{action(now-4, "reply")}}})
	var remembered Actions
	remembered.Note(keyOf("bot", 1), action(now-3, "resume"))
	remembered.Note(keyOf("bot", 1), action(now-2, "flush"))
	remembered.Note(keyOf("bot", 3), action(now-3, "flush"))
	remembered.Note(keyOf("other", 3), action(now-1, "delete"))
	all := []string{"-1 delete c0003", "-2 flush c0001", "-3 resume c0001", "-3 flush c0003", "-4 reply c0002", "-5 pause c0001"}
	for limit := 1; limit <= 7; limit++ {
		if got, want := audited(t, s, &remembered, AuditQuery{Limit: limit}), all[:min(limit, 6)]; !slices.Equal(got, want) {
			t.Errorf("at most %d: %q, want %q", limit, got, want)
		}
	}
	for _, test := range []struct {
		q    AuditQuery
		want []string
	}{
		{AuditQuery{Bot: "bot"}, []string{"-2 flush c0001", "-3 resume c0001", "-3 flush c0003", "-5 pause c0001"}},
		{AuditQuery{Bot: "other"}, []string{"-1 delete c0003", "-4 reply c0002"}},
		{AuditQuery{Bots: []string{"other", "none"}}, []string{"-1 delete c0003", "-4 reply c0002"}},
		{AuditQuery{Bots: []string{"none"}}, nil},
		{AuditQuery{Bot: "bot", Conversation: "c0001"}, []string{"-2 flush c0001", "-3 resume c0001", "-5 pause c0001"}},
		{AuditQuery{Bot: "bot", Conversation: "c0003"}, []string{"-3 flush c0003"}},
		{AuditQuery{Bot: "other", Conversation: "c0002"}, []string{"-4 reply c0002"}},
	} {
		test.q.Limit = 10
		if got := audited(t, s, &remembered, test.q); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %q, want %q", test.q, got, test.want)
		}
	}
	if _, err := Audit(t.Context(), s, &remembered, AuditQuery{Bot: "bot", Conversation: "c0009", Limit: 1}); !errors.Is(err, ErrNothing) {
		t.Errorf("of an unknown one: %v", err)
	}
	s.broken = errors.New("away")
	if _, err := Audit(t.Context(), s, &remembered, AuditQuery{Bot: "bot", Conversation: "c0001", Limit: 1}); !errors.Is(err, s.broken) {
		t.Errorf("a store that is away: %v", err)
	}
}

// Actions of one moment are in an order that does not depend on where they came from.
func TestActionsOfOneMoment(t *testing.T) {
	fields := []Action{
		{keyOf("a", 1), store.AuditEntry{Action: "x", By: "1", From: "1", Reason: "1"}},
		{keyOf("a", 1), store.AuditEntry{Action: "x", By: "1", From: "1", Reason: "2"}},
		{keyOf("a", 1), store.AuditEntry{Action: "x", By: "1", From: "2", Reason: "1"}},
		{keyOf("a", 1), store.AuditEntry{Action: "x", By: "2", From: "1", Reason: "1"}},
		{keyOf("a", 1), store.AuditEntry{Action: "y", By: "1", From: "1", Reason: "1"}},
		{keyOf("a", 2), store.AuditEntry{Action: "x", By: "1", From: "1", Reason: "1"}},
		{keyOf("b", 1), store.AuditEntry{Action: "x", By: "1", From: "1", Reason: "1"}},
	}
	mixed := slices.Concat(fields, fields)
	slices.Reverse(mixed)
	if got := newest(mixed, 100); !slices.Equal(got, fields) {
		t.Errorf("%+v", got)
	}
}

// A node remembers its last thousand actions. A deletion takes with it what was done to
// the conversation, but no deletion and nothing of another one.
func TestWhatIsRemembered(t *testing.T) {
	var remembered Actions
	for i := range 1001 {
		remembered.Note(keyOf("bot", i), action(now+turn.Time(i), "flush"))
	}
	got := remembered.of(AuditQuery{})
	if len(got) != 1000 || got[0].Key != keyOf("bot", 1) || got[999].Key != keyOf("bot", 1000) {
		t.Errorf("%d are remembered, from %v", len(got), got[0].Key)
	}
	remembered = Actions{}
	one, two := keyOf("bot", 1), keyOf("bot", 2)
	for _, n := range []Action{{one, action(now, "delete")}, {one, action(now, "pause")}, {two, action(now, "pause")}, {one, action(now, "delete")}} {
		remembered.Note(n.Key, n.AuditEntry)
	}
	var lines []string
	for _, n := range remembered.of(AuditQuery{}) {
		lines = append(lines, n.Action+" "+n.Key.Conversation)
	}
	if want := []string{"delete c0001", "pause c0002", "delete c0001"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	long := action(now, "pause")
	long.Reason = strings.Repeat("x", 4000)
	remembered.Note(one, long)
	if got := remembered.of(AuditQuery{Conversation: one.Conversation}); got[len(got)-1].AuditEntry != long.Cut() {
		t.Errorf("a reason of %d bytes is remembered", len(got[len(got)-1].Reason))
	}
}

// An audit of all reads a thousand conversations, those with the newest activity, and
// one of fewer stops at their end.
func TestAnAuditReadsSoMuchAndNoMore(t *testing.T) {
	s := newStore()
	for i := range 1001 {
		at := now - turn.Time(i)
		put(t, s, store.Write{Key: keyOf("bot", i), At: at, Record: turn.Record{Phase: turn.Idle}, Log: store.Log{Audit: []store.AuditEntry{action(at, "pause")}}})
	}
	var remembered Actions
	got := audited(t, s, &remembered, AuditQuery{Limit: 2000})
	if len(got) != 1000 || got[999] != "-999 pause c0999" || len(s.lists) != 4 {
		t.Errorf("%d actions, the last %q, of %d pages", len(got), got[len(got)-1], len(s.lists))
	}
	s.lists = nil
	if got := audited(t, s, &remembered, AuditQuery{Bot: "other", Limit: 1}); len(got) != 0 || len(s.lists) != 1 || s.lists[0].Bot != "other" {
		t.Errorf("of another bot: %q, %+v", got, s.lists)
	}
}
