package config

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/words"
)

// The keys of a bot are read in groups: how long it waits, how it behaves, who answers,
// and where replies go. A group starts with the defaults and changes the fields whose
// keys the file has. One rule joins keys: max_wait must not be less than debounce.

// bots reads the section of the bots: one key for each bot, its name. The name is data,
// so any key is a bot, and none is unknown. There is no default bot, since nobody could
// guess who answers for it.
func (r *reader) bots(root *section, c *Config) {
	const hint = "at least one bot is needed"
	v, ok := root.take("bots")
	if !ok {
		root.missing("bots", hint)
		return
	}
	s, ok := r.section(v)
	if !ok {
		return
	}
	if len(s.order) == 0 {
		r.report(v.place, hint)
	}
	for _, name := range s.order {
		r.bot(s, name, c)
	}
	r.knownBots(s.order)
}

// bot reads one bot. Everything is read even after a mistake, so that all mistakes are
// told at once. Only a name at fault ends the reading of its bot: the path of
// every further problem would begin with it.
func (r *reader) bot(bots *section, name string, c *Config) {
	if err := botName(name); err != nil {
		r.report(place{bots.path, bots.keys[name].token}, "%s", err)
		return
	}
	v, ok := bots.take(name)
	if !ok {
		return
	}
	s, ok := r.section(v)
	if !ok {
		return
	}
	b := Bot{Settings: onereply.DefaultBot()}
	b.Settings.Name = name
	r.timing(s, &b.Settings)
	r.behaviour(s, &b.Settings)
	r.responder(s, &b)
	r.delivery(s, &b)
	r.channels(s, &b)
	r.rate(s, "rate", &b.Rate)
	r.rate(s, "conversation_rate", &b.ConversationRate)
	s.close()
	zeros(&b.Settings)
	c.Bots = append(c.Bots, b)
}

// timing reads the keys for how long a bot waits. The hard cap must not be less than the
// quiet time: it would always come first. A wait of 0 is none. The problem is told at the
// key that the operator has set, and names the other.
func (r *reader) timing(s *section, b *onereply.Bot) {
	s.duration("debounce", &b.Debounce, 0)
	s.duration("max_wait", &b.MaxWait, 0)
	s.duration("lease", &b.Lease, time.Second)
	s.duration("media_wait", &b.MediaWait, 0)
	s.duration("group_wait", &b.GroupWait, 0)
	s.count("split_at", &b.SplitAt, 0, math.MaxInt32)
	s.duration("split_wait", &b.SplitWait, 0)
	s.duration("session_idle", &b.SessionIdle, 0)
	switch {
	case b.MaxWait >= b.Debounce:
	case s.has("max_wait"):
		r.report(s.at("max_wait"), "must not be less than debounce (%s), it is %s", span(b.Debounce), span(b.MaxWait))
	default:
		r.report(s.at("debounce"), "is more than max_wait, which is %s by default; set max_wait to at least %s", span(b.MaxWait), span(b.Debounce))
	}
}

