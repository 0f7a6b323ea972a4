package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onereply/onereply"
)

// App is the part of [onereply.App] that channels call.
type App interface {
	Receive(ctx context.Context, bot, conversation string, m onereply.Message) (onereply.Receipt, error)
	Edit(ctx context.Context, bot, conversation, id string, c onereply.Edit) (onereply.Receipt, error)
	Retract(ctx context.Context, bot, conversation, id string) (onereply.Receipt, error)
	Typing(ctx context.Context, bot, conversation string, d time.Duration) error
	Flush(ctx context.Context, bot, conversation string) (onereply.State, error)
	Pause(ctx context.Context, bot, conversation string, p onereply.Pause) (onereply.State, error)
	Resume(ctx context.Context, bot, conversation string, answerPending bool) (onereply.State, error)
	Answer(ctx context.Context, bot, conversation string, r onereply.HumanReply) (onereply.Receipt, error)
	ReportReply(ctx context.Context, bot, conversation string, number int64, r onereply.ReplyReport) (onereply.Receipt, error)
	ReportSent(ctx context.Context, bot, conversation string, r onereply.SentReport) (onereply.Receipt, error)
	Move(ctx context.Context, bot, conversation, to string) (onereply.State, error)
	SetAlias(ctx context.Context, bot, alias, conversation string) (onereply.NamedConversation, error)
	TakeDuty(ctx context.Context, bot, name, nonce string, d time.Duration) (bool, error)
}

// chatsAtOnce bounds how many chats of a batch are handed over at once. The messages of
// one chat go one after the other, so that they keep their order.
const chatsAtOnce = 32

