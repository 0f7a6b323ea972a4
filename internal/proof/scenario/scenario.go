package scenario

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Scenario is one story.
type Scenario struct {
	ID     string  `json:"id"`
	Class  string  `json:"class"`
	Source string  `json:"source"`
	Title  string  `json:"title"`
	Config Config  `json:"config"`
	Events []Event `json:"events"`
	Expect Expect  `json:"expect"`
}

// Config is how the nodes are configured. Where a pointer is nil, the default
// of the program holds.
type Config struct {
	DebounceMS          int      `json:"debounce_ms"`
	MaxWaitMS           int      `json:"max_wait_ms"`
	LeaseTTLMS          int      `json:"lease_ttl_ms"` // 0: the default of the program
	MaxDiscards         int      `json:"max_discards"`
	Workers             int      `json:"workers"`
	AmbiguousSend       string   `json:"ambiguous_send"`
	ChannelLimit        *int     `json:"channel_limit"`
	PartGapMS           int      `json:"part_gap_ms"` // the channel takes so long for each part
	MaxModelAttempts    int      `json:"max_model_attempts"`
	MaxTurnAttempts     int      `json:"max_turn_attempts"`
	AutoRestartMS       int      `json:"auto_restart_ms"` // a crashed node comes back after so long
	CancelOnStale       bool     `json:"cancel_on_stale"`
	GroupWaitMS         *int     `json:"group_wait_ms"`
	ContinuationWaitMS  *int     `json:"continuation_wait_ms"`
	MediaWaitMS         *int     `json:"media_wait_ms"`
	MaxTurnsPerMinute   int      `json:"max_turns_per_minute"`
	OptOutWords         []string `json:"opt_out_words"`
	StopWords           []string `json:"stop_words"`
	MaxBodyBytes        int      `json:"max_body_bytes"` // a fixed limit of the API
	OutageNotice        bool     `json:"outage_notice"`  // there is none: what waits gets its reply
	MaxModelConcurrency int      `json:"max_model_concurrency"`
	Mode                string   `json:"mode"`
	Store               string   `json:"store"`
	Responder           string   `json:"responder"` // "agent": a webhook; else a model, unless a tool is called
	Delivery            string   `json:"delivery"`
	Stream              bool     `json:"stream"`         // always on
	TypingExtends       bool     `json:"typing_extends"` // always on
	IdleEvictMS         int      `json:"idle_evict_ms"`  // a fixed bound of the engine

	Limits map[string]string `json:"limits"` // of the configuration file

	// Bot has further keys of the bot, as a configuration file has them. They
	// win over what the keys above say.
	Bot map[string]any `json:"bot"`
}

// Event is something that happens. Which fields it has depends on its type.
type Event struct {
	AtMS int    `json:"at_ms"`
	Type string `json:"type"`

	Message
	Messages []Message `json:"messages"`
	Of       string    `json:"of"`
	Header   string    `json:"header"`

	Worker     string `json:"worker"`
	Hook       string `json:"hook"`
	HTTPExpect int    `json:"http_expect"`

	MS      int    `json:"ms"`
	UntilMS int    `json:"until_ms"`
	Count   int    `json:"count"`
	Calls   int    `json:"calls"`
	Forever bool   `json:"forever"`
	Op      string `json:"op"`
	Mode    string `json:"mode"`
	Part    int    `json:"part"`
	Status  int    `json:"status"`
	Chars   int    `json:"chars"`
	Empty   bool   `json:"empty"`
	GraceMS int    `json:"grace_ms"`
	TTLMS   int    `json:"ttl_ms"`

	Containing   string `json:"containing"`     // of a model_error: only requests that hold this text, the history included
	LongerThan   int    `json:"longer_than"`    // of a model_error: only requests that hold more characters
	Code         string `json:"code"`           // of a model_error: the code in its body
	RetryAfterMS int    `json:"retry_after_ms"` // of a channel_error: the pause that the receiver asks for
	Scope        string `json:"scope"`          // of that pause: "bot", or "" for this conversation
	Times        int    `json:"times"`

	Author        string          `json:"author"`
	TextChanged   *bool           `json:"text_changed"`
	On            string          `json:"on"`
	Emoji         string          `json:"emoji"`
	Name          string          `json:"name"`
	Effect        bool            `json:"effect"`
	Reengage      bool            `json:"reengage"`
	Key           string          `json:"key"`
	Value         json.RawMessage `json:"value"`
	Bytes         int             `json:"bytes"`
	BadSignature  bool            `json:"bad_signature"`
	Conversations int             `json:"conversations"`
	MessagesEach  int             `json:"messages_each"`

	// A "call" is any call of the API: a method, and a path below the
	// conversation, or from /v1/ on. Its answer holds some texts, and lacks others.
	Method      string          `json:"method"`
	Path        string          `json:"path"`
	Body        json.RawMessage `json:"body"`
	AnswerHas   []string        `json:"answer_has"`
	AnswerLacks []string        `json:"answer_lacks"`
}

