package scenario

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// good is what is seen when one burst gets one reply.
func good() *Ledger {
	l := newLedger(Scenario{})
	l.Calls = []Call{{
		Number: 1, Node: "w1", Conversation: "c1", Start: 3 * time.Second, End: 4 * time.Second, Answered: true,
		Text: "#1. I saw ⟦m1⟧ ⟦m2⟧.", Labels: []string{"m1", "m2"}, Prompt: "ann: ⟦m1⟧ hi\nbob: ⟦m2⟧ ho", Roles: []string{"user"},
		Context: []string{"m0"}, Request: "user: ann: ⟦m1⟧ hi",
	}}
	l.Posts = []Post{{
		At: 4 * time.Second, Node: "w1", Conversation: "c1", Address: "phone", Reply: "c1/1", Part: 1, Of: 1,
		Text: l.Calls[0].Text, Covers: []string{"m1", "m2"}, Shown: true,
	}}
	for _, label := range []string{"m1", "m2"} {
		l.Answers = append(l.Answers, Answer{Event: "message", Worker: "w1", Conversation: "c1", Label: label, About: label, Status: 202, Outcome: "queued"})
	}
	l.Signals = []Signal{{At: 3 * time.Second, Conversation: "c1", Address: "c1", Kind: "typing"}}
	l.Tools = map[string]int{"book": 1}
	l.Stream = []string{"final"}
	l.Measured = []int{0}
	l.Conversations = []Conversation{{
		state: state{Conversation: "c1", Phase: "idle", Version: 2, Answered: 2},
		Entries: []entry{
			{Seq: 1, Kind: "message", ID: "m1", Text: "hi", Status: "answered", raw: `{"text":"hi"}`},
			{Seq: 2, Kind: "message", ID: "m2", Text: "ho", Status: "answered"},
			{Seq: 3, Kind: "reply", ID: "c1/1", Text: l.Calls[0].Text, Status: "sent", Receipt: "read", Covers: []string{"m1", "m2"}},
		},
		Turns: []told{{Turn: 1, Steps: []toldStep{{Type: "turn.scheduled"}, {Type: "turn.started"}, {Type: "turn.ended", Reason: "sent"}}}},
	}}
	return l
}

// TestExpectations gives each key something that holds of the good ledger and
// something that does not.
func TestExpectations(t *testing.T) {
	tests := map[string]struct{ holds, fails string }{
		"replies":                    {`1`, `2`},
		"replies_min":                {`1`, `2`},
		"replies_max":                {`1`, `0`},
		"covers":                     {`[["m2","m1"]]`, `[["m1"],["m2"]]`},
		"all_covered":                {`true`, ``},
		"no_reply_before_ms":         {`4000`, `4001`},
		"first_reply_by_ms":          {`4000`, `3999`},
		"reply_by_ms":                {`4000`, `3999`},
		"per_conversation":           {`{"c1":1,"c2":0}`, `{"c2":1}`},
		"visible_messages":           {`1`, `0`},
		"visible_messages_max":       {`1`, `0`},
		"visible_parts_of_first":     {`[1]`, `[1,2]`},
		"model_calls_max":            {`1`, `0`},
		"max_concurrent_model_calls": {`1`, `0`},
		"max_concurrent_model_calls_excluding_paused": {`1`, `0`},
		"visible_texts":              {`["#1. I saw ⟦m1⟧ ⟦m2⟧."]`, `["#1."]`},
		"signals":                    {`["3000 ms c1: typing"]`, `[]`},
		"visible_at_ms":              {`[3990]`, `[4001]`},
		"addresses":                  {`["c1","phone"]`, `["phone","c1"]`},
		"late_input":                 {`[]`, `["c1/1"]`},
		"turn_ends":                  {`{"c1/1":"sent"}`, `{"c1/1":"closed"}`},
		"request_roles":              {`"alternate"`, `"in verse"`},
		"prompt_order":               {`["m1","m2"]`, `["m2","m1"]`},
		"prompt_authors":             {`{"m1":"ann"}`, `{"m1":"bob"}`},
		"prompt_excludes":            {`["0000"]`, `["ho"]`},
		"prompt_includes":            {`["ho"]`, `["0000"]`},
		"prompt_context":             {`["m0"]`, `[]`},
		"last_request_has":           {`["hi"]`, `["hi", "no"]`},
		"last_request_lacks":         {`["no"]`, `["no", "hi"]`},
		"history_has_only_delivered": {`true`, ``},
		"tool_runs_max":              {`{"book":1}`, `{"book":0}`},
		"pending_copies_max":         {`1`, `0`},
		"sends_by":                   {`{"w1":1,"w2":0}`, `{"w1":0}`},
		"send_attempts_max":          {`{"c1":1}`, `{"c1":0}`},
		"dead_letters":               {`[]`, `["m1"]`},
		"sse_events":                 {`["final"]`, `["superseded","final"]`},
		"in_memory_entries_max":      {`0`, `-1`},
		"http_of_m2":                 {`200`, `503`},
		"outcomes":                   {`{"message m1":"queued"}`, `{"message m1":"ignored: deleted"}`},
		"statuses":                   {`{"m1":"answered","c1/1":"sent"}`, `{"c1/1":"partial"}`},
		"transcript_has":             {`["\"hi\""]`, `["hi", "no"]`},
		"transcript_lacks":           {`["no"]`, `["no", "hi"]`},
		"receipts":                   {`{"c1/1":"read"}`, `{"c1/1":""}`},
		"any_of":                     {`[{"replies":2},{"replies":1}]`, `[{"replies":2},{"replies":3}]`},
		"notes":                      {`"anything"`, ``},
	}
	fields := reflect.TypeFor[Expect]()
	for i := range fields.NumField() {
		key := fields.Field(i).Tag.Get("json")
		test, ok := tests[key]
		if !ok {
			t.Errorf("no test of the key %q", key)
			continue
		}
		if problems := expecting(t, key, test.holds).check(good()); len(problems) > 0 {
			t.Errorf("%s: %s: %v", key, test.holds, problems)
		}
		if test.fails == "" {
			continue
		}
		if problems := expecting(t, key, test.fails).check(good()); len(problems) == 0 {
			t.Errorf("%s: %s went unnoticed", key, test.fails)
		}
	}
}

