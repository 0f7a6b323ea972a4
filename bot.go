package onereply

import (
	"errors"
	"fmt"
	"time"

	"github.com/onereply/onereply/turn"
)

// Zero sets a field of [Bot] to zero where the zero value means the default:
// Debounce: onereply.Zero is no quiet time at all.
const Zero = -1

// Mode is what a newer input does to a running generation.
type Mode = turn.Mode

// The modes.
const (
	ModeInterrupt = turn.Interrupt // end it at once
	ModeDiscard   = turn.Discard   // let it end, then throw it away
	ModeFinish    = turn.Finish    // let it end, and send it for what it saw
)

// UnknownSend is what happens to a send whose outcome nobody knows.
type UnknownSend string

// The rules.
const (
	// UnknownAuto resends where the receiver recognises a repeat (see [Capabilities]), and
	// holds elsewhere.
	UnknownAuto UnknownSend = "auto"
	// UnknownResend sends again: the person may see the reply twice.
	UnknownResend UnknownSend = "resend"
	// UnknownHold leaves it: the person may see no reply. It is marked unknown.
	UnknownHold UnknownSend = "hold"
)

// Bot says who answers, who delivers, and how long to wait. The zero value of
// each field means its default.
type Bot struct {
	Name      string    // required: 1 to 512 bytes of UTF-8
	Responder Responder // required
	Sender    Sender    // nil: replies go to the transcript and the event stream only

	Debounce    time.Duration // quiet time after the last input; default 1.5s; Zero for none
	MaxWait     time.Duration // hard cap on it from the first waiting input; default 10s; Zero for none
	OnNewInput  Mode          // default ModeInterrupt
	MaxDiscards int           // default 2; Zero for none
	Lease       time.Duration // default 30s; at least 1s
	History     int           // earlier transcript entries given to the responder; default 40; Zero for none
	MediaWait   time.Duration // longest wait for an attachment; default 15s; Zero for none
	UnknownSend UnknownSend   // default UnknownAuto

	Timeout     time.Duration // one run of the responder, whole; default 60s
	Attempts    int           // failed runs before the turn is marked failed; default 3
	Fallback    string        // a text to send when the turn fails; "": none
	RetryFor    time.Duration // how long a send that failed, or is unknown, is tried again; default 1h; Zero for none
	SendTimeout time.Duration // one send; default 15s; at most half a lease

	GroupWait      time.Duration // quiet time after a message that belongs to a group (an album); default 1s; Zero for none
	SplitAt        int           // a text of at least so many characters may have been cut in two by its client; 0: never
	SplitWait      time.Duration // quiet time after such a text; default 1.5s; Zero for none
	TurnsPerMinute int           // ceiling on attempts per conversation, after which it rests for a minute; 0: none
	StopWords      []string      // a message that is one of these, in any case, closes what waits
	OptOutWords    []string      // likewise, and pauses the conversation too
}

// withDefaults fills in what is not set and reports all mistakes at once.
func (b Bot) withDefaults() (Bot, error) {
	duration := func(d *time.Duration, fallback time.Duration) {
		switch {
		case *d == 0:
			*d = fallback
		case *d == Zero:
			*d = 0
		}
	}
	count := func(n *int, fallback int) {
		switch {
		case *n == 0:
			*n = fallback
		case *n == Zero:
			*n = 0
		}
	}
	duration(&b.Debounce, 1500*time.Millisecond)
	duration(&b.MaxWait, 10*time.Second)
	duration(&b.Lease, 30*time.Second)
	duration(&b.MediaWait, 15*time.Second)
	duration(&b.Timeout, 60*time.Second)
	duration(&b.RetryFor, time.Hour)
	duration(&b.SendTimeout, min(15*time.Second, b.Lease/2))
	duration(&b.GroupWait, time.Second)
	duration(&b.SplitWait, 1500*time.Millisecond)
	count(&b.MaxDiscards, 2)
	count(&b.History, 40)
	count(&b.Attempts, 3)
	if b.OnNewInput == "" {
		b.OnNewInput = ModeInterrupt
	}
	if b.UnknownSend == "" {
		b.UnknownSend = UnknownAuto
	}
	return b, b.validate()
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
	reject(b.Debounce < 0, "Debounce must not be negative, it is %v", b.Debounce)
	reject(b.MaxWait < 0, "MaxWait must not be negative, it is %v", b.MaxWait)
	reject(b.MaxWait < b.Debounce, "MaxWait (%v) must not be less than Debounce (%v)", b.MaxWait, b.Debounce)
	reject(b.Lease < time.Second, "Lease must be at least 1s, it is %v", b.Lease)
	reject(b.MediaWait < 0, "MediaWait must not be negative, it is %v", b.MediaWait)
	reject(b.Timeout <= 0, "Timeout must be more than 0, it is %v", b.Timeout)
	reject(b.RetryFor < 0, "RetryFor must not be negative, it is %v", b.RetryFor)
	reject(b.SendTimeout <= 0 || b.SendTimeout > b.Lease/2, "SendTimeout must be more than 0 and at most half the lease (%v), it is %v", b.Lease/2, b.SendTimeout)
	reject(b.MaxDiscards < 0, "MaxDiscards must not be negative, it is %d", b.MaxDiscards)
	reject(b.History < 0 || b.History > MaxHistory, "History must be 0 to %d, it is %d", MaxHistory, b.History)
	reject(b.Attempts < 1, "Attempts must be at least 1, it is %d", b.Attempts)
	reject(b.GroupWait < 0 || b.SplitWait < 0, "GroupWait and SplitWait must not be negative")
	reject(b.SplitAt < 0, "SplitAt must not be negative, it is %d", b.SplitAt)
	reject(b.TurnsPerMinute < 0, "TurnsPerMinute must not be negative, it is %d", b.TurnsPerMinute)
	reject(len(b.Fallback) > MaxTextBytes, "Fallback must have at most %d bytes", MaxTextBytes)
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
	return errors.Join(problems...)
}
