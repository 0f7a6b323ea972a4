package onereply

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/words"
)

// Zero sets a field of [Bot] to zero where the zero value means the default:
// Debounce: onereply.Zero is no quiet time at all.
const Zero = -1

// Mode is the effect of a newer input on an attempt that runs.
type Mode string

// The modes.
const (
	ModeInterrupt Mode = "interrupt" // end it at once: its context ends
	ModeDiscard   Mode = "discard"   // let it end, then throw it away
	ModeFinish    Mode = "finish"    // let it end, and send its reply; the newer input is the next turn
)

// Start says when a turn's first attempt begins.
type Start string

// The starts.
const (
	StartAfterQuiet Start = "after_quiet" // when the quiet time is over

	// StartEarly begins with the first message, while the quiet time runs. The reply is
	// committed when the quiet time is over, and newer input before that replaces the
	// attempt. It costs more runs of the responder: see [Bot].EarlyAttempts. A responder
	// whose runs have effects of their own must not be started early; one that is an
	// [EarlyResponder] says so itself.
	StartEarly Start = "early"
)

// UnknownSend is the rule for a send whose outcome nobody knows, after a time-out or a
// crash.
type UnknownSend string

// The rules for a send whose outcome is unknown.
const (
	// UnknownAuto resends where the receiver recognises a repeat (see [Capabilities]),
	// or where there is no [Sender], and holds elsewhere.
	UnknownAuto UnknownSend = "auto"

	// UnknownResend sends again: the person may see the reply twice.
	UnknownResend UnknownSend = "resend"

	// UnknownHold leaves it: the person may see no reply. Its status is unknown, and
	// [App.Attention] lists it until somebody resends it or marks it as sent.
	UnknownHold UnknownSend = "hold"
)

