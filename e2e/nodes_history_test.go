package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// request is what a client of the API asked of a conversation: to accept a
// message, or, where there is none, to show the transcript or the state.
type request struct {
	conversation string
	message      string
	transcript   bool
	place        int // of the message in the transcript at the end, from 1; 0: it is not there
}

// response is what it got; unknown where it got no answer to a message.
type response struct {
	unknown   bool
	duplicate bool
	version   int64
	messages  string // of a transcript: ids in order
	doubtful  bool   // something was wrong with the store or the network meanwhile
}

// apiModel is the promise: a message is accepted once; whoever looks after that,
// at any node, sees it. Its state is how many messages were accepted. Which they
// were is known from the transcript at the end, since that only ever grows:
// without it the search for an order would be hopeless, for each request without
// an answer doubles it.
var apiModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		return partition(all, func(o porcupine.Operation) string { return o.Input.(request).conversation })
	},
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		return step(state.(int), input.(request), output.(response))
	},
}

// step is one request after so many were accepted. The version in an
// acknowledgement may be newer than the message's own: a node that had to ask
// the store what became of its write answers with what it found. That of a
// duplicate may be older than the conversation's: nodes remember what they wrote.
// A repeat whose write got no answer may be answered as if it was new (asIfNew).
func step(count int, asked request, got response) (bool, int) {
	next := count+1 == asked.place
	switch {
	case asked.transcript:
		return len(strings.Fields(got.messages)) == count, count
	case asked.message == "":
		return got.version == int64(count), count
	case got.unknown && next:
		return true, count + 1
	case got.unknown:
		return asked.place <= count, count
	case got.duplicate:
		return asked.place > 0 && asked.place <= int(got.version) && int(got.version) <= count, count
	case got.doubtful && asked.place > 0 && asked.place <= count:
		return int(got.version) >= asked.place, count
	default:
		return next && int(got.version) >= asked.place, count + 1
	}
}

// placed gives each message its place in the transcript of the end. It reports
// transcripts that were no beginning of that.
func placed(all []porcupine.Operation, ends map[string][]string) ([]porcupine.Operation, error) {
	var found []porcupine.Operation
	for conversation, end := range ends {
		if twice := slices.Sorted(slices.Values(end)); len(slices.Compact(twice)) < len(end) {
			return nil, fmt.Errorf("%s holds a message twice: %q", conversation, end)
		}
	}
	for _, o := range all {
		asked, got := o.Input.(request), o.Output.(response)
		end := ends[asked.conversation]
		if asked.message != "" {
			asked.place = slices.Index(end, asked.message) + 1
		}
		seen := strings.Fields(got.messages)
		if len(seen) > len(end) || !slices.Equal(seen, end[:len(seen)]) {
			return nil, fmt.Errorf("%s was %q and became %q", asked.conversation, seen, end)
		}
		if got.unknown && asked.place == 0 {
			continue // it never happened
		}
		o.Input = asked
		found = append(found, o)
	}
	return found, nil
}

// linearizable looks for an order that explains a history.
func linearizable(all []porcupine.Operation, ends map[string][]string) error {
	all, err := placed(all, ends)
	if err != nil {
		return err
	}
	for _, part := range apiModel.Partition(all) {
		if got := porcupine.CheckOperationsTimeout(apiModel, part, searchLimit); got != porcupine.Ok {
			return fmt.Errorf("%s: %s:\n%s", part[0].Input.(request).conversation, got, listing(part))
		}
	}
	return nil
}

func listing(part []porcupine.Operation) string {
	var text strings.Builder
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, o := range part {
		fmt.Fprintf(&text, "client %d, %v to %v: %+v → %+v\n", o.ClientId, time.Duration(o.Call), time.Duration(o.Return), o.Input, o.Output)
	}
	return text.String()
}

// historian is a client that writes down what it asked and what it got.
type historian struct {
	caller *caller
	url    string
	bot    string
	began  time.Time
	number int
	random *rand.Rand
	done   []porcupine.Operation
	count  int
}