func expecting(t *testing.T, key, value string) (x Expect) {
	t.Helper()
	if err := json.Unmarshal([]byte(`{"`+key+`":`+value+`}`), &x); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestBreaches spoils the good ledger in one way after the other: each must be
// noticed, by the rules or by one of the keys that need a spoilt ledger.
func TestBreaches(t *testing.T) {
	yes := true
	strict := Expect{AllCovered: yes, HistoryHasOnlyDelivered: yes, RequestRoles: "alternate"}
	all := func(l *Ledger) []string { return append(l.breaches(), strict.check(l)...) }
	if problems := all(good()); len(problems) > 0 {
		t.Fatalf("the good ledger: %v", problems)
	}
	reply := func(l *Ledger) *entry { return &l.Conversations[0].Entries[2] }
	steps := func(l *Ledger, more toldStep) {
		t := &l.Conversations[0].Turns[0]
		t.Steps = append(t.Steps, more)
	}
	tests := []struct {
		complaint string
		spoil     func(*Ledger)
	}{
		{"is in no reply", func(l *Ledger) { l.Posts = nil }},
		{"answered 500", func(l *Ledger) { l.Answers[0].Status = 500 }},
		{"answered 202, not 413", func(l *Ledger) { l.Answers[0].Expect = 413 }},
		{"was taken in 2 times", func(l *Ledger) { l.Answers = append(l.Answers, l.Answers[0]) }},
		{"is not stored", func(l *Ledger) { l.Conversations[0].Entries[0].ID = "other" }},
		{"left pending", func(l *Ledger) { l.Conversations[0].Entries[0].Status = "pending" }},
		{"it was refused", func(l *Ledger) { l.Answers[0].Status = 503; l.Answers[0].Expect = 503 }},
		{"is in the replies", func(l *Ledger) {
			second := l.Posts[0]
			second.Reply = "c1/2"
			l.Posts = append(l.Posts, second)
		}},
		{"were shown in the order", func(l *Ledger) { l.Posts = append(l.Posts, l.Posts[0]) }},
		{"stand among those of another", func(l *Ledger) {
			second := l.Posts[0]
			second.Reply = "c1/2"
			l.Posts = append(l.Posts, second, l.Posts[0])
		}},
		{"holds m1 twice", func(l *Ledger) { l.Calls[0].Labels = []string{"m1", "m2", "m1"} }},
		{"comes from no call", func(l *Ledger) { l.Posts[0].Text = "hello" }},
		{"but its prompt held", func(l *Ledger) { l.Calls[0].Labels = []string{"m1"} }},
		{"nobody saw its answer", func(l *Ledger) { l.Calls = append(l.Calls, Call{Number: 2, Conversation: "c2", Sealed: true}) }},
		{"although m3 had been accepted", func(l *Ledger) {
			c := &l.Conversations[0]
			c.Entries[2].Seq = 4
			c.Entries = append(c.Entries,
				entry{Seq: 3, Kind: "message", ID: "m3", Status: "answered"},
				entry{Seq: 5, Kind: "reply", ID: "c1/2", Status: "sent", Covers: []string{"m3"}})
		}},
		{"still there", func(l *Ledger) { l.Conversations[0].Entries[0].Status = "deleted" }},
		{"the person was told", func(l *Ledger) { reply(l).Covers = []string{"m1"} }},
		{"was sent elsewhere, and", func(l *Ledger) { reply(l).Reason = "sent_elsewhere" }},
		{"0 of 0 parts were shown", func(l *Ledger) { l.Posts = nil }},
		{"counts as partial", func(l *Ledger) { reply(l).Status = "partial" }},
		{"the transcript says that it is withdrawn", func(l *Ledger) { reply(l).Status = "withdrawn" }},
		{"not in the transcript", func(l *Ledger) { reply(l).ID = "c1/7" }},
		{"ran at once", func(l *Ledger) { l.Calls = append(l.Calls, l.Calls[0]) }},
		{"is left generating", func(l *Ledger) { l.Conversations[0].Phase = "generating" }},
		{"is idle with", func(l *Ledger) { l.Conversations[0].Pending = 1 }},
		{"takes answer #9. for said", func(l *Ledger) { l.Calls[0].Said = []string{"#9. I saw nothing."} }},
		{"has ended 2 times", func(l *Ledger) { steps(l, toldStep{Type: "turn.ended"}) }},
		{"has ended 0 times", func(l *Ledger) { l.Conversations[0].Turns[0].Steps = nil }},
		{"is open, and has ended", func(l *Ledger) { l.Conversations[0].Turns[0].Open = true }},
		{"then comes turn.scheduled", func(l *Ledger) { steps(l, toldStep{Type: "turn.scheduled"}) }},
		{"the roles are", func(l *Ledger) { l.Calls[0].Roles = []string{"user", "user"} }},
	}
	for _, test := range tests {
		l := good()
		test.spoil(l)
		problems := all(l)
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, test.complaint) }) {
			t.Errorf("%q was not noticed: %v", test.complaint, problems)
		}
	}
}

