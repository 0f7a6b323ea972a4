package onereply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/onereply/onereply/internal/inspect"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// State is what is known of a conversation.
type State struct {
	Bot            string     `json:"bot"`
	Conversation   string     `json:"conversation"`
	Version        int64      `json:"version"`
	Answered       int64      `json:"answered"`
	Phase          turn.Phase `json:"phase"`
	Pending        int        `json:"pending"`
	Turn           int64      `json:"turn"`
	DueAt          Time       `json:"due_at"`
	FirstPendingAt Time       `json:"first_pending_at"`
	Lease          *Lease     `json:"lease"`
	Discards       int        `json:"discards"`
	Attempts       int        `json:"attempts"`
	LastError      string     `json:"last_error"`
	PauseReason    string     `json:"pause_reason,omitempty"`
	SetAside       int        `json:"set_aside,omitempty"`       // messages that brought down each worker that took them
	LastActivityAt Time       `json:"last_activity_at,omitzero"` // in lists
	LastInput      *LastInput `json:"last_input,omitempty"`      // in lists with a preview, where there is one
}

// Lease is who works on a conversation.
type Lease struct {
	Holder    string `json:"holder"`
	Token     int64  `json:"token"`
	ExpiresAt Time   `json:"expires_at"`
}

// LastInput is the last message of a conversation that was not deleted.
type LastInput struct {
	Text   string  `json:"text"` // its first MaxPreviewRunes characters
	At     Time    `json:"at"`
	Sender *Person `json:"sender,omitempty"`
}

// State is what is known of a conversation; CodeNotFound where nothing was ever
// received.
func (a *App) State(ctx context.Context, bot, conversation string) (State, error) {
	c, err := a.begin("state", bot, conversation)
	if err != nil {
		return State{}, err
	}
	snapshot, err := a.store.Load(ctx, c.key)
	if err == nil && !snapshot.Record.Exists() {
		err = inspect.ErrNothing
	}
	return stateOf(c.key, snapshot.Record), c.of(err)
}

func stateOf(key store.Key, r turn.Record) State {
	s := State{
		Bot: key.Bot, Conversation: key.Conversation, Version: r.Version, Answered: r.Answered, Phase: r.Shown(),
		Pending: r.Pending, Turn: r.Turn, Discards: r.Discards, Attempts: r.Attempts, LastError: r.LastError, PauseReason: r.PauseReason,
	}
	if r.Phase == turn.Collecting && !r.OnHold {
		s.DueAt = timeOf(r.Due)
	}
	if r.Phase == turn.Sending && r.Lease.Nonce == "" {
		s.DueAt = timeOf(r.Reply.RetryAt)
	}
	if r.Pending > 0 {
		s.FirstPendingAt = timeOf(inspect.FirstPending(r))
	}
	if r.Aside != nil {
		s.SetAside = r.Aside.Pending
	}
	if r.Lease.Nonce != "" {
		s.Lease = &Lease{Holder: r.Lease.Holder, Token: r.Lease.Token, ExpiresAt: timeOf(r.Lease.Expires)}
	}
	return s
}

// ConversationQuery selects conversations.
type ConversationQuery struct {
	Bot    string     // "" means all
	Phase  turn.Phase // "" means all
	Cursor string
	Limit  int // 1 to 1000; 0 means 100

	// Attention selects those that need somebody: failed, or with a reply in trouble. A page may have fewer than
	// Limit although the list goes on.
	Attention bool

	// Search leaves out conversations whose name and whose last input's text both
	// lack it, in any case; at most 512 bytes. One page looks through 500
	// conversations, so it may have fewer than Limit, or none, and still go on.
	Search  string
	Preview bool // with each conversation's last input
}

// ConversationPage is a page of conversations, newest activity first.
type ConversationPage struct {
	Conversations []State `json:"conversations"`
	Next          string  `json:"next"` // "" at the end
}

// Conversations lists conversations, newest activity first.
func (a *App) Conversations(ctx context.Context, q ConversationQuery) (ConversationPage, error) {
	c := call{op: "list", key: store.Key{Bot: q.Bot}}
	if _, ok := a.bots[q.Bot]; !ok && q.Bot != "" {
		return ConversationPage{}, c.fail(CodeNotFound, "bot", errors.New("no such bot is configured"))
	}
	switch q.Phase {
	case "", turn.Idle, turn.Collecting, turn.Generating, turn.Sending, turn.Paused, turn.Failed:
	default:
		return ConversationPage{}, c.fail(CodeInvalid, "phase", errors.New("it must be idle, collecting, generating, sending, paused or failed"))
	}
	limit, err := pageLimit(q.Limit)
	if err != nil {
		return ConversationPage{}, c.fail(CodeInvalid, "limit", err)
	}
	if err := checkSearch(q.Search); err != nil {
		return ConversationPage{}, c.fail(CodeInvalid, "q", err)
	}
	found, next, err := inspect.List(ctx, a.store, inspect.ListQuery{
		ListQuery: store.ListQuery{Bot: q.Bot, Phase: q.Phase, Attention: q.Attention, Cursor: q.Cursor, Limit: limit},
		Search:    q.Search, Preview: q.Preview,
	})
	page := ConversationPage{Conversations: make([]State, len(found)), Next: next}
	for i, row := range found {
		s := stateOf(row.Key, row.Snapshot.Record)
		s.LastActivityAt, s.LastInput = timeOf(row.Active), previewOf(row.LastInput)
		page.Conversations[i] = s
	}
	return page, c.of(err)
}

// pageLimit is how many items a page has, of the limit that was asked for.
func pageLimit(asked int) (int, error) {
	if asked < 0 || asked > maxPage {
		return 0, fmt.Errorf("it must be 1 to %d", maxPage)
	}
	return cmp.Or(asked, defaultPage), nil
}

const (
	defaultPage = 100
	maxPage     = store.MaxEntries
)

// previewOf is an input as a list shows it.
func previewOf(e *store.Entry) *LastInput {
	if e == nil {
		return nil
	}
	out := &LastInput{Text: firstRunes(e.Text, MaxPreviewRunes), At: timeOf(e.At)}
	if e.Sender != (Person{}) {
		sender := e.Sender
		out.Sender = &sender
	}
	return out
}

// firstRunes cuts a text after so many characters.
func firstRunes(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}

func checkSearch(text string) error {
	switch {
	case len(text) > MaxNameBytes:
		return errors.New("it must have at most 512 bytes")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return errors.New("it must be UTF-8 without NUL")
	}
	return nil
}