// behaviour reads the keys for when a bot begins, what it does with newer input, with
// unknown outcomes, and with certain words, and for what its prompts show. The words of the modes are the library's own. Counts have the
// limits of an int of 32 bits, except the history, which costs tokens with each attempt.
func (r *reader) behaviour(s *section, b *onereply.Bot) {
	start, mode, unknown, names := string(b.Start), string(b.OnNewInput), string(b.UnknownSend), string(b.Names)
	s.oneOf("start", &start, string(onereply.StartAfterQuiet), string(onereply.StartEarly))
	s.oneOf("on_new_input", &mode, string(onereply.ModeInterrupt), string(onereply.ModeDiscard), string(onereply.ModeFinish))
	s.oneOf("unknown_send", &unknown, string(onereply.UnknownAuto), string(onereply.UnknownResend), string(onereply.UnknownHold))
	s.oneOf("names", &names, string(onereply.NamesAuto), string(onereply.NamesAlways), string(onereply.NamesNever))
	b.Start, b.OnNewInput, b.UnknownSend, b.Names = onereply.Start(start), onereply.Mode(mode), onereply.UnknownSend(unknown), onereply.NamesMode(names)
	s.boolean("times", &b.Times)
	s.count("observe", &b.Observe, 0, onereply.MaxHistory)
	s.duration("max_age", &b.MaxAge, 0)
	s.boolean("answer_bots", &b.AnswerBots)
	s.count("max_bot_turns", &b.MaxBotTurns, 1, math.MaxInt32)
	s.count("early_attempts", &b.EarlyAttempts, 1, math.MaxInt32)
	s.count("max_discards", &b.MaxDiscards, 0, math.MaxInt32)
	s.count("history", &b.History, 0, onereply.MaxHistory)
	s.count("turns_per_minute", &b.TurnsPerMinute, 0, math.MaxInt32)
	s.texts("stop_words", &b.StopWords, r.word)
	s.texts("opt_out_words", &b.OptOutWords, r.word)
	s.texts("opt_in_words", &b.OptInWords, r.word)
	s.texts("reset_words", &b.ResetWords, r.word)
	r.budget(s, &b.Budget)
	r.notice(s, "notice", &b.Notice)
	r.notice(s, "outage_notice", &b.OutageNotice)
}

// budget reads what a bot may use up in a day.
func (r *reader) budget(s *section, into *onereply.Budget) {
	v, ok := s.take("budget")
	if !ok {
		return
	}
	n, ok := r.section(v)
	if !ok {
		return
	}
	n.count("model_calls_per_day", &into.ModelCalls, 0, math.MaxInt32)
	n.count("tokens_per_day", &into.Tokens, 0, math.MaxInt32)
	n.close()
}

// notice reads a text that people are told once they have waited for so long.
func (r *reader) notice(s *section, key string, into *onereply.Notice) {
	v, ok := s.take(key)
	if !ok {
		return
	}
	n, ok := r.section(v)
	if !ok {
		return
	}
	n.duration("after", &into.After, 0)
	n.checked("text", &into.Text, fallbackText)
	if into.After > 0 && strings.TrimSpace(into.Text) == "" {
		r.report(v.place, "needs a text, or an after of 0")
	}
	n.close()
}

// word refuses a word that nobody can write.
func (r *reader) word(at place, text string) {
	if words.Key(text) == "" {
		r.report(at, "must have a letter, a digit or a symbol, and at most %d bytes: punctuation and mentions do not count", words.MaxBytes)
	}
}

// fallbackText refuses a text that is too long to be a message. The fallback is sent in
// place of a reply, when the turn has failed.
func fallbackText(text string) error {
	if len(text) > onereply.MaxTextBytes {
		return fmt.Errorf("must have at most %d bytes, it has %d", onereply.MaxTextBytes, len(text))
	}
	return nil
}

// silenceText refuses a marker that a reply could have by chance, or that no reply is.
func silenceText(text string) error {
	switch {
	case text != "" && strings.TrimSpace(text) == "":
		return errors.New("must not be blank")
	case len(text) > onereply.MaxNameBytes:
		return fmt.Errorf("must have at most %d bytes, it has %d", onereply.MaxNameBytes, len(text))
	}
	return nil
}

// zeros replaces each 0 that the file may set by [onereply.Zero]: in a [onereply.Bot] the
// zero value of these fields stands for the default. It comes last: the rules that
// compare two keys need the 0 as it was written.
func zeros(b *onereply.Bot) {
	for _, d := range []*time.Duration{&b.Debounce, &b.MaxWait, &b.MediaWait, &b.RetryFor, &b.GroupWait, &b.SplitWait} {
		if *d == 0 {
			*d = onereply.Zero
		}
	}
	for _, n := range []*int{&b.MaxDiscards, &b.History} {
		if *n == 0 {
			*n = onereply.Zero
		}
	}
}
