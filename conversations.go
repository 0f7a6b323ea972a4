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

// Phase is where a conversation stands in the life of a turn.
type Phase string

// The phases, in the order in which a turn goes through them.
const (
	PhaseIdle       Phase = "idle"       // nothing waits
	PhaseCollecting Phase = "collecting" // messages wait for the end of the quiet time, or for the next try
	PhaseGenerating Phase = "generating" // a responder runs
	PhaseSending    Phase = "sending"    // a reply is on its way
	PhaseFailed     Phase = "failed"     // the turn was given up; the next message or a requeue starts again
	PhasePaused     Phase = "paused"     // a person has the conversation: nothing is generated or sent
)

// State is a conversation as it is stored at one moment.
type State struct {
	Bot          string `json:"bot"`
	Conversation string `json:"conversation"`

	// Aliases are other names that lead to it, Address is the one under which somebody
	// wrote last; "": the conversation's key.
	Aliases []string `json:"aliases,omitempty"`
	Address string   `json:"address,omitempty"`

	// Version counts the inputs accepted so far; Answered is the version up to which
	// inputs are settled.
	Version  int64 `json:"version"`
	Answered int64 `json:"answered"`

	Phase Phase `json:"phase"`

	// Pending is how many messages wait for a reply.
	Pending int `json:"pending"`

	// Turn is the number of the current turn or, where none runs, of the last one.
	Turn int64 `json:"turn"`

	// DueAt is when the next turn starts, an early attempt may be committed, or a reply is
	// tried again; zero: nothing is due.
	DueAt Time `json:"due_at"`

	// FirstPendingAt is when the first of the pending messages was accepted; zero: none
	// is pending.
	FirstPendingAt Time `json:"first_pending_at"`

	// Lease says which node works on the conversation; nil: none.
	Lease *Lease `json:"lease"`

	// Discards and Attempts count attempts of this turn: those that were thrown away,
	// and those that failed or are running.
	Discards int `json:"discards"`
	Attempts int `json:"attempts"`

	// LastError says why the last attempt failed; "": it did not.
	LastError string `json:"last_error"`

	// PauseReason is the reason that was given to [App.Pause], or "opt_out".
	PauseReason string `json:"pause_reason,omitempty"`

	// PausedUntil is when the pause that people made ends by itself; zero: it does not.
	PausedUntil Time `json:"paused_until,omitzero"`

	// OptedOut: an opt-out word has paused it. That pause ends with an opt-in word or
	// with [App.Resume].
	OptedOut bool `json:"opted_out,omitempty"`

	// SetAside is how many messages were set aside, because the model refuses them or each
	// worker that took them was lost. [App.Requeue] tries them again.
	SetAside int `json:"set_aside,omitempty"`

	// LastActivityAt is the time of the last write. Only lists have it.
	LastActivityAt Time `json:"last_activity_at,omitzero"`

	// LastInput is the last message. Only lists with a preview have it, and not for a
	// conversation whose last message lies behind many replies.
	LastInput *LastInput `json:"last_input,omitempty"`
}

// Lease is the right of one node to work on a conversation for a while.
type Lease struct {
	// Holder is the name of the node.
	Holder string `json:"holder"`

	// Token is the fencing number: it grows with each lease of the conversation.
	Token int64 `json:"token"`

	// ExpiresAt is when another node may take over, unless the lease is renewed.
	ExpiresAt Time `json:"expires_at"`
}

// LastInput is the last message of a conversation that was not deleted.
type LastInput struct {
	// Text is its first [MaxPreviewRunes] characters.
	Text string `json:"text"`

	// At is when it was accepted.
	At Time `json:"at"`

	// Sender is nil where the message names none.
	Sender *Person `json:"sender,omitempty"`
}

// State returns a conversation as it is stored now. An error has [CodeNotFound] where
// nothing was ever received in it.
func (a *App) State(ctx context.Context, bot, conversation string) (State, error) {
	c, err := a.begin("state", bot, conversation)
	if err != nil {
		return State{}, err
	}
	found, err := a.locate(ctx, c.key)
	if err == nil && found.isNothing() {
		err = inspect.ErrNothing
	}
	if err != nil {
		return State{}, c.of(err)
	}
	return stateOf(found.key, found.snapshot.Record), nil
}