// Bot is the configuration of a bot: its responder, its sender, and how long it waits. A
// field that is zero has its default; if zero itself is wanted, set it to [Zero]. If a
// field is out of bounds, [Open] fails, with all mistakes of all bots in one error.
type Bot struct {
	// Name is part of the name of each of its conversations, so it must not change. It
	// is required: 1 to 512 bytes of UTF-8.
	Name string

	// Responder answers. It is required.
	Responder Responder

	// Sender delivers the replies of conversations that belong to none of the Channels.
	// nil: they go to the transcript and the event stream only.
	Sender Sender

	// Channels are the chat platforms on which the bot answers. nil: none.
	Channels []Channel

	// Debounce is the quiet time after the last input before a turn starts. Default
	// 1.5s; Zero for none.
	Debounce time.Duration

	// MaxWait is the hard cap on that, from the first waiting input: at least Debounce.
	// Default 10s; Zero for none.
	MaxWait time.Duration

	// Start says when an attempt begins. Default [StartAfterQuiet].
	Start Start

	// EarlyAttempts is how many attempts of a turn may be started early, at least 1.
	// After these, the quiet time is waited out. Default 3.
	EarlyAttempts int

	// OnNewInput says what a newer input does to an attempt that runs when the quiet
	// time is over. Default [ModeInterrupt].
	OnNewInput Mode

	// MaxDiscards is how often a turn may be discarded for newer input. After that its
	// reply is sent although newer input waits, so that a person who never stops typing
	// is answered. Default 2; Zero for never.
	MaxDiscards int

	// Lease is how long a node that stopped renewing keeps a conversation from the
	// others: the time until a take-over after a crash. Default 10s; at least 1s.
	Lease time.Duration

	// History is how many earlier entries of the transcript the responder is given at
	// most: up to [MaxHistory]. Messages that nobody answered are at most half of them.
	// Default 40; Zero for none.
	History int

	// Names says when the names of senders stand in the prompt. Default [NamesAuto].
	Names NamesMode

	// Times: the prompt shows when each message was sent.
	Times bool

	// Observe is how many messages that are not meant for the bot ([Message].Unaddressed)
	// its prompts show, the last ones: up to [MaxHistory]. They are kept as context. 0:
	// such messages are ignored.
	Observe int

	// MaxAge: a message that was sent longer ago, by its SentAt, is kept as context and
	// not answered, so that a backlog is not answered line by line. 0: no limit.
	MaxAge time.Duration

	// AnswerBots: messages of other bots ([Person].Bot) are answered, at most MaxBotTurns
	// times until a person writes. false: they are ignored. MaxBotTurns: default 5.
	AnswerBots  bool
	MaxBotTurns int

	// MediaWait is the longest wait for an attachment that was announced. Default 15s;
	// Zero for none.
	MediaWait time.Duration

	// UnknownSend says what happens to a send whose outcome nobody knows. Default
	// [UnknownAuto].
	UnknownSend UnknownSend

	// Timeout bounds one run of the responder, whole. Default 60s.
	Timeout time.Duration

	// Attempts is how many runs may fail before the turn fails: at least 1. An outage
	// of the model does not count. Default 3.
	Attempts int

	// Fallback is a text to send when the turn fails, up to [MaxTextBytes]. "": none.
	Fallback string

	// KeepThinking leaves the text between <think> or <thinking> and its end tag in
	// replies. false: people, event streams and later prompts get replies without it.
	KeepThinking bool

	// Silence is a text such as NO_REPLY, by which a model says that there is nothing to
	// say: a reply that is this text, whatever space is around it, is [Reply].Silent. "":
	// there is none. At most [MaxNameBytes].
	Silence string

	// RefusalText is a text to send when the model refused all messages that waited, up to
	// [MaxTextBytes]. "": the Fallback. Of both texts at most one is sent until a turn
	// succeeds.
	RefusalText string

	// Notice is told once where a reply takes longer than its After, from the first waiting
	// message on; OutageNotice once where the model is out of reach for so long. The Sender
	// has to be a [SignalSender]. While an attempt runs a notice may be late by a third of a
	// Lease.
	Notice       Notice
	OutageNotice Notice

	// Typing: people are shown that a turn is being written, every few seconds while the
	// responder runs, if the Sender is a [SignalSender].
	Typing bool

	// RetryFor is how long a send that failed, or is unknown, is tried again. It also
	// bounds the pauses that a receiver asks for. Default
	// 1h; Zero for not at all.
	RetryFor time.Duration

	// SendTimeout bounds one send, whatever the Lease, which is renewed meanwhile. Default
	// 15s.
	SendTimeout time.Duration

	// Pace is the pause before each further part of a reply. Zero value: none.
	Pace Pace

	// GroupWait is the least quiet time after a message of a group, such as an album.
	// Default 1s; Zero for none.
	GroupWait time.Duration

	// SplitAt is the length in characters from which a text may have been cut in two by
	// its client; SplitWait is the least quiet time after such a text. SplitAt 0: no
	// text is taken for one. SplitWait: default 1.5s; Zero for none.
	SplitAt   int
	SplitWait time.Duration

	// SessionIdle begins afresh with a message that comes after so long a silence: see
	// [App.Reset]. 0: never.
	SessionIdle time.Duration

	// TurnsPerMinute is a ceiling on the attempts of one conversation, after which it
	// rests for a minute. 0: none.
	TurnsPerMinute int

	// Budget is what the bot may use up in a day, on all nodes together. The zero value is
	// no bound.
	Budget Budget

	// StopWords close what their sender has waiting: a message that is one of them is
	// settled with it and answered by nobody. OptOutWords do the same, and pause the
	// conversation too, until an opt-in word or a resume. Both count in the text of an edit as well.
	// The whole text is compared, after NFKC and case folding; punctuation, quotes,
	// invisible marks and mentions at the start ("@bot stop") do not count. Each word must
	// have a letter, a digit or a symbol, and at most 512 bytes.
	StopWords   []string
	OptOutWords []string

	// ResetWords are messages by which a person begins afresh: see [App.Reset]. Such a
	// message is closed with those that wait.
	ResetWords []string

	// OptInWords end the pause that an opt-out word made, and only that. Such a message
	// is answered like any other.
	OptInWords []string
}

// Budget bounds what a bot uses in a day of UTC; 0: no bound. When it is used up, messages
// wait, as in an outage of the model (see [Bot].OutageNotice). They are answered when the
// next day begins, or when the budget is raised.
//
// ModelCalls bounds the runs of the responder, exactly. A run is counted before it begins,
// so one whose node is lost at that moment counts too. Tokens bounds the tokens that the
// responder reports ([Turn.Spend]). They are known only at the end of a run, so the runs
// under way when the last token is spent may use more.
type Budget struct {
	ModelCalls int
	Tokens     int
}