// Message is what somebody wrote.
type Message struct {
	ID         string  `json:"id"`
	Alias      string  `json:"alias"` // names a message that has no id
	Text       *string `json:"text"`
	Kind       string  `json:"kind"`
	Caption    string  `json:"caption"`
	Sender     string  `json:"sender"`      // its id, and its name unless that is given
	SenderName *string `json:"sender_name"` // "": it comes without one
	SenderBot  bool    `json:"sender_bot"`
	Context    bool    `json:"context"`
	SentAtMS   *int    `json:"sent_at_ms"` // by the sender's clock, in the story's time

	ReplyTo        json.RawMessage `json:"reply_to"`
	ForwardedFrom  json.RawMessage `json:"forwarded_from"`
	Conv           string          `json:"conv"`
	Chat           string          `json:"chat"`
	Thread         string          `json:"thread"`
	Group          string          `json:"group"`
	ProviderTS     int             `json:"provider_ts"`
	Addressed      *bool           `json:"addressed"`
	Mention        bool            `json:"mention"`
	FromMe         bool            `json:"from_me"`
	EventName      string          `json:"event"`
	EventID        string          `json:"event_id"`
	Source         string          `json:"source"`
	MediaReadyAtMS int             `json:"media_ready_at_ms"`
	MediaFailed    bool            `json:"media_failed"`
	Transcript     string          `json:"transcript"`
	CrashesWorker  bool            `json:"crashes_worker"`
	Plain          bool            `json:"plain"`     // the text stays as it is, without a mark
	PadBytes       int             `json:"pad_bytes"` // so many bytes follow the text
}

