package onereply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/node"
	"github.com/onereply/onereply/internal/words"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// This file turns the types of the API into those of the runtime and back: the settings
// of a bot, the question to a responder and its reply, the delivery and its outcome.

// nodeBots makes the runtime's bots.
func (a *App) nodeBots(configured map[string]Bot) map[string]node.Bot {
	bots := make(map[string]node.Bot, len(configured))
	for name, b := range configured {
		settings := b.engineBot()
		settings.Policy.WaitingBytes, settings.Policy.PromptBytes = a.options.Limits.WaitingBytes, a.options.Limits.PromptBytes
		bot := node.Bot{Bot: settings, Timeout: b.Timeout, SendTimeout: b.SendTimeout, Respond: a.respondWith(b)}
		if to := b.outlets(); to != nil {
			bot.Send, bot.Typing = to.send, to.typing()
			if to.signals() {
				bot.Signal = to.signal
			}
		}
		bots[name] = bot
	}
	return bots
}

// engineBot is the settings that the engine decides by.
func (b Bot) engineBot() engine.Bot {
	botTurns := 0
	if b.AnswerBots {
		botTurns = b.MaxBotTurns
	}
	can := capabilitiesOf(b.Sender)
	early := 0
	if b.Start == StartEarly && mayStartEarly(b.Responder) {
		early = b.EarlyAttempts
	}
	return engine.Bot{
		Policy: turn.Policy{
			Debounce: b.Debounce, MaxWait: b.MaxWait, OnNewInput: turn.Mode(b.OnNewInput), MaxDiscards: b.MaxDiscards,
			Lease: b.Lease, MediaWait: b.MediaWait, MaxAttempts: b.Attempts, ResendUnknown: b.resendsUnknown(b.Sender),
			RetryFor: b.RetryFor, Fallback: b.Fallback != "", Refusal: b.RefusalText != "", EarlyAttempts: early,
			DelayAfter: b.Notice.After, OutageAfter: b.OutageNotice.After, TurnsPerMinute: b.TurnsPerMinute,
			Daily:       turn.DailyBudget{Calls: int64(b.Budget.ModelCalls), Tokens: int64(b.Budget.Tokens)},
			SessionIdle: b.SessionIdle, Observe: b.Observe > 0, MaxAge: b.MaxAge, MaxBotTurns: botTurns,
		},
		Fallback: b.Fallback, Refusal: b.RefusalText, DelayText: b.Notice.Text, OutageText: b.OutageNotice.Text, History: b.History, Observe: b.Observe, GroupWait: b.GroupWait, SplitAt: b.SplitAt, SplitWait: b.SplitWait,
		StopWords: words.NewList(b.StopWords), OptOutWords: words.NewList(b.OptOutWords), OptInWords: words.NewList(b.OptInWords),
		ResetWords: words.NewList(b.ResetWords), Split: can.Split, Whole: can.AllParts,
		Pace: engine.Pace(b.Pace), Channels: b.engineChannels(),
	}
}

// resendsUnknown reports whether a send of unknown outcome is repeated.
func (b Bot) resendsUnknown(s Sender) bool {
	return b.UnknownSend == UnknownResend || b.UnknownSend == UnknownAuto && (s == nil || capabilitiesOf(s).RecognisesRepeats)
}

// respondWith makes the function by which the runtime runs a responder.
func (a *App) respondWith(b Bot) func(context.Context, *node.Attempt) engine.Response {
	return func(ctx context.Context, attempt *node.Attempt) engine.Response {
		reply, err := b.Responder.Respond(ctx, a.newTurn(b, attempt))
		response := readReply(b.cleaned(reply), err)
		if response.Fault != "" && err == nil && !blank(reply) && blank(b.cleaned(reply)) {
			response.Reason = "the reply holds nothing but thinking: allow the model more tokens"
		}
		return response
	}
}

// newTurn makes the responder's view of an attempt.
func (a *App) newTurn(bot Bot, o *node.Attempt) *Turn {
	t := &Turn{
		Bot: o.Key.Bot, Conversation: o.Conversation, Number: o.Turn, Attempt: o.Start.Attempt, Early: o.Early, Token: o.Lease.Token,
		Messages: promptEntries(o.Prompt.Messages), History: promptEntries(o.Prompt.History), names: bot.Names, times: bot.Times,
	}
	t.seal = func(ctx context.Context) error { return a.Seal(ctx, o.Key.Bot, o.Key.Conversation, o.Lease.Token) }
	t.spend = func(u Usage) { o.Spend(u.Input + u.Output) }
	t.delta = bot.cleanedDelta(o.Delta)
	return t
}

func promptEntries(stored []store.Entry) []PromptEntry {
	entries := make([]PromptEntry, len(stored))
	for i, e := range stored {
		entries[i] = promptEntryOf(e)
	}
	return entries
}