// Pace is how long a bot pauses before each further part of its reply, as a person would
// who writes it: PerCharacter for each character of that part, at least Least and at most
// Most. Each is 0 to [MaxPause], and no pause is longer than that. Most 0 means MaxPause.
// Nothing pauses where a [Sender] sends all parts at once, or where a person wrote the
// reply.
type Pace struct {
	PerCharacter time.Duration
	Least, Most  time.Duration
}

// DefaultBot is the settings of a bot that sets none. [Open] fills them in; a program
// that checks settings against each other starts with them.
func DefaultBot() Bot {
	return Bot{
		Debounce:      1500 * time.Millisecond,
		MaxWait:       10 * time.Second,
		Start:         StartAfterQuiet,
		EarlyAttempts: 3,
		OnNewInput:    ModeInterrupt,
		MaxDiscards:   2,
		Lease:         10 * time.Second,
		History:       40,
		MaxBotTurns:   5,
		MediaWait:     15 * time.Second,
		UnknownSend:   UnknownAuto,
		Names:         NamesAuto,
		Timeout:       60 * time.Second,
		Attempts:      3,
		RetryFor:      time.Hour,
		SendTimeout:   15 * time.Second,
		GroupWait:     time.Second,
		SplitWait:     1500 * time.Millisecond,
	}
}

// withDefaults fills in what is not set and reports all mistakes at once.
func (b Bot) withDefaults() (Bot, error) {
	d := DefaultBot()
	orDefault(&b.Debounce, d.Debounce)
	orDefault(&b.MaxWait, d.MaxWait)
	orDefault(&b.Lease, d.Lease)
	orDefault(&b.MediaWait, d.MediaWait)
	orDefault(&b.Timeout, d.Timeout)
	orDefault(&b.RetryFor, d.RetryFor)
	orDefault(&b.SendTimeout, d.SendTimeout)
	orDefault(&b.GroupWait, d.GroupWait)
	orDefault(&b.SplitWait, d.SplitWait)
	orDefault(&b.MaxDiscards, d.MaxDiscards)
	orDefault(&b.History, d.History)
	orDefault(&b.Attempts, d.Attempts)
	orDefault(&b.MaxBotTurns, d.MaxBotTurns)
	orDefault(&b.EarlyAttempts, d.EarlyAttempts)
	b.Start = cmp.Or(b.Start, d.Start)
	b.OnNewInput = cmp.Or(b.OnNewInput, d.OnNewInput)
	b.UnknownSend = cmp.Or(b.UnknownSend, d.UnknownSend)
	b.Names = cmp.Or(b.Names, d.Names)
	b.Channels = slices.Clone(b.Channels)
	for i, ch := range b.Channels {
		b.Channels[i] = ch.withDefaults(b)
	}
	return b, b.validate()
}

// orDefault fills in a setting that is not set, and makes [Zero] a zero.
func orDefault[T int | time.Duration](setting *T, fallback T) {
	switch *setting {
	case 0:
		*setting = fallback
	case Zero:
		*setting = 0
	}
}