// chapter is how long one conversation of the history lasts.
const chapter = 6 * time.Second

// works until ctx ends, with pauses.
func (h *historian) works(ctx context.Context) {
	for ctx.Err() == nil {
		conversation := fmt.Sprintf("history-%d", time.Since(h.began)/chapter)
		switch h.random.IntN(3) {
		case 0:
			h.say(conversation)
		case 1:
			h.look(conversation)
		default:
			h.read(conversation)
		}
		wait(ctx, time.Duration(h.random.IntN(200))*time.Millisecond)
	}
}

func (h *historian) now() int64 { return time.Since(h.began).Nanoseconds() }

func (h *historian) note(asked request, began int64, got response) {
	ended := h.now()
	if got.unknown {
		ended = math.MaxInt64
	}
	h.done = append(h.done, porcupine.Operation{ClientId: h.number, Input: asked, Call: began, Output: got, Return: ended})
}

// say sends a message, and once more if there was no answer, or for no reason.
func (h *historian) say(conversation string) {
	h.count++
	id := fmt.Sprintf("h%d-%d", h.number, h.count)
	for tries := 0; tries < 3; tries++ {
		began := h.now()
		got, ok, _ := h.caller.say(h.url, h.bot, conversation, id, "["+id+"] for the record")
		h.note(request{conversation: conversation, message: id}, began, response{unknown: !ok, duplicate: got.Duplicate, version: got.Version})
		if ok && h.random.IntN(6) > 0 {
			return
		}
		wait(context.Background(), 50*time.Millisecond)
	}
}

func (h *historian) look(conversation string) {
	began := h.now()
	got := h.caller.do(http.MethodGet, path(h.url, h.bot, conversation), "")
	var now standing
	switch {
	case got.status == http.StatusOK && json.Unmarshal(got.body, &now) == nil:
		h.note(request{conversation: conversation}, began, response{version: now.Version})
	case got.status == http.StatusNotFound && got.problem() == "not-found":
		h.note(request{conversation: conversation}, began, response{})
	}
}

func (h *historian) read(conversation string) {
	began := h.now()
	got := h.caller.do(http.MethodGet, path(h.url, h.bot, conversation)+"/transcript?limit=1000", "")
	var page struct {
		Entries []line
		Next    *int64
	}
	if got.status != http.StatusOK || json.Unmarshal(got.body, &page) != nil || page.Next != nil {
		return
	}
	var messages strings.Builder
	for _, l := range page.Entries {
		if l.Kind == "message" {
			messages.WriteString(l.ID + " ")
		}
	}
	h.note(request{conversation: conversation, transcript: true}, began, response{messages: messages.String()})
}

// historians are some at once.
type historians struct {
	all     []*historian
	began   time.Time
	working sync.WaitGroup
}

func record(ctx context.Context, c *caller, url, bot string, seed uint64) *historians {
	h := &historians{began: time.Now()}
	for i := range 4 {
		one := &historian{caller: c, url: url, bot: bot, began: h.began, number: i, random: rand.New(rand.NewPCG(seed, 100+uint64(i)))}
		h.all = append(h.all, one)
		h.working.Go(func() { one.works(ctx) })
	}
	return h
}

// judge waits for them, and looks for an order that explains what they saw.
func (h *historians) judge(t testing.TB, last string, disturbed func(from, to time.Time) bool) {
	t.Helper()
	h.working.Wait()
	var all []porcupine.Operation
	for _, one := range h.all {
		all = append(all, one.done...)
	}
	ends, unknown := map[string][]string{}, 0
	for i, o := range all {
		got := o.Output.(response)
		if !got.unknown {
			got.doubtful = disturbed(h.began.Add(time.Duration(o.Call)), h.began.Add(time.Duration(o.Return)))
			all[i].Output = got
		}
		name := o.Input.(request).conversation
		if _, known := ends[name]; !known {
			ends[name] = h.end(t, last, name)
		}
		if o.Output.(response).unknown {
			unknown++
		}
	}
	began := time.Now()
	if err := linearizable(all, ends); err != nil {
		t.Errorf("the history of the API is not linearizable: %v", err)
	}
	t.Logf("history of the API: %d requests to %d conversations, %d without an answer, checked in %v",
		len(all), len(ends), unknown, time.Since(began).Round(time.Millisecond))
}

