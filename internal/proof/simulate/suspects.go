package simulate

import (
	"slices"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// suspicion is what an onlooker knows of the workers that a turn has lost in a row.
type suspicion struct {
	beside int       // that did not run it alone, as its lease says
	lone   int       // that did
	proven int       // that did, as the calls of the model show
	at     turn.Time // when the last of them was found
}

func (s suspicion) lost() int { return s.beside + s.lone }

// besideBefore is how many workers a turn may lose before its attempts run alone.
const besideBefore = 2

// lonePause is the pause before an attempt that must run alone, and how long its node has
// run by then. It is said here once more.
func lonePause(lost int) time.Duration {
	pause := time.Second
	for range lost - besideBefore {
		pause = min(4*pause, time.Minute)
	}
	return pause
}

// life is one life of a process.
type life struct {
	*node
	number int
}

// isDeadly reports whether the model brings down the process over this prompt, each time:
// for its texts in some plans, mostly in the others.
func (n *node) isDeadly(o engine.Start, d *dice) bool {
	if !n.deadlyTexts {
		return n.strikes(modelKills, n.index, d, 90)
	}
	deadly := func(e store.Entry) bool { return roll(n.Seed, "deadly"+e.Text).chance(30) }
	return slices.ContainsFunc(n.prompt(o), deadly) && n.strikes(modelKills, n.index, d, 100)
}

// followLost counts the workers of a turn that are found lost by a write. One whose holder
// writes its end is not lost, and clears the turn where the core says so.
func (l *ledger) followLost(n *node, t *conversation, write store.Write, before turn.Record, operated bool) {
	was, after := before.Lease, write.Record
	if before.Phase != turn.Generating || after.Phase == turn.Generating && after.Lease.Nonce == was.Nonce {
		return
	}
	if t.holder == (life{n, n.life}) {
		if after.Tries.Lost.Count == 0 {
			delete(t.suspects, before.Turn)
		}
		return
	}
	aside := slices.ContainsFunc(write.Settle, func(s turn.Settle) bool { return s.Status == turn.InputFailed })
	told := aside || after.Tries.Lost.Count > before.Tries.Lost.Count // where the same write holds more than this
	if operated && !told || after.Lease.Nonce == was.Nonce || l.now.Add(slack) < was.Expires && !l.alone {
		return
	}
	s := t.suspects[before.Turn]
	if c := l.calls[was.Nonce]; c == nil || !c.beside {
		s.proven++
	}
	if s.at = l.now; was.Lone {
		s.lone++
	} else {
		s.beside++
	}
	t.suspects[before.Turn] = s
}

// judgeSuspect is P3 for an attempt that begins after workers were lost: it runs alone,
// after a pause, and not more often than is allowed.
func (l *ledger) judgeSuspect(t *conversation, write store.Write) {
	s := t.suspects[write.Record.Turn]
	if s.lone >= l.policy.MaxAttempts {
		l.fail("P3 attempts", "turn %d was begun again after %d lone attempts lost their workers, and %d are allowed", write.Record.Turn, s.lone, l.policy.MaxAttempts)
	}
	if s.lost() < besideBefore {
		return
	}
	if !write.Record.Lease.Lone {
		l.fail("P3 alone", "turn %d does not run alone, and has lost %d workers", write.Record.Turn, s.lost())
	}
	hurried := l.askedFor(t.key, s.at.Add(-storeTimeout), flush, requeue, pause, resume, optsIn, optsOut)
	if rested := l.now.Sub(s.at); rested+2*slack < lonePause(s.lost()) && !hurried {
		l.fail("P3 calm", "turn %d runs alone %v after its worker was lost, the %d. in a row", write.Record.Turn, rested, s.lost())
	}
}

// judgeCompany is P3 for a call of the model that begins: none runs beside a lone one, and
// that begins on a process that has run for a while.
func (l *ledger) judgeCompany(n *node, o engine.Start, c *call) {
	c.lone = o.Lease.Lone
	n.calls = slices.DeleteFunc(n.calls, func(other *call) bool { return other.over })
	for _, other := range n.calls {
		if other.beside, c.beside = true, true; other.lone || c.lone {
			l.fail("P3 alone", "%s runs alone, and another call of the model runs on %s", o.Key.Conversation, n.name)
		}
	}
	n.calls = append(n.calls, c)
	s := l.conversation(o.Key).suspects[o.Turn]
	if up := n.now.Sub(n.bootedAt); c.lone && s.lost() >= besideBefore && up+2*slack < lonePause(s.lost()) {
		l.fail("P3 calm", "turn %d of %s runs alone on %s after %d lost workers, which was started %v ago", o.Turn, o.Key.Conversation, n.name, s.lost(), up)
	}
}