// promptEntryOf is a stored entry as a responder sees it.
func promptEntryOf(e store.Entry) PromptEntry {
	out := PromptEntry{
		ID: e.ID, Role: RoleUser, Author: AuthorPerson, Sender: Person(e.Sender), Text: e.Text, At: cmp.Or(e.SentAt, e.At).Go(),
		ReplyTo: quoteOf(e.ReplyTo), ForwardedFrom: Person(e.ForwardedFrom), Edited: e.EditedAt != 0, recorded: e.Recorded,
		Context: e.Status == turn.InputClosed || e.Status == turn.InputContext, Attachments: attachmentsOf(e.Attachments), Metadata: e.Metadata,
	}
	switch {
	case e.Kind == store.Message && e.Sender.Bot:
		out.Author = AuthorBot
	case e.Kind == store.Reply && e.Author == turn.ReplyHuman:
		out.Role, out.Author = RoleAssistant, AuthorHuman
	case e.Kind == store.Reply:
		out.Role, out.Author = RoleAssistant, AuthorBot
	}
	return out
}

// quotaPause is the least pause after a spent quota: somebody must pay first.
const quotaPause = 5 * time.Minute

// readReply turns the reply or the error of a responder into the engine's response.
func readReply(reply Reply, err error) engine.Response {
	fail := func(err error) engine.Response {
		var fault *ResponderError
		if !errors.As(err, &fault) {
			fault = &ResponderError{Kind: ResponderFailed, Err: err}
		}
		after := fault.RetryAfter
		if fault.Kind == ResponderQuotaSpent {
			after = max(after, quotaPause)
		}
		return engine.Response{Fault: fault.class(), Reason: fault.Error(), After: after}
	}
	if err != nil {
		return fail(err)
	}
	if reply.Silent {
		return engine.Response{None: true}
	}
	parts := notBlank(reply.Parts)
	if len(reply.Parts) == 0 {
		parts = notBlank([]string{reply.Text})
	}
	text := reply.Text
	if strings.TrimSpace(text) == "" {
		text = strings.Join(parts, "\n")
	}
	switch {
	case len(parts) == 0:
		return fail(errors.New("the responder gave an empty reply"))
	case len(parts) > MaxParts:
		return fail(fmt.Errorf("the reply has %d parts, more than %d", len(parts), MaxParts))
	case max(len(text), size(parts)) > MaxReplyBytes:
		return fail(fmt.Errorf("the reply has %d bytes, more than %d", max(len(text), size(parts)), MaxReplyBytes))
	}
	return engine.Response{Text: strings.ToValidUTF8(text, "\uFFFD"), Parts: parts}
}

func size(texts []string) (bytes int) {
	for _, t := range texts {
		bytes += len(t)
	}
	return bytes
}

// blank reports whether a reply has no text.
func blank(r Reply) bool {
	return strings.TrimSpace(r.Text) == "" && len(notBlank(r.Parts)) == 0
}

func notBlank(texts []string) []string {
	var out []string
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			out = append(out, strings.ToValidUTF8(t, "\uFFFD"))
		}
	}
	return out
}

// sendWith makes the function by which the runtime runs a sender.
func sendWith(s Sender) func(context.Context, engine.Send) engine.SendResult {
	whole := capabilitiesOf(s).AllParts
	return func(ctx context.Context, o engine.Send) engine.SendResult {
		d := newDelivery(o, *o.Entry, whole)
		result := readSendError(s.Send(ctx, d))
		result.ID = d.SentID
		return result
	}
}

// readSendError turns the error of a sender into the engine's result.
func readSendError(err error) engine.SendResult {
	if err == nil {
		return engine.SendResult{}
	}
	known := outcomeOf(err)
	return engine.SendResult{Err: known.Error(), Certain: known.NotDelivered, ForGood: known.Permanent, After: known.RetryAfter, WholeBot: known.WholeBot}
}

func newDelivery(o engine.Send, e store.Entry, whole bool) *Delivery {
	d := &Delivery{
		ID: e.ID, SendID: e.ID, Bot: o.Key.Bot, Conversation: o.Conversation, Address: o.Address, Turn: o.Reply.Turn,
		Part: o.Reply.Done, Parts: e.Parts, Text: e.Text, Covers: e.Covers, Version: e.Version,
		LateInput: e.Late, Human: e.Author == turn.ReplyHuman, CommittedAt: e.At.Go(), Try: o.Reply.Tries + 1,
	}
	if o.Reply.Fresh {
		d.SendID = fmt.Sprintf("%s~%d", e.ID, o.Reply.Since)
	}
	if o.Reply.Parts == 1 && (whole || len(e.Parts) > 1) {
		d.Part = -1
		return d
	}
	d.Text = e.Parts[o.Reply.Done]
	return d
}
