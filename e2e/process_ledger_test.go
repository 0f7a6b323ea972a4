package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// story is all that is known of one conversation at the end, each part of it
// from its own witness. Only faults looks at what they say together.
type story struct {
	hold         bool              // a send of which nobody knows the outcome is not sent again
	mayFinish    bool              // an attempt may be sent although newer input came
	wrote        map[string]string // by the people: texts by message id, also of those that gave up
	acknowledged map[string]bool   // the ids that were answered 202
	calls        []modelCall       // by the model
	arrivals     []arrival         // by the receiver
	transcript   []line            // by the node, once all rests
	belated      map[string]bool   // deliveries of a process that was stopped in the instant of sending
}

// faults compares the witnesses. Each fault is a sentence.
func (s story) faults() []string {
	var found []string
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	s.checkMessages(report)
	s.checkArrivals(report)
	s.checkCovers(report)
	s.checkCurrent(report)
	s.checkBound(report)
	s.checkAgreement(report)
	s.checkFlights(report)
	return found
}

type reporter func(format string, args ...any)

// checkMessages: what was acknowledged is there once, unchanged and answered,
// and nothing is there that nobody wrote.
func (s story) checkMessages(report reporter) {
	kept := map[string]int{}
	for _, l := range s.transcript {
		if l.Kind != "message" {
			continue
		}
		kept[l.ID]++
		text, known := s.wrote[l.ID]
		switch {
		case !known:
			report("nobody wrote message %s", l.ID)
		case l.Text != text:
			report("message %s became %q", l.ID, l.Text)
		case l.Status != "answered":
			report("message %s is %s at rest", l.ID, l.Status)
		}
	}
	for id := range s.acknowledged {
		if kept[id] != 1 {
			report("acknowledged message %s is kept %d times", id, kept[id])
		}
	}
}

// checkArrivals: each request is signed; a repeat is the same to the byte; and
// where an unknown send must not be repeated it is not.
func (s story) checkArrivals(report reporter) {
	taken := map[string]string{}
	for _, a := range s.arrivals {
		if a.verified != nil {
			report("delivery %s: %v", a.id, a.verified)
		}
		body, before := taken[a.id]
		switch {
		case before && s.hold:
			report("delivery %s came again, although its outcome was not a certain failure", a.id)
		case before && body != a.body:
			report("delivery %s came again with another body", a.id)
		}
		if !a.refused {
			taken[a.id] = a.body
		}
	}
}

// seen is a reply as a person has it on the screen.
type seen struct {
	id     string
	turn   int64
	texts  []string // of its parts
	covers []string
	of     int
}

// inOrder is what arrived, with what is belated in the place where it belongs: no
// sender can prevent that a request which it has made arrives once it is woken.
func (s story) inOrder() []arrival {
	before := func(a, b arrival) int { return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.part, b.part)) }
	var all, belated []arrival
	for _, a := range s.arrivals {
		if s.belated[a.id] {
			belated = append(belated, a)
		} else {
			all = append(all, a)
		}
	}
	for _, a := range belated {
		place := slices.IndexFunc(all, func(b arrival) bool { return before(a, b) < 0 })
		if place < 0 {
			place = len(all)
		}
		all = slices.Insert(all, place, a)
	}
	return all
}

// screen is what the person saw, in order: a repeat of a webhook-id is shown
// once.
func (s story) screen(report reporter) []*seen {
	var replies []*seen
	shown := map[string]bool{}
	for _, a := range s.inOrder() {
		if a.refused || shown[a.id] {
			continue
		}
		shown[a.id] = true
		last := len(replies) - 1
		if last < 0 || replies[last].id != a.reply {
			replies = append(replies, &seen{id: a.reply, turn: a.turn, covers: a.covers, of: a.of})
			last++
		}
		reply := replies[last]
		if a.part != len(reply.texts)+1 {
			report("reply %s: part %d was seen after %d parts", a.reply, a.part, len(reply.texts))
		}
		if last > 0 && replies[last-1].turn >= a.turn {
			report("reply %s was seen after %s", a.reply, replies[last-1].id)
		}
		reply.texts = append(reply.texts, a.text)
	}
	return replies
}

