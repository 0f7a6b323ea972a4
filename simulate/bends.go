package simulate

import (
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// before is a fault that changes what the core is given.
func before(f func(r *turn.Record, e turn.Event, now turn.Time, p *turn.Policy) turn.Event) func(engine.Step) engine.Step {
	return func(step engine.Step) engine.Step {
		return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			bent := r
			if r.Reply != nil {
				reply := *r.Reply
				bent.Reply = &reply
			}
			e = f(&bent, e, now, &p)
			return step(bent, e, now, p)
		}
	}
}

// behind is a fault that changes what the core decided.
func behind(f func(was, is *turn.Record, e turn.Event, effects *turn.Effects, now turn.Time)) func(engine.Step) engine.Step {
	return func(step engine.Step) engine.Step {
		return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := step(r, e, now, p)
			f(&r, &is, e, &effects, now)
			return is, effects
		}
	}
}

func commitUnchecked(r *turn.Record, e turn.Event, _ turn.Time, p *turn.Policy) turn.Event {
	if _, ok := e.(turn.Generated); ok {
		r.Through, r.Newer = r.Version, 0
	}
	return e
}

func resultsNotFenced(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if g, ok := e.(turn.Generated); ok && r.Phase == turn.Generating {
		g.Nonce = r.Lease.Nonce
		return g
	}
	return e
}

func renewalsNotFenced(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if g, ok := e.(turn.Renew); ok {
		g.Nonce = r.Lease.Nonce
		return g
	}
	return e
}

func sendsNotFenced(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	switch s := e.(type) {
	case turn.Sent:
		s.Nonce = r.Lease.Nonce
		return s
	case turn.SendUnknown:
		s.Nonce = r.Lease.Nonce
		return s
	}
	return e
}

func leaseIgnored(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if w, ok := e.(turn.Wake); ok && w.Nonce != r.Lease.Nonce {
		r.Lease.Expires = 0
	}
	return e
}

func earlyWakeActs(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Wake); ok && r.Phase == turn.Collecting {
		r.Due = 1
	}
	return e
}

func noHardCap(_ *turn.Record, e turn.Event, _ turn.Time, p *turn.Policy) turn.Event {
	p.MaxWait = time.Hour
	return e
}

func capRestarted(r *turn.Record, e turn.Event, now turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Message); ok && r.Phase == turn.Collecting && r.Discards > 0 {
		r.WindowStart = now
	}
	return e
}

func boundNeverReached(_ *turn.Record, e turn.Event, _ turn.Time, p *turn.Policy) turn.Event {
	p.MaxDiscards = 1_000_000
	return e
}

func boundAtOnce(_ *turn.Record, e turn.Event, _ turn.Time, p *turn.Policy) turn.Event {
	p.MaxDiscards = 0
	return e
}

func timeoutIsFailure(_ *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if u, ok := e.(turn.SendUnknown); ok {
		return turn.SendFailed{Nonce: u.Nonce, Part: u.Part, Text: u.Text, Jitter: u.Jitter}
	}
	return e
}

func leaseKept(was, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Sent); ok && is.Phase == turn.Idle {
		is.Lease = was.Lease
	}
}

func editDoesNotBump(was, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Edit); ok && effects.Changed {
		is.Version = was.Version
	}
}

func quietNotRestarted(was, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Message); ok && was.Phase == turn.Collecting && is.Phase == turn.Collecting {
		is.QuietUntil, is.Due = was.QuietUntil, was.Due
	}
}

func withdrawnAfterUnknown(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if r.Reply != nil {
		r.Reply.Unsure = false
	}
	return e
}

func failedIsSent(_ *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if f, ok := e.(turn.SendFailed); ok {
		return turn.Sent{Nonce: f.Nonce, Part: f.Part}
	}
	return e
}

func pauseIgnored(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Resume); !ok {
		r.OnHold = false
	}
	return e
}

func sealForgotten(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Generated); ok {
		r.Sealed = false
	}
	return e
}

func idleUnseen(was, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Sent); ok && was.Phase == turn.Sending && is.Phase == turn.Collecting {
		is.Phase, is.Pending, is.Answered = turn.Idle, 0, is.Version
	}
}

func lostNotCounted(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Wake); ok && r.Phase == turn.Generating {
		r.Attempts, r.Crashes = 0, 0
	}
	return e
}
