package scenario

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Ledger is what was seen from outside while a story was played. Messages are
// named as the story names them.
type Ledger struct {
	Scenario      Scenario
	Calls         []Call
	Posts         []Post
	Signals       []Signal
	Answers       []Answer
	Frozen        []Frozen
	Tools         map[string]int
	Stream        []string // "superseded" and "final", as a page saw them
	Measured      []int
	Conversations []Conversation
}

func newLedger(s Scenario) *Ledger { return &Ledger{Scenario: s} }

// nameByKeys calls each conversation by the key that it has in the end, under whichever
// of its names something happened.
func (l *Ledger) nameByKeys() {
	keys := map[string]string{}
	for _, conversation := range l.Conversations {
		for _, alias := range conversation.Aliases {
			keys[alias] = conversation.Conversation
		}
	}
	name := func(conversation *string) {
		if key, ok := keys[*conversation]; ok {
			*conversation = key
		}
	}
	for i := range l.Calls {
		name(&l.Calls[i].Conversation)
	}
	for i := range l.Posts {
		name(&l.Posts[i].Conversation)
	}
	for i := range l.Answers {
		name(&l.Answers[i].Conversation)
	}
}

// Conversation is what the API tells about one at the end.
type Conversation struct {
	state
	Entries []entry
	Turns   []told
}

// Reply is what a person saw of one reply.
type Reply struct {
	Conversation string
	ID           string
	At           time.Duration // of its first part
	Human        bool
	Covers       []string
	Texts        []string // of the parts that were shown, in the order of being shown
	Parts        []int    // their numbers
	Of           int
}

// replies are the replies that were shown, first to last.
func (l *Ledger) replies(wanted func(Reply) bool) []Reply {
	type name struct{ conversation, id string }
	places := map[name]int{}
	var all []Reply
	for _, p := range l.Posts {
		if !p.Shown {
			continue
		}
		key := name{p.Conversation, p.Reply}
		at, ok := places[key]
		if !ok {
			at = len(all)
			places[key] = at
			all = append(all, Reply{Conversation: p.Conversation, ID: p.Reply, At: p.At, Human: p.Human, Covers: p.Covers, Of: p.Of})
		}
		all[at].Texts = append(all[at].Texts, p.Text)
		all[at].Parts = append(all[at].Parts, p.Part)
	}
	all = slices.DeleteFunc(all, func(r Reply) bool { return !wanted(r) })
	slices.SortStableFunc(all, func(a, b Reply) int { return cmp.Compare(a.At, b.At) })
	return all
}

func anyReply(Reply) bool { return true }

// byBot are the replies that the bot gave. A text that stood in for one is none.
func (l *Ledger) byBot() []Reply {
	return l.replies(func(r Reply) bool { return !r.Human && !l.Scenario.standsIn(r) })
}

// callOf is the call of the model that a text comes from, nil where it names
// none. Calls are numbered in their order.
func (l *Ledger) callOf(text string) *Call {
	found := numbered.FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	number, err := strconv.Atoi(found[1])
	if err != nil || number < 1 || number > len(l.Calls) {
		return nil
	}
	return &l.Calls[number-1]
}

// spoken are the calls whose texts were shown.
func (l *Ledger) spoken() []*Call {
	var calls []*Call
	for _, r := range l.byBot() {
		if c := l.callOf(r.Texts[0]); c != nil {
			calls = append(calls, c)
		}
	}
	return calls
}

// stored are the messages of which the API said that they are stored, with
// their conversations.
func (l *Ledger) stored() map[string]string {
	stored := map[string]string{}
	for _, a := range l.Answers {
		if a.Label != "" && a.stored() {
			stored[a.Label] = a.Conversation
		}
	}
	return stored
}

// peak is the most calls that ran at once. What a call did while its node was
// frozen does not count where awake is set.
func (l *Ledger) peak(conversation string, awake bool) int {
	type edge struct {
		at   time.Duration
		step int
	}
	var edges []edge
	for _, c := range l.Calls {
		if conversation != "" && c.Conversation != conversation {
			continue
		}
		end := c.End
		for _, f := range l.Frozen {
			if awake && f.Node == c.Node && f.From >= c.Start && f.From < end {
				end = f.From
			}
		}
		edges = append(edges, edge{c.Start, 1}, edge{end, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) // an end before a start
	})
	running, peak := 0, 0
	for _, e := range edges {
		running += e.step
		peak = max(peak, running)
	}
	return peak
}

// sameSet reports whether two lists hold the same, in any order.
func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
