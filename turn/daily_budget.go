package turn

import "time"

// The budget of a day.
//
// A bot may have a budget: so many model calls, and so many tokens, in a day of UTC. All
// nodes share it, and it outlives them, so what is used up of it is kept in the store: in a
// record of its own for each bot, under a name that no conversation has. The record holds
// nothing else ([Record.Empty]), so it is never listed as a conversation.
//
// A node counts each call before it makes it. That write is a compare-and-swap like any
// other, so all nodes together never make more calls in a day than the budget has. A call
// that was counted and not made, because its node was lost or newer input came, stays
// counted. The tokens of a call are known only when it has ended: the calls that run at
// that moment may use more than is left.
//
// A call beyond the budget is refused. For its turn the model is then out of reach, as in
// an outage: what waits is kept and uses up no attempt, people get the notice of an outage
// if there is one, and the turn is tried again, until another day begins or the budget is
// raised.

// DailyBudget bounds what a bot uses in a day; 0: no bound.
type DailyBudget struct {
	Calls  int64 // of the model
	Tokens int64 // as far as models report them
}

// Spent is what a bot has used up.
type Spent struct {
	Day     int64 `json:"day,omitempty"`     // of the counts, since 1970
	Calls   int64 `json:"calls,omitempty"`   // of the model
	Tokens  int64 `json:"tokens,omitempty"`  // that these used
	Refused Time  `json:"refused,omitempty"` // when a call was refused first, since a call was allowed last; 0: none was
}

// Spend uses up some of a bot's budget. The outcome is [Ignored] where it is a call that the
// budget does not allow any more. Tokens were used already, so they are counted in any case.
type Spend struct {
	Calls  int64
	Tokens int64
}

// OverBudget is the reason for which a [Spend] was refused.
const OverBudget = "over_budget"

// oneDay is a day of UTC, which has no leap seconds here.
const oneDay = 24 * time.Hour

// UsedUp reports whether the budget allows no more calls at a time. A clock that was set
// back begins no day anew.
func (b DailyBudget) UsedUp(s Spent, now Time) bool {
	if dayOf(now) > s.Day {
		return false
	}
	return b.Calls > 0 && s.Calls >= b.Calls || b.Tokens > 0 && s.Tokens >= b.Tokens
}

// NextDay is when the day after a moment begins.
func NextDay(now Time) Time { return Time((dayOf(now) + 1) * oneDay.Milliseconds()) }

func dayOf(now Time) int64 { return int64(now) / oneDay.Milliseconds() }

// spend counts what is used up, or refuses a call.
func (s *step) spend(e Spend) {
	if e.Calls > 0 && s.policy.Daily.UsedUp(s.Spent, s.now) {
		s.ignore(OverBudget)
		if s.Spent.Refused == 0 {
			s.Spent.Refused, s.Changed = s.now, true
		}
		return
	}
	s.Changed = true
	if day := dayOf(s.now); day > s.Spent.Day {
		s.Spent = Spent{Day: day}
	}
	s.Spent.Calls += e.Calls
	s.Spent.Tokens += e.Tokens
	if e.Calls > 0 {
		s.Spent.Refused = 0
	}
}
