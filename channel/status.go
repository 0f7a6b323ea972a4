package channel

import (
	"sync"
	"time"
)

// Status counts what happened on an account since the start of this node.
type Status struct {
	Bot     string `json:"bot"`
	Channel string `json:"channel"`

	// Polling: this node fetches the messages now.
	Polling bool `json:"polling,omitempty"`

	// VerifiedAt is the time of the last request that the platform had signed, or of the
	// last poll that brought something. Zero: never.
	VerifiedAt time.Time `json:"verified_at,omitzero"`

	// Forged are requests whose signature did not match, Unreadable those that could not be
	// read, and Refused are events that were refused for good, such as a message that is too
	// long. SendsFailed are sends that failed, or may have.
	Forged      int64 `json:"forged"`
	Unreadable  int64 `json:"unreadable"`
	Refused     int64 `json:"refused"`
	SendsFailed int64 `json:"sends_failed"`

	// Messages are those that were handed over, duplicates included. Skipped are events that
	// change nothing, [Echo] and [Report] among them.
	Messages int64 `json:"messages"`
	Skipped  int64 `json:"skipped"`

	// LastError is the last of these failures, or of polling, in words.
	LastError string `json:"last_error,omitempty"`
}

// status is a Status that many goroutines write.
type status struct {
	mu  sync.Mutex
	now Status
}

func (s *status) change(f func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.now)
}

func (s *status) event(e Event) {
	s.change(func(now *Status) {
		switch e.(type) {
		case Message:
			now.Messages++
		case Skipped, Echo, Report:
			now.Skipped++
		}
	})
}

func (s *status) verified()        { s.change(func(now *Status) { now.VerifiedAt = time.Now() }) }
func (s *status) polling(on bool)  { s.change(func(now *Status) { now.Polling = on }) }
func (s *status) failed(err error) { s.change(func(now *Status) { now.LastError = err.Error() }) }

func (s *status) refuse(err error) {
	s.change(func(now *Status) { now.Refused++; now.LastError = err.Error() })
}

func (s *status) forge(err error) {
	s.change(func(now *Status) { now.Forged++; now.LastError = err.Error() })
}

func (s *status) misread(err error) {
	s.change(func(now *Status) { now.Unreadable++; now.LastError = err.Error() })
}

func (s *status) sent(err error) {
	if err != nil {
		s.change(func(now *Status) { now.SendsFailed++; now.LastError = err.Error() })
	}
}

// Status is what happened on the account since the start of this node.
func (a *Account) Status() Status {
	a.status.mu.Lock()
	defer a.status.mu.Unlock()
	now := a.status.now
	now.Bot, now.Channel = a.bot, a.name
	return now
}