// checkCovers: each message is answered by one reply, whose text shows that
// exactly these were answered, as the model saw them.
func (s story) checkCovers(report reporter) {
	calls := map[int]modelCall{}
	for _, call := range s.calls {
		calls[call.number] = call
	}
	answered := map[string]string{}
	for _, reply := range s.screen(report) {
		for _, id := range reply.covers {
			if other, before := answered[id]; before {
				report("message %s is answered by %s and by %s", id, other, reply.id)
			}
			answered[id] = reply.id
			if _, known := s.wrote[id]; !known {
				report("reply %s answers %s, which nobody wrote", reply.id, id)
			}
		}
		if len(reply.texts) < reply.of {
			if !s.hold {
				report("reply %s: %d of %d parts were seen", reply.id, len(reply.texts), reply.of)
			}
			continue // what its text shows is not whole
		}
		text := strings.Join(reply.texts, " ")
		call := calls[callOf(text)]
		if !slices.Equal(named(text), reply.covers) || !slices.Equal(call.ids, reply.covers) || call.turn != reply.turn {
			report("reply %s covers %v, its text shows %v, the model saw %v for turn %d", reply.id, reply.covers, named(text), call.ids, call.turn)
		}
	}
	for id := range s.acknowledged {
		if answered[id] == "" && !s.hold {
			report("acknowledged message %s was never answered", id)
		}
	}
}

// counts is whether a line is a reply that stands.
func (l line) counts() bool {
	return l.Kind == "reply" && (l.Status == "sent" || l.Status == "unknown")
}

// checkCurrent: when a reply was committed, all that had been accepted before
// it was answered by it or by an earlier one, unless it says that it is late.
func (s story) checkCurrent(report reporter) {
	settled := map[string]bool{}
	for i, l := range s.transcript {
		if !l.counts() {
			continue
		}
		for _, id := range l.Covers {
			settled[id] = true
		}
		for _, earlier := range s.transcript[:i] {
			if earlier.Kind == "message" && !settled[earlier.ID] && !l.LateInput {
				report("reply %s is stale: message %s was there when it was committed", l.ID, earlier.ID)
			}
		}
	}
}

// checkBound: a reply is late only after the bound on discards, each of which
// was an attempt.
func (s story) checkBound(report reporter) {
	attempts := map[int]int{}
	for _, call := range s.calls {
		attempts[call.number] = call.attempt
	}
	for _, l := range s.transcript {
		if attempt := attempts[callOf(l.Text)]; l.counts() && l.LateInput && !s.mayFinish && attempt <= discardsAllowed {
			report("reply %s is late in attempt %d", l.ID, attempt)
		}
	}
}

// checkAgreement: the transcript and the person's screen tell the same, but
// for replies that are marked unknown.
func (s story) checkAgreement(report reporter) {
	screen := map[string]*seen{}
	for _, reply := range s.screen(func(string, ...any) {}) {
		screen[reply.id] = reply
	}
	answered := map[string]int{}
	for _, l := range s.transcript {
		if l.Kind != "reply" || l.Status == "withdrawn" {
			continue
		}
		reply := screen[l.ID]
		delete(screen, l.ID)
		switch {
		case !l.counts() || l.Status == "unknown" && !s.hold:
			report("reply %s is %s", l.ID, l.Status)
		case l.Status == "sent" && (reply == nil || len(reply.texts) != reply.of):
			report("reply %s is said to be sent, and was not seen whole", l.ID)
		case reply != nil && !slices.Equal(reply.covers, l.Covers):
			report("reply %s covers %v on the screen, %v in the transcript", l.ID, reply.covers, l.Covers)
		}
		for _, id := range l.Covers {
			answered[id]++
		}
	}
	for id := range screen {
		report("reply %s was seen, and is not in the transcript", id)
	}
	for id := range s.acknowledged {
		if answered[id] != 1 {
			report("message %s is covered by %d replies of the transcript", id, answered[id])
		}
	}
}

// slack is how long after its end the model may learn that a call was ended.
const slack = time.Second

// checkFlights: a node never has two calls under way for one conversation, and
// no message is given to the model as waiting and as answered at once.
func (s story) checkFlights(report reporter) {
	last := map[string]modelCall{} // by instance
	for _, call := range s.calls {
		before, any := last[call.instance]
		if any && before.ended.After(call.began.Add(slack)) {
			report("calls %d and %d of the same node were under way at once", before.number, call.number)
		}
		last[call.instance] = call
		for _, id := range call.ids {
			if slices.Contains(call.before, id) {
				report("call %d has message %s as waiting and as answered", call.number, id)
			}
		}
	}
}

