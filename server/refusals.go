package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/loglimit"
)

// Bounds of what is kept of refused calls. Anybody can cause them, so they are kept apart
// from the actions, which they must not push out.
const (
	refusalsKept = 256         // the last ones, of different kinds
	refusalsJoin = time.Minute // refusals that are alike, within so long, are one entry
)

// refusals are the calls that were answered with 401 or 403, for the audit: by which key,
// where it is known, from where, and which call. Those that are alike are counted together.
// A node keeps its own, in memory. It may be used by many goroutines at once.
type refusals struct {
	log   *slog.Logger
	lines loglimit.Limit

	mu   sync.Mutex
	last []refusedCalls // oldest first
}

// refusedCalls are some calls that are alike.
type refusedCalls struct {
	what  refused
	first time.Time
	at    time.Time // of the last one
	count int
}

// refused is what calls have in common that are counted together. All of it comes from
// bounded sets, or is checked: the conversation is left out, since anybody may make up one.
type refused struct {
	by, from, bot string
	call          string // method and route
	why           string
}

// note takes in a refused call about a bot; "": about none that is known here.
func (f *refusals) note(r *http.Request, found *route, p *problem, bot string, now time.Time) {
	what := refused{by: cmp.Or(p.by, "unknown"), from: addressOf(r), bot: bot, call: methodLabel(r.Method) + " " + patternOf(found), why: p.kind.name}
	if p.right != "" {
		what.why += ", needs " + string(p.right)
	}
	if p.kind == kindForbidden { // wrong keys have lines of their own
		if n := f.lines.Add(now, 1); n > 0 {
			f.log.LogAttrs(r.Context(), slog.LevelWarn, "a call was refused: the key does not open it", slog.String("by", what.by), slog.String("from", what.from),
				slog.String("call", what.call), slog.String("why", what.why), slog.Uint64("refused", n))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	entry := refusedCalls{what: what, first: now}
	if at := slices.IndexFunc(f.last, func(other refusedCalls) bool { return other.what == what && now.Sub(other.first) < refusalsJoin }); at >= 0 {
		entry = f.last[at]
		f.last = slices.Delete(f.last, at, at+1)
	}
	entry.at = now
	entry.count++
	if len(f.last) >= refusalsKept {
		f.last = slices.Delete(f.last, 0, 1)
	}
	f.last = append(f.last, entry)
}

// among puts the refusals that the caller may see among the actions, newest first.
func (f *refusals) among(actions []onereply.AuditEntry, who caller, limit int) []onereply.AuditEntry {
	f.mu.Lock()
	for _, entry := range f.last {
		if who.key == nil || who.key.Bots == nil || entry.what.bot != "" && who.key.sees(entry.what.bot) {
			actions = append(actions, entry.audit())
		}
	}
	f.mu.Unlock()
	slices.SortStableFunc(actions, func(a, b onereply.AuditEntry) int { return b.At.Compare(a.At.Time) })
	return actions[:min(len(actions), limit)]
}

// audit is the entry for these calls.
func (f refusedCalls) audit() onereply.AuditEntry {
	reason := f.what.why + ": " + f.what.call
	if f.count > 1 {
		reason += fmt.Sprintf(" (%d times)", f.count)
	}
	return onereply.AuditEntry{At: onereply.Time{Time: f.at}, Action: "refused", Bot: f.what.bot, By: f.what.by, From: f.what.from, Reason: reason}
}
