package maintenance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// exclusive is a store that one process has open at a time.
type exclusive struct{ store.Store }

func (e exclusive) Guarantees() store.Guarantees {
	g := e.Store.Guarantees()
	g.Exclusive = true
	return g
}

// Conversations that are due and that no node takes are told by bot; where the bots
// of a configuration are known, those of others, due or not.
func TestConversationsThatNobodyServes(t *testing.T) {
	s := memory.New()
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	due := func(bot, conversation string, at turn.Time) {
		w := waiting(conversation, 1)
		w.Key.Bot = bot
		w.Record.Window.QuietUntil, w.Record.Window.Due, w.Timer = at, at, at
		put(t, s, w)
	}
	due("gone", "a", now-600_000)
	due("gone", "b", now-3_600_000)
	due("gone", "c", now+3_600_000)
	due("full", "a", now-1000)
	due("support", "a", now-1000)
	put(t, s, idle("b", 1))
	tests := map[string]struct {
		store store.Store
		bots  []string
		want  []string
	}{
		"by the time":        {s, nil, []string{"gone 2 -1h0m0s false"}},
		"by a configuration": {s, []string{"support", "full"}, []string{"gone 3 -1h0m0s true"}},
		"all are configured": {s, []string{"support", "full", "gone"}, nil},
		"no node can run":    {exclusive{s}, nil, nil},
		"nor now":            {exclusive{s}, []string{"gone", "support"}, []string{"full 1 -1s true"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			d := Doctor{Store: test.store, Bots: test.bots, Found: func(f Finding) { t.Errorf("a finding: %+v", f) }, Unserved: func(u Unserved) {
				got = append(got, fmt.Sprint(u.Bot, " ", u.Conversations, " ", u.Since.Sub(now.Go()), " ", u.Unknown))
			}}
			if _, err := d.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