// TestTheLedgerNoticesFaults gives it a good story, and then the same with one
// fault each.
func TestTheLedgerNoticesFaults(t *testing.T) {
	if found := goodStory().faults(); len(found) > 0 {
		t.Fatalf("the good story has faults: %v", found)
	}
	tests := map[string]struct {
		spoil func(*story)
		want  string
	}{
		"lost":                 {func(s *story) { s.transcript = s.transcript[1:] }, "kept 0 times"},
		"twice in the store":   {func(s *story) { s.transcript = append(s.transcript, s.transcript[0]) }, "kept 2 times"},
		"made up":              {func(s *story) { delete(s.wrote, "m1") }, "nobody wrote"},
		"changed":              {func(s *story) { s.wrote["m1"] = "other" }, "became"},
		"pending at rest":      {func(s *story) { s.transcript[0].Status = "pending" }, "is pending at rest"},
		"not signed":           {func(s *story) { s.arrivals[0].verified = fmt.Errorf("bad") }, "bad"},
		"another body":         {func(s *story) { a := s.arrivals[0]; a.body = "b"; s.arrivals = append(s.arrivals, a) }, "another body"},
		"hold sends again":     {func(s *story) { s.hold = true; s.arrivals = append(s.arrivals, s.arrivals[1]) }, "came again"},
		"two replies":          {func(s *story) { s.arrivals[1].covers = []string{"m1", "m3"} }, "answered by c/1 and by c/2"},
		"no reply":             {func(s *story) { s.arrivals = s.arrivals[:1] }, "m3 was never answered"},
		"said to be sent":      {func(s *story) { s.arrivals = s.arrivals[:1] }, "was not seen whole"},
		"covers too much":      {func(s *story) { s.calls[0].ids = []string{"m1"} }, "the model saw [m1]"},
		"of another turn":      {func(s *story) { s.calls[0].turn = 7 }, "for turn 7"},
		"out of order":         {func(s *story) { slices.Reverse(s.arrivals) }, "was seen after"},
		"a part is missing":    {func(s *story) { s.arrivals[1].part, s.arrivals[1].of = 2, 2 }, "part 2 was seen after 0"},
		"half a reply":         {func(s *story) { s.arrivals[1].of = 2 }, "1 of 2 parts"},
		"stale":                {func(s *story) { s.transcript[2], s.transcript[3] = s.transcript[3], s.transcript[2] }, "is stale"},
		"late too soon":        {func(s *story) { s.transcript[2].LateInput = true }, "is late in attempt 0"},
		"unknown is repeated":  {func(s *story) { s.transcript[2].Status = "unknown" }, "is unknown"},
		"given up":             {func(s *story) { s.transcript[2].Status = "undelivered" }, "is undelivered"},
		"seen, not kept":       {func(s *story) { s.transcript = s.transcript[:4] }, "not in the transcript"},
		"withdrawn, yet seen":  {func(s *story) { s.transcript[2].Status = "withdrawn" }, "not in the transcript"},
		"covered twice":        {func(s *story) { s.transcript[4].Covers = []string{"m1", "m3"} }, "covered by 2"},
		"two calls at once":    {func(s *story) { s.calls[0].ended = s.calls[1].began.Add(2 * slack) }, "under way at once"},
		"waiting and answered": {func(s *story) { s.calls[1].before = []string{"m3"} }, "as waiting and as answered"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := goodStory()
			test.spoil(&s)
			if found := strings.Join(s.faults(), "\n"); !strings.Contains(found, test.want) {
				t.Errorf("found %q, want %q", found, test.want)
			}
		})
	}
}

// What a process had sent in the instant in which it was stopped may arrive behind the
// next reply. That excuses the order, and nothing else.
func TestTheLedgerExcusesWhatIsBelated(t *testing.T) {
	s := goodStory()
	slices.Reverse(s.arrivals)
	s.belated = map[string]bool{"c/1": true}
	if found := s.faults(); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	s.arrivals[1].covers = []string{"m1", "m3"}
	if found := strings.Join(s.faults(), "\n"); !strings.Contains(found, "answered by c/1 and by c/2") {
		t.Errorf("found %q", found)
	}
}

func goodStory() story {
	began := time.Unix(1_700_000_000, 0)
	first := modelCall{number: 1, instance: "1", turn: 1, ids: []string{"m1", "m2"}, began: began, ended: began.Add(time.Second)}
	second := modelCall{number: 2, instance: "1", turn: 2, ids: []string{"m3"}, before: []string{"m1", "m2"}, began: began.Add(time.Minute), ended: began.Add(2 * time.Minute)}
	message := func(id string) line { return line{Kind: "message", ID: id, Text: "text of " + id, Status: "answered"} }
	s := story{
		wrote: map[string]string{}, acknowledged: map[string]bool{"m1": true, "m2": true, "m3": true},
		calls: []modelCall{first, second},
		arrivals: []arrival{
			{id: "c/1", reply: "c/1", turn: 1, text: answerOf(&first), covers: first.ids, part: 1, of: 1},
			{id: "c/2", reply: "c/2", turn: 2, text: answerOf(&second), covers: second.ids, part: 1, of: 1},
		},
		transcript: []line{
			message("m1"), message("m2"),
			{Kind: "reply", ID: "c/1", Status: "sent", Covers: first.ids},
			message("m3"),
			{Kind: "reply", ID: "c/2", Status: "sent", Covers: second.ids},
		},
	}
	for id := range maps.Keys(s.acknowledged) {
		s.wrote[id] = "text of " + id
	}
	return s
}