// take hands the events of a batch to the App. It returns nil once all that were accepted
// are durable. After an error some of them may be: the batch has to come again, and those
// are duplicates then.
//
// An event that the App refuses for good is logged and dropped. If it came again and again,
// it would hold up all that come after it.
func (h *Host) take(ctx context.Context, a *Account, batch Batch) error {
	var chats [][]Event
	index := map[string]int{}
	for _, e := range batch.Events {
		key := a.key(e.chat())
		at, ok := index[key]
		if !ok {
			at = len(chats)
			index[key], chats = at, append(chats, nil)
		}
		chats[at] = append(chats[at], e)
	}
	if len(chats) == 1 {
		return h.takeChat(ctx, a, chats[0])
	}
	errs := make([]error, len(chats))
	slots := make(chan struct{}, chatsAtOnce)
	var running sync.WaitGroup
	for i, events := range chats {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			errs[i] = h.takeChat(ctx, a, events)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func (h *Host) takeChat(ctx context.Context, a *Account, events []Event) error {
	for _, e := range events {
		err := h.takeOne(ctx, a, e)
		switch {
		case err == nil:
		case refused(err):
			a.status.refuse(err)
			h.logOf(a).Warn("an event of a channel was refused", "event", fmt.Sprintf("%T", e), "err", err)
		default:
			return err
		}
	}
	return nil
}

// refused reports whether the App will never accept the event. All other errors pass: the
// store is out of reach, or this node closes or is too old.
func refused(err error) bool {
	known, ok := errors.AsType[*onereply.Error](err)
	return ok && slices.Contains([]onereply.Code{
		onereply.CodeInvalid, onereply.CodeNotFound, onereply.CodeConflict, onereply.CodeTooMany, onereply.CodeCorrupt,
	}, known.Code)
}

// takeOne hands one event over.
func (h *Host) takeOne(ctx context.Context, a *Account, e Event) error {
	a.status.event(e)
	switch e := e.(type) {
	case Message:
		return h.takeMessage(ctx, a, e)
	case Edit:
		h.meet(ctx, a, e.Chat)
		_, err := h.app.Edit(ctx, a.bot, a.key(e.To), e.ID, e.Edit)
		return err
	case Deletion:
		h.meet(ctx, a, e.Chat)
		_, err := h.app.Retract(ctx, a.bot, a.key(e.To), e.ID)
		return err
	case Typing:
		return h.app.Typing(ctx, a.bot, a.key(e.To), e.For)
	case Echo:
		_, err := h.takeReport(ctx, a, Report{Chat: e.Chat, ID: e.ID, Part: e.Part, Status: onereply.ReplyDelivered}, e.Text)
		return err
	case Report:
		_, err := h.takeReport(ctx, a, e, "")
		return err
	case TakeOver:
		h.meet(ctx, a, e.Chat)
		own, err := h.takeReport(ctx, a, Report{Chat: e.Chat, ID: e.ID, Status: onereply.ReplyDelivered}, e.Text)
		if own || err != nil {
			return err
		}
		_, err = h.app.Answer(ctx, a.bot, a.key(e.To), onereply.HumanReply{ID: e.ID, Text: e.Text, Sent: true, PauseFor: a.takeover})
		return err
	case Control:
		if e.WithPeople {
			_, err := h.app.Pause(ctx, a.bot, a.key(e.To), onereply.Pause{Reason: a.name})
			return err
		}
		_, err := h.app.Resume(ctx, a.bot, a.key(e.To), true)
		return err
	case Moved:
		_, err := h.app.Move(ctx, a.bot, a.key(e.From), a.key(e.To))
		if known, ok := errors.AsType[*onereply.Error](err); ok && known.Code == onereply.CodeNotFound {
			return nil // nothing was ever said there
		}
		return err
	}
	return nil // Skipped is only counted
}

// takeReport hands over what the platform says of a message that went out, and reports
// whether the bot has sent it.
func (h *Host) takeReport(ctx context.Context, a *Account, e Report, text string) (own bool, err error) {
	e.Reason = shortened(e.Reason)
	number, part, ok := turnOf(e.Part)
	switch {
	case ok:
		_, err = h.app.ReportReply(ctx, a.bot, a.key(e.To), number, onereply.ReplyReport{Status: e.Status, Part: part, Reason: e.Reason, SentID: e.ID})
		return true, err
	case e.ID == "":
		return false, nil
	}
	report := onereply.SentReport{ID: e.ID, Status: e.Status, Reason: e.Reason}
	if text != "" {
		report.Text = &text
	}
	receipt, err := h.app.ReportSent(ctx, a.bot, a.key(e.To), report)
	return err == nil && receipt.Reason != onereply.ReasonNotSent, err
}

// shortened is a reason of a platform, cut to what may be kept.
func shortened(reason string) string {
	if len(reason) > onereply.MaxNameBytes {
		reason = reason[:onereply.MaxNameBytes]
	}
	return strings.ToValidUTF8(reason, "")
}

func (h *Host) takeMessage(ctx context.Context, a *Account, e Message) error {
	h.meet(ctx, a, e.Chat)
	receipt, err := h.app.Receive(ctx, a.bot, a.key(e.To), e.Message)
	if err != nil || !e.AtOnce || receipt.Outcome != onereply.OutcomeQueued {
		return err
	}
	_, err = h.app.Flush(ctx, a.bot, a.key(e.To))
	return err
}

// meet makes the other addresses of a chat aliases of its conversation. If one of them has
// a conversation already, To becomes an alias of that one.
func (h *Host) meet(ctx context.Context, a *Account, chat Chat) {
	for _, other := range chat.Also {
		to, also := a.key(chat.To), a.key(other)
		if to == also || a.aliases.has(to, also) {
			continue
		}
		_, err := h.app.SetAlias(ctx, a.bot, also, to)
		if known, ok := errors.AsType[*onereply.Error](err); ok && known.Code == onereply.CodeConflict {
			_, err = h.app.SetAlias(ctx, a.bot, to, also)
		}
		if err != nil && !refused(err) {
			h.logOf(a).Warn("two addresses of a chat could not be joined; the next message tries again", "err", err)
			continue
		}
		a.aliases.add(to, also)
	}
}

// move gives a conversation the new key of its chat. It may fail: the reply still goes to
// the new address, and the platform's own event, or the next send, tries again.
func (a *Account) move(ctx context.Context, from, to Address) {
	if app := a.app.Load(); app != nil {
		_, _ = (*app).Move(ctx, a.bot, a.key(from), a.key(to))
	}
}

// known remembers pairs of names that were joined, so that an ordinary message needs no
// further call. It forgets all when it is full.
type known struct {
	mu    sync.Mutex
	pairs map[[2]string]bool
}

const maxKnown = 10_000

func (k *known) has(a, b string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pairs[[2]string{a, b}]
}

func (k *known) add(a, b string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pairs == nil || len(k.pairs) >= maxKnown {
		k.pairs = map[[2]string]bool{}
	}
	k.pairs[[2]string{a, b}] = true
}