// Expect is what must have happened. A nil field demands nothing.
type Expect struct {
	Notes string   `json:"notes"`
	AnyOf []Expect `json:"any_of"`

	Replies             *int           `json:"replies"`
	RepliesMin          *int           `json:"replies_min"`
	RepliesMax          *int           `json:"replies_max"`
	Covers              *[][]string    `json:"covers"`
	AllCovered          bool           `json:"all_covered"`
	NoReplyBeforeMS     *int           `json:"no_reply_before_ms"`
	FirstReplyByMS      *int           `json:"first_reply_by_ms"`
	ReplyByMS           *int           `json:"reply_by_ms"`
	PerConversation     map[string]int `json:"per_conversation"`
	VisibleMessages     *int           `json:"visible_messages"`
	VisibleMessagesMax  *int           `json:"visible_messages_max"`
	VisiblePartsOfFirst []int          `json:"visible_parts_of_first"`
	VisibleTexts        *[]string      `json:"visible_texts"` // all that the person sees, in order
	Signals             *[]string      `json:"signals"`       // what the receiver was told besides, in order: "700 ms c1: typing", or without the time
	Addresses           *[]string      `json:"addresses"`     // the name to which each request of the receiver was to go, signals among them, in order
	LateInput           *[]string      `json:"late_input"`    // the replies of which the receiver was told that newer input existed
	VisibleAtMS         *[]int         `json:"visible_at_ms"` // when: at that time or up to 100 ms later

	ModelCallsMax                          *int              `json:"model_calls_max"`
	MaxConcurrentModelCalls                *int              `json:"max_concurrent_model_calls"`
	MaxConcurrentModelCallsExcludingPaused *int              `json:"max_concurrent_model_calls_excluding_paused"`
	RequestRoles                           string            `json:"request_roles"`
	PromptOrder                            []string          `json:"prompt_order"`
	PromptAuthors                          map[string]string `json:"prompt_authors"`
	PromptExcludes                         []string          `json:"prompt_excludes"`
	PromptIncludes                         []string          `json:"prompt_includes"`
	PromptContext                          *[]string         `json:"prompt_context"`   // at the head of the last prompt, in order
	LastRequestHas                         []string          `json:"last_request_has"` // texts in the last request, its history included
	LastRequestLacks                       []string          `json:"last_request_lacks"`
	HistoryHasOnlyDelivered                bool              `json:"history_has_only_delivered"`
	ToolRunsMax                            map[string]int    `json:"tool_runs_max"`

	PendingCopiesMax   *int           `json:"pending_copies_max"`
	SendsBy            map[string]int `json:"sends_by"`
	SendAttemptsMax    map[string]int `json:"send_attempts_max"`
	DeadLetters        []string       `json:"dead_letters"`
	SSEEvents          []string       `json:"sse_events"`
	InMemoryEntriesMax *int           `json:"in_memory_entries_max"`
	HTTPOfM2           *int           `json:"http_of_m2"`

	// Outcomes are what the API said last to an event about a message, with its
	// reason: {"edit m1": "early", "message m2": "ignored: deleted"}. A call is
	// named by its path.
	Outcomes map[string]string `json:"outcomes"`
	// Statuses are those of transcript entries in the end, by the message's
	// label or the reply's id.
	Statuses map[string]string `json:"statuses"`
	// TranscriptHas and TranscriptLacks are texts in the entries of the transcript in the
	// end, as the API gives them.
	TranscriptHas   []string `json:"transcript_has"`
	TranscriptLacks []string `json:"transcript_lacks"`
	// TurnEnds are the turns that have ended, by their replies' ids, and how each did.
	TurnEnds map[string]string `json:"turn_ends"`
	// Receipts are what the transcript shows of the channel's reports, by the reply's id.
	Receipts map[string]string `json:"receipts"`
}

// Read reads stories, one a line. What it does not know is an error: nobody
// must believe that it was checked.
func Read(source io.Reader) ([]Scenario, error) {
	var all []Scenario
	lines := bufio.NewScanner(source)
	lines.Buffer(nil, 1<<20)
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		var s Scenario
		if err := decoder.Decode(&s); err != nil {
			return nil, fmt.Errorf("line %d (%s): %w", number, s.ID, err)
		}
		all = append(all, s)
	}
	return all, lines.Err()
}

// Scaled bounds how many conversations an event may make. What is expected of
// as many is expected of as many fewer. It reports the bound where it mattered.
func (s Scenario) Scaled(limit int) (Scenario, int) {
	events := append([]Event(nil), s.Events...)
	reached := 0
	for i, e := range events {
		if e.Type != "seed_conversations" || e.Count <= limit {
			continue
		}
		events[i].Count, reached = limit, limit
		for _, expected := range []**int{&s.Expect.Replies, &s.Expect.ModelCallsMax} {
			if *expected != nil && **expected == e.Count {
				*expected = &limit
			}
		}
	}
	s.Events = events
	return s, reached
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

var repeated = regexp.MustCompile(`^(.)\*(\d+)$`)

// written is the text that the story stands for: "y*4096" is long.
func written(text string) string {
	if m := repeated.FindStringSubmatch(text); m != nil {
		count, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], count)
	}
	return text
}

// label names a message in the story: its id, or its alias.
func (m Message) label() string {
	if m.ID != "" {
		return m.ID
	}
	return m.Alias
}

// conversation is where a message belongs. A chat and a thread are encoded so
// that two pairs never become one name.
func (m Message) conversation() string {
	if m.Chat == "" {
		if m.Conv == "" {
			return "c1"
		}
		return m.Conv
	}
	name, err := json.Marshal([]string{m.Chat, m.Thread})
	if err != nil {
		panic(err) // strings always have a JSON form
	}
	return string(name)
}
