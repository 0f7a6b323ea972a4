package engine

import (
	"maps"
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

// use is how many of a bot run and wait.
type use struct{ runs, waits int }

// crowded is a ready with bots in some use.
func crowded(limit int, bots map[string]use) ready {
	var names []string
	for name := range bots {
		names = append(names, name)
	}
	r := newReady(names, limit)
	for name, u := range bots {
		r.bots[name].used = u.runs
		r.used += u.runs
		for range u.waits {
			r.push(&conversation{key: store.Key{Bot: name}}, 0)
		}
	}
	return r
}

// With three bots in unequal use each is sure of its share, and what nobody has
// reserved is for all: of 12 slots each bot has 2 for itself.
func TestThreeBotsInUnequalUse(t *testing.T) {
	tests := map[string]struct {
		limit int
		bots  map[string]use
		want  map[string]int // that start
	}{
		"one wants all":                   {12, map[string]use{"a": {0, 20}, "b": {}, "c": {}}, map[string]int{"a": 8}},
		"one has all that it can":         {12, map[string]use{"a": {8, 20}, "b": {0, 5}, "c": {}}, map[string]int{"b": 2}},
		"the shares of both others":       {12, map[string]use{"a": {8, 20}, "b": {0, 5}, "c": {0, 5}}, map[string]int{"b": 2, "c": 2}},
		"one uses a part of its share":    {12, map[string]use{"a": {8, 20}, "b": {1, 0}, "c": {0, 5}}, map[string]int{"c": 2}},
		"a slot is free beyond the share": {12, map[string]use{"a": {7, 0}, "b": {2, 5}, "c": {0, 0}}, map[string]int{"b": 1}},
		"none is free beyond the shares":  {12, map[string]use{"a": {8, 1}, "b": {2, 1}, "c": {0, 0}}, nil},
		"all in turn":                     {12, map[string]use{"a": {0, 20}, "b": {0, 20}, "c": {0, 20}}, map[string]int{"a": 4, "b": 4, "c": 4}},
		"two that want little":            {12, map[string]use{"a": {0, 20}, "b": {0, 1}, "c": {0, 3}}, map[string]int{"a": 7, "b": 1, "c": 3}},
		"as many slots as bots":           {3, map[string]use{"a": {0, 20}, "b": {}, "c": {}}, map[string]int{"a": 1}},
		"more bots than slots":            {2, map[string]use{"a": {0, 20}, "b": {0, 20}, "c": {0, 20}}, map[string]int{"a": 1, "b": 1}},
		"full":                            {4, map[string]use{"a": {2, 9}, "b": {1, 9}, "c": {1, 9}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := crowded(test.limit, test.bots)
			got := map[string]int{}
			for c := r.pop(); c != nil; c = r.pop() {
				got[c.key.Bot]++
			}
			if !maps.Equal(got, test.want) && len(got)+len(test.want) > 0 {
				t.Errorf("%v start, want %v", got, test.want)
			}
			for bot, u := range test.bots {
				if b := r.bots[bot]; b.used != u.runs+got[bot] || len(b.waiting) != u.waits-got[bot] {
					t.Errorf("of %s %d run and %d wait", bot, b.used, len(b.waiting))
				}
			}
		})
	}
}

// A slot that is given back goes to the bot whose turn it is.
func TestAPlaceThatIsGivenBack(t *testing.T) {
	r := crowded(3, map[string]use{"a": {1, 5}, "b": {1, 5}, "c": {1, 5}})
	for _, bot := range []string{"b", "a", "c", "b"} {
		r.release(bot)
		if c := r.pop(); c == nil || c.key.Bot != bot {
			t.Fatalf("the slot of %s goes to %+v, want the bot that lacks its share", bot, c)
		}
		if c := r.pop(); c != nil {
			t.Fatalf("%s gets a slot that nobody gave back", c.key.Bot)
		}
	}
}

// What a node claims for is what it could run at once: within the share of each bot
// and the pool of all.
func TestRoomForClaims(t *testing.T) {
	tests := map[string]struct {
		limit int
		bots  map[string]use
		names []string
		count int
	}{
		"nothing runs":              {12, map[string]use{"a": {}, "b": {}, "c": {}}, []string{"a", "b", "c"}, 8},
		"one has all that it can":   {12, map[string]use{"a": {8, 0}, "b": {}, "c": {}}, []string{"b", "c"}, 2},
		"one waits for its share":   {12, map[string]use{"a": {8, 0}, "b": {0, 2}, "c": {}}, []string{"c"}, 2},
		"a part of a share is left": {12, map[string]use{"a": {8, 0}, "b": {1, 0}, "c": {0, 2}}, []string{"b"}, 1},
		"the pool and the shares":   {12, map[string]use{"a": {5, 0}, "b": {2, 0}, "c": {0, 0}}, []string{"a", "b", "c"}, 3},
		"more wait than run":        {12, map[string]use{"a": {0, 20}, "b": {}, "c": {}}, nil, 0},
		"full":                      {4, map[string]use{"a": {2, 0}, "b": {1, 0}, "c": {1, 0}}, nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := crowded(test.limit, test.bots)
			names, count := r.room()
			if !slices.Equal(names, test.names) || count != test.count {
				t.Errorf("room for %d of %v, want %d of %v", count, names, test.count, test.names)
			}
		})
	}
}