// end is what a conversation holds once everything rests.
func (h *historians) end(t testing.TB, url, conversation string) []string {
	t.Helper()
	one := h.all[0]
	if one.caller.do(http.MethodGet, path(url, one.bot, conversation), "").status == http.StatusNotFound {
		return nil
	}
	one.caller.rests(t, url, one.bot, conversation)
	var ids []string
	for _, l := range one.caller.read(t, url, one.bot, conversation) {
		if l.Kind == "message" {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// TestTheHistoryNoticesFaults gives the model a good history, and then one fault
// each.
func TestTheHistoryNoticesFaults(t *testing.T) {
	type operation = porcupine.Operation
	at := func(call, end int64, asked request, got response) operation {
		asked.conversation = "c"
		return operation{Input: asked, Call: call, Output: got, Return: end}
	}
	one, two, look, read := request{message: "one"}, request{message: "two"}, request{}, request{transcript: true}
	first, second := at(1, 2, one, response{version: 1}), at(3, 4, two, response{version: 2})
	lost := at(3, math.MaxInt64, two, response{unknown: true})
	tests := map[string]struct {
		history []operation
		end     string
		good    bool
	}{
		"good":                     {[]operation{first, second, at(5, 6, one, response{duplicate: true, version: 2}), at(7, 8, read, response{messages: "one two"})}, "one two", true},
		"unknown, and applied":     {[]operation{first, lost, at(5, 6, look, response{version: 2})}, "one two", true},
		"unknown, and later":       {[]operation{first, lost, at(5, 6, look, response{version: 1})}, "one two", true},
		"unknown, and never":       {[]operation{first, lost, at(5, 6, look, response{version: 1})}, "one", true},
		"unknown, then repeated":   {[]operation{first, lost, at(5, 6, two, response{version: 2})}, "one two", true},
		"unknown, then known":      {[]operation{first, lost, at(5, 6, two, response{version: 2, duplicate: true})}, "one two", true},
		"lost":                     {[]operation{first}, "", false},
		"not there for a while":    {[]operation{first, at(3, 4, look, response{})}, "one", false},
		"lost after it was seen":   {[]operation{first, lost, at(5, 6, look, response{version: 2}), at(7, 8, look, response{version: 1})}, "one two", false},
		"unknown, never, yet seen": {[]operation{first, lost, at(5, 6, look, response{version: 2})}, "one", false},
		"accepted twice":           {[]operation{first, at(3, 4, one, response{version: 2})}, "one one", false},
		"duplicate of nothing":     {[]operation{at(1, 2, one, response{duplicate: true, version: 1})}, "", false},
		"duplicate of the future":  {[]operation{at(1, 2, one, response{duplicate: true, version: 1}), at(3, 4, one, response{version: 1})}, "one", false},
		"another order":            {[]operation{first, second}, "two one", false},
		"an order that changed":    {[]operation{first, second, at(5, 6, read, response{messages: "two one"})}, "one two", false},
		"as if it was new":         {[]operation{first, at(3, 4, one, response{version: 1, doubtful: true})}, "one", true},
		"a number too small":       {[]operation{first, at(3, 4, two, response{version: 1})}, "one two", false},
		"a number of the future":   {[]operation{first, at(3, 4, one, response{duplicate: true, version: 2}), at(5, 6, two, response{version: 2})}, "one two", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := linearizable(test.history, map[string][]string{"c": strings.Fields(test.end)})
			if good := err == nil; good != test.good {
				t.Errorf("found %v, want good: %v", err, test.good)
			}
		})
	}
}
