package turn_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/onereply/onereply/turn"
)

// TestTranscripts plays the chapters in testdata: each line is something that
// happens at a moment, and below it stands what Step makes of it. Changed on
// purpose? `go test ./turn -run TestTranscripts -rewrite`, and read the diff.
func TestTranscripts(t *testing.T) {
	chapters, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(chapters) == 0 {
		t.Fatalf("no chapters in testdata (%v)", err)
	}
	for _, path := range chapters {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := newStory()
			datadriven.RunTest(t, path, s.play)
		})
	}
}

// start is the moment that a transcript calls 0s.
const start turn.Time = 1_000_000_000

// story is one conversation of a transcript.
type story struct {
	policy turn.Policy
	record turn.Record
	ledger *ledger
	leases map[string]int // taken or tried by each worker
	last   happening
	told   []turn.Notice
}

// happening is an event and, for an edit or a deletion, its target.
type happening struct {
	event   turn.Event
	touched *message
	sender  string
}

func newStory() *story {
	return &story{ledger: newLedger(), leases: map[string]int{}, policy: turn.Policy{
		Debounce: 2 * time.Second, MaxWait: 10 * time.Second, Lease: 30 * time.Second,
		MediaWait: 15 * time.Second, MaxDiscards: 2, MaxAttempts: 3, RetryFor: time.Hour,
	}}
}

// play carries out one command: `policy key=value…` starts a new conversation,
// `settings` changes that of the open one, `at TIME EVENT key=value…` is something that happens in it, `notices` prints
// all that was told so far, in full.
func (s *story) play(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "policy":
		*s = *newStory()
		readPolicy(t, d, &s.policy)
		return ""
	case "settings":
		readPolicy(t, d, &s.policy)
		return ""
	case "at":
		return s.at(t, d)
	case "notices":
		return tellNotices(s.told)
	case "lease_without_expiry":
		s.record.Lease.Expires = 0
		return ""
	}
	t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	return ""
}

func (s *story) at(t *testing.T, d *datadriven.TestData) string {
	now := start.Add(duration(t, d, d.CmdArgs[0].Key))
	if kind := d.CmdArgs[1].Key; kind != "again" {
		s.last = s.read(t, d, kind)
	}
	before := s.record
	after, effects := turn.Step(before, s.last.event, now, s.policy)
	if err := turn.Check(after); err != nil {
		t.Errorf("%s: %v", d.Pos, err)
	}
	statuses := s.ledger.statuses()
	s.ledger.sender = s.last.sender
	s.ledger.hear(s.last.event, before, after, effects)
	if err := s.ledger.record(s.last.event, s.last.touched, before, after, effects); err != nil {
		t.Errorf("%s: %v", d.Pos, err)
	}
	s.ledger.begin(effects.Actions)
	s.record, s.told = after, append(s.told, effects.Notices...)
	return tellStep(before, after, effects, s.ledger.changes(statuses), s.ledger.prompt)
}

func (l *ledger) statuses() map[string]turn.Status {
	statuses := map[string]turn.Status{}
	for _, m := range l.messages {
		statuses[m.id] = m.status
	}
	return statuses
}

// changes tells what became of messages since statuses were taken.
func (l *ledger) changes(statuses map[string]turn.Status) []string {
	var changes []string
	for _, m := range l.messages {
		switch was, known := statuses[m.id]; {
		case !known && m.status == turn.InputContext:
			changes = append(changes, m.id+" is context")
		case !known:
			changes = append(changes, m.id+" is accepted")
		case was != m.status && m.by != 0:
			changes = append(changes, fmt.Sprintf("%s is %s by reply %d", m.id, m.status, m.by))
		case was != m.status:
			changes = append(changes, fmt.Sprintf("%s is %s", m.id, m.status))
		}
	}
	return changes
}