// stateOf is a record as the API shows it.
func stateOf(key store.Key, r turn.Record) State {
	s := State{
		Bot: key.Bot, Conversation: r.Name(key.Conversation), Aliases: otherNames(key, r), Version: r.Version, Answered: r.Answered, Phase: Phase(r.Shown()),
		Pending: r.Pending, Turn: r.Turn, Discards: r.Tries.Discards, Attempts: r.Tries.Attempts, LastError: r.Tries.LastError, PauseReason: r.PauseReason,
		PausedUntil: timeOf(r.PausedUntil), OptedOut: r.OptedOut,
	}
	s.Address = r.Names.Address
	if r.Phase == turn.Collecting && !r.OnHold || r.Phase == turn.Generating && r.Attempt.Early {
		s.DueAt = timeOf(r.Window.Due)
	}
	if r.Phase == turn.Sending && r.Lease.Nonce == "" {
		s.DueAt = timeOf(r.NextSend())
	}
	if r.Pending > 0 {
		s.FirstPendingAt = timeOf(inspect.FirstPending(r))
	}
	if r.SetAside != nil {
		s.SetAside = r.SetAside.Pending
	}
	if r.Lease.Nonce != "" {
		s.Lease = &Lease{Holder: r.Lease.Holder, Token: r.Lease.Token, ExpiresAt: timeOf(r.Lease.Expires)}
	}
	return s
}

// otherNames are the names of a conversation besides its key.
func otherNames(key store.Key, r turn.Record) []string {
	var names []string
	for _, name := range append([]string{key.Conversation}, r.Names.Aliases...) {
		if name != r.Name(key.Conversation) {
			names = append(names, name)
		}
	}
	return names
}

// ConversationQuery selects conversations. The zero value selects all, a hundred at a
// time.
type ConversationQuery struct {
	Bot   string // "" means all
	Phase Phase  // "" means all

	// Bots are the only ones whose conversations are listed where Bot is ""; nil means
	// all. A page of some bots may have fewer than Limit, or none, and still go on.
	Bots []string

	// Cursor is the Next of the page before; "" means the first page. A page must be
	// asked for with the same selection as the one before.
	Cursor string

	// Limit is how many conversations a page has at most: 1 to 1000; 0 means 100.
	Limit int

	// Attention selects conversations that need somebody, such as one that failed, or
	// one with a reply that may not have arrived. A page may have fewer than Limit
	// although the list goes on. [App.Attention] says why each is listed.
	Attention bool

	// Search leaves out conversations whose name and whose last input's text both
	// lack it, in any case; at most 512 bytes. One page looks through 500
	// conversations, so it may have fewer than Limit, or none, and still go on.
	Search string

	// Preview gives each conversation's last input, which costs a read for each.
	Preview bool
}

// ConversationPage is a page of conversations, newest activity first.
type ConversationPage struct {
	Conversations []State `json:"conversations"` // never nil
	Next          string  `json:"next"`          // the cursor of the next page; "" at the end
}

// Conversations lists conversations, newest activity first. Conversations that a newer
// program wrote are left out. An error with [CodeInvalid] names the field at fault, "q"
// for Search.
func (a *App) Conversations(ctx context.Context, q ConversationQuery) (ConversationPage, error) {
	c := call{op: "list", key: store.Key{Bot: q.Bot}}
	if _, ok := a.bot(q.Bot); !ok && q.Bot != "" {
		return ConversationPage{}, c.fail(CodeNotFound, "bot", errors.New("no such bot is configured"))
	}
	switch q.Phase {
	case "", PhaseIdle, PhaseCollecting, PhaseGenerating, PhaseSending, PhasePaused, PhaseFailed:
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
		ListQuery: store.ListQuery{Bot: q.Bot, Phase: turn.Phase(q.Phase), Attention: q.Attention, Cursor: q.Cursor, Limit: limit},
		Bots:      q.Bots, Search: q.Search, Preview: q.Preview,
	})
	if err != nil {
		return ConversationPage{}, c.of(err)
	}
	page := ConversationPage{Conversations: make([]State, len(found)), Next: next}
	for i, row := range found {
		s := stateOf(row.Key, row.Snapshot.Record)
		s.LastActivityAt, s.LastInput = timeOf(row.Active), previewOf(row.LastInput)
		page.Conversations[i] = s
	}
	return page, nil
}

const (
	defaultPage = 100 // items of a page, where no limit is given
	maxPage     = store.MaxEntries
)

// pageLimit is how many items a page has, of the limit that was asked for.
func pageLimit(asked int) (int, error) {
	if asked < 0 || asked > maxPage {
		return 0, fmt.Errorf("it must be 1 to %d", maxPage)
	}
	return cmp.Or(asked, defaultPage), nil
}

// previewOf is an input as a list shows it.
func previewOf(i *inspect.Input) *LastInput {
	if i == nil {
		return nil
	}
	return &LastInput{Text: i.Text, At: timeOf(i.At), Sender: senderOf(i.Sender)}
}

func checkSearch(text string) error {
	switch {
	case len(text) > MaxNameBytes:
		return fmt.Errorf("it must have at most %d bytes", MaxNameBytes)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return errors.New("it must be UTF-8 without NUL")
	}
	return nil
}
