package channel

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onereply/onereply"
)

// Status counts what happened on an account since the start of this node.
type Status = onereply.ChannelStatus

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
		case Echo, Report:
			now.Reports++
		case Skipped:
			now.Skipped++
		}
	})
}

func (s *status) verified() {
	s.change(func(now *Status) { now.VerifiedAt = onereply.Time{Time: time.Now().UTC()} })
}
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

// Statuses are those of a bot's accounts, or of all bots' ("") on this node, by name.
func (h *Host) Statuses(bot string) []Status {
	all := []Status{}
	for _, a := range h.accounts {
		if bot == "" || a.bot == bot {
			now := a.Status()
			now.Address = strings.TrimRight(h.options.PublicURL, "/") + Path(a.bot, a.name)
			all = append(all, now)
		}
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(strings.Compare(a.Bot, b.Bot), strings.Compare(a.Channel, b.Channel))
	})
	return all
}
