package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/split"
)

// Account is a channel under its name in a bot. It is the [onereply.Sender] of that bot's
// [onereply.Channel]; a [Host] receives its events. It must be made by [NewAccount], and
// may be used by many goroutines.
type Account struct {
	bot, name string
	channel   Channel
	can       Capabilities
	takeover  time.Duration
	app       atomic.Pointer[App] // set by the Host
	status    status
	aliases   known
	typing    typing
}

// Settings are an account's place in a bot.
type Settings struct {
	Bot string

	// Name is the kind of the platform, or kind/name where a bot has two of a kind.
	Name string

	// TakeoverFor is how long the bot is silent after a person has answered in its place.
	TakeoverFor time.Duration
}

// NewAccount puts a channel under its name.
func NewAccount(ch Channel, s Settings) *Account {
	return &Account{bot: s.Bot, name: s.Name, channel: ch, can: ch.Capabilities(), takeover: s.TakeoverFor}
}

// Capabilities are those of the platform, in the terms of a [onereply.CapableSender].
func (a *Account) Capabilities() onereply.Capabilities {
	weigh := weights[a.can.Unit]
	return onereply.Capabilities{
		RecognisesRepeats: a.can.RecognisesRepeats,
		Split:             func(text string) []string { return split.Weighed(text, a.can.Limit, weigh) },
	}
}

// weights say how much of a limit a code point takes, by unit.
var weights = map[Unit]func(rune) int{
	Characters: func(rune) int { return 1 },
	UTF16:      utf16.RuneLen,
	Bytes:      utf8.RuneLen,
}

// Send sends a part to the address under which the person wrote last. If the chat has
// moved, the part goes to its new address at once: certainly nothing was sent to the old
// one.
func (a *Account) Send(ctx context.Context, d *onereply.Delivery) error {
	name := cmp.Or(d.Address, d.Conversation)
	to, ok := ParseKey(a.name, name)
	if !ok {
		return onereply.RefusedError(fmt.Errorf("%q is no conversation of channel %s", name, a.name))
	}
	part := &Part{To: to, Text: d.Text, Number: max(d.Part, 0), Of: max(len(d.Parts), 1), Covers: d.Covers}
	a.typing.end(d.Conversation)
	part.ID = cmp.Or(d.SendID, d.ID) + "/" + strconv.Itoa(part.Number+1)
	sent, err := a.channel.Send(ctx, part)
	if moved, ok := errors.AsType[*MovedError](err); ok {
		a.move(ctx, to, moved.To)
		part.To = moved.To
		sent, err = a.channel.Send(ctx, part)
	}
	if moved, ok := errors.AsType[*MovedError](err); ok {
		return onereply.NotDeliveredError(moved)
	}
	a.status.sent(err)
	d.SentID = sent.ID
	return err
}

// turnOf reads a [Part].ID: the number of the turn, and that of the part, from 1.
func turnOf(partID string) (number int64, part int, ok bool) {
	rest, last := cutLast(partID, "/")
	part, err := strconv.Atoi(last)
	rest, _, _ = strings.Cut(rest[strings.LastIndex(rest, "/")+1:], "~") // of a part that is sent afresh
	number, turnErr := strconv.ParseInt(rest, 10, 64)
	return number, part, err == nil && turnErr == nil && number > 0 && part > 0
}

// cutLast cuts a text at the last separator.
func cutLast(text, separator string) (before, after string) {
	at := strings.LastIndex(text, separator)
	return text[:max(at, 0)], text[at+1:]
}

// Signal shows that the bot is writing, or sends a notice, where the platform can.
func (a *Account) Signal(ctx context.Context, s onereply.Signal) error {
	to, ok := ParseKey(a.name, cmp.Or(s.Address, s.Conversation))
	if !ok {
		return nil
	}
	if s.Kind == onereply.SignalNotice {
		_, err := a.channel.Send(ctx, &Part{To: to, Text: s.Text, Of: 1, ID: fmt.Sprintf("%s/%d/%s", s.Conversation, s.Turn, s.Notice)})
		return err
	}
	if typist, ok := a.channel.(Typist); ok && a.typing.isDue(s.Conversation, s.Message, a.can.TypingFor) {
		return typist.Typing(ctx, to, s.Message)
	}
	return nil
}

// key is the conversation of an address.
func (a *Account) key(to Address) string { return to.Key(a.name) }