// TestPeak counts a frozen node's call only until it froze.
func TestPeak(t *testing.T) {
	l := newLedger(Scenario{})
	l.Calls = []Call{
		{Node: "w1", Conversation: "c1", Start: 1 * time.Second, End: 9 * time.Second},
		{Node: "w2", Conversation: "c1", Start: 5 * time.Second, End: 7 * time.Second},
		{Node: "w2", Conversation: "c1", Start: 7 * time.Second, End: 8 * time.Second},
	}
	l.Frozen = []Frozen{{Node: "w1", From: 2 * time.Second, Until: 9 * time.Second}}
	if got := l.peak("c1", false); got != 2 {
		t.Errorf("with the frozen node: %d, not 2", got)
	}
	if got := l.peak("c1", true); got != 1 {
		t.Errorf("without the frozen node: %d, not 1", got)
	}
}

// TestUnknown: what the player does not know must not pass in silence.
func TestUnknown(t *testing.T) {
	for _, line := range []string{
		`{"id":"X","expect":{"replies_per_fortnight":1}}`,
		`{"id":"X","config":{"telepathy":true}}`,
		`{"id":"X","events":[{"at_ms":0,"type":"message","colour":"red"}]}`,
	} {
		if _, err := Read(strings.NewReader(line)); err == nil {
			t.Errorf("%s was read", line)
		}
	}
	for _, event := range []Event{{Type: "eclipse"}, {Type: "message", Hook: "before_breakfast"}} {
		s := Scenario{Config: Config{DebounceMS: 1000, MaxWaitMS: 5000, LeaseTTLMS: 15000, Workers: 1}, Events: []Event{event}}
		outcome := play(t, s, Stage{Store: "memory", Nodes: 1}, nil)
		if len(outcome.Problems) == 0 {
			t.Errorf("%+v was played", event)
		}
	}
}