func (b Bot) validate() error {
	var problems []error
	reject := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("bot %q: "+format, append([]any{b.Name}, args...)...))
		}
	}
	if err := checkName(b.Name); err != nil {
		reject(true, "the name: %w", err)
	}
	reject(b.Responder == nil, "it needs a Responder")
	if err := b.validateChannels(); err != nil {
		problems = append(problems, err)
	}
	reject(b.Debounce < 0, "Debounce must not be negative, it is %v", b.Debounce)
	reject(b.MaxWait < 0, "MaxWait must not be negative, it is %v", b.MaxWait)
	reject(b.MaxWait < b.Debounce, "MaxWait (%v) must not be less than Debounce (%v)", b.MaxWait, b.Debounce)
	reject(b.Lease < time.Second, "Lease must be at least 1s, it is %v", b.Lease)
	reject(b.MediaWait < 0, "MediaWait must not be negative, it is %v", b.MediaWait)
	reject(b.Timeout <= 0, "Timeout must be more than 0, it is %v", b.Timeout)
	reject(b.SessionIdle < 0, "SessionIdle must not be negative, it is %v", b.SessionIdle)
	reject(b.RetryFor < 0, "RetryFor must not be negative, it is %v", b.RetryFor)
	reject(b.SendTimeout <= 0, "SendTimeout must be more than 0, it is %v", b.SendTimeout)
	for name, d := range map[string]time.Duration{"PerCharacter": b.Pace.PerCharacter, "Least": b.Pace.Least, "Most": b.Pace.Most} {
		reject(d < 0 || d > MaxPause, "Pace.%s must be 0 to %v, it is %v", name, MaxPause, d)
	}
	reject(b.Pace.Most != 0 && b.Pace.Most < b.Pace.Least, "Pace.Most (%v) must not be less than Pace.Least (%v)", b.Pace.Most, b.Pace.Least)
	reject(b.MaxDiscards < 0, "MaxDiscards must not be negative, it is %d", b.MaxDiscards)
	reject(b.History < 0 || b.History > MaxHistory, "History must be 0 to %d, it is %d", MaxHistory, b.History)
	reject(b.Observe < 0 || b.Observe > MaxHistory, "Observe must be 0 to %d, it is %d", MaxHistory, b.Observe)
	reject(b.MaxAge < 0, "MaxAge must not be negative, it is %v", b.MaxAge)
	reject(b.MaxBotTurns < 1, "MaxBotTurns must be at least 1, it is %d", b.MaxBotTurns)
	reject(b.Attempts < 1, "Attempts must be at least 1, it is %d", b.Attempts)
	reject(b.GroupWait < 0 || b.SplitWait < 0, "GroupWait and SplitWait must not be negative")
	reject(b.SplitAt < 0, "SplitAt must not be negative, it is %d", b.SplitAt)
	reject(b.TurnsPerMinute < 0, "TurnsPerMinute must not be negative, it is %d", b.TurnsPerMinute)
	reject(b.Budget.ModelCalls < 0 || b.Budget.Tokens < 0, "Budget must not be negative")
	for _, word := range slices.Concat(b.StopWords, b.OptOutWords, b.OptInWords, b.ResetWords) {
		reject(words.Key(word) == "", "the word %q must have a letter, a digit or a symbol, and at most %d bytes", word, words.MaxBytes)
	}
	reject(len(b.Fallback) > MaxTextBytes, "Fallback must have at most %d bytes", MaxTextBytes)
	reject(len(b.Silence) > MaxNameBytes, "Silence must have at most %d bytes", MaxNameBytes)
	reject(b.Silence != "" && strings.TrimSpace(b.Silence) == "", "Silence must not be blank")
	for name, n := range map[string]Notice{"Notice": b.Notice, "OutageNotice": b.OutageNotice} {
		reject(n.After < 0 || n.After > 0 && strings.TrimSpace(n.Text) == "" || len(n.Text) > MaxTextBytes,
			"%s needs an After of 0 or more, and with it a text of at most %d bytes", name, MaxTextBytes)
	}
	reject(len(b.RefusalText) > MaxTextBytes, "RefusalText must have at most %d bytes", MaxTextBytes)
	reject(b.EarlyAttempts < 1, "EarlyAttempts must be at least 1, it is %d", b.EarlyAttempts)
	if b.Start != StartAfterQuiet && b.Start != StartEarly {
		reject(true, "Start must be after_quiet or early, it is %q", b.Start)
	}
	switch b.OnNewInput {
	case ModeInterrupt, ModeDiscard, ModeFinish:
	default:
		reject(true, "OnNewInput must be interrupt, discard or finish, it is %q", b.OnNewInput)
	}
	switch b.UnknownSend {
	case UnknownAuto, UnknownResend, UnknownHold:
	default:
		reject(true, "UnknownSend must be auto, resend or hold, it is %q", b.UnknownSend)
	}
	switch b.Names {
	case NamesAuto, NamesAlways, NamesNever:
	default:
		reject(true, "Names must be auto, always or never, it is %q", b.Names)
	}
	return errors.Join(problems...)
}
