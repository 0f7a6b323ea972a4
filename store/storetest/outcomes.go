package storetest

import (
	"fmt"
	"sync"

	"github.com/onereply/onereply/store"
)

// unknown is the outcome of a write whose answer nobody got.
const unknown = "unknown"

// outcomes counts the outcomes of the writes of a suite. One that never met an
// outcome has shown nothing about it, so it fails.
type outcomes struct {
	mu     sync.Mutex
	counts map[string]int
}

func (o *outcomes) add(outcome string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = make(map[string]int)
	}
	o.counts[outcome]++
}

func (o *outcomes) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fmt.Sprint(o.counts)
}

// missed are the outcomes that were never met.
func (o *outcomes) missed() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var missed []string
	for _, outcome := range []string{store.OK.String(), store.Conflict.String(), store.Duplicate.String(), unknown} {
		if o.counts[outcome] == 0 {
			missed = append(missed, outcome)
		}
	}
	return missed
}

// unknownTests are about writes whose answer is lost on its way, which no store
// can prevent. A load then shows whether they were applied.
var unknownTests = []test{
	{"a write that was applied and not answered is known by its op", func(s *subject) {
		first := s.ok(s.write(key, none, message(1, "m1")))
		write := waking(s.write(key, first, message(2, "m2")), start+10)
		s.unanswered(write)
		equal(s, "Load", s.load(key), store.Snapshot{Record: write.Record, Op: write.Op})
		s.conflict(write, "m2") // sent again by somebody who did not look
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "m1 m2")
		s.due(start+10, 10, store.Timer{Key: key, At: start + 10})
	}},
	{"a first write that was applied and not answered is known by its op", func(s *subject) {
		write := s.write(key, none, message(1, "m1"))
		s.unanswered(write)
		equal(s, "Op", s.load(key).Op, write.Op)
		s.conflict(write, "m1")
	}},
	{"a write that never arrived can be sent again", func(s *subject) {
		first := s.ok(s.write(key, none, message(1, "m1")))
		write := s.write(key, first, message(2, "m2"))
		s.outcomes.add(unknown) // nothing of it reached the store
		equal(s, "Op", s.load(key).Op, first)
		s.ok(write)
		equal(s, "Op", s.load(key).Op, write.Op)
	}},
	{"a write that arrives after another one leaves nothing behind", func(s *subject) {
		first := s.ok(s.write(key, none, message(1, "m1")))
		late := waking(s.write(key, first, message(2, "m2")), start+10)
		s.outcomes.add(unknown)
		second := s.ok(s.write(key, first, message(2, "m3")))
		before := s.contents()
		s.conflict(late)
		equal(s, "the contents", s.contents(), before)
		s.ok(s.write(key, second, message(3, "m2"))) // its id was not claimed
	}},
	{"a duplicate that was not answered leaves the op that was there", func(s *subject) {
		first := s.ok(s.write(key, none, message(1, "m1")))
		s.unanswered(s.write(key, first, message(2, "m1")))
		equal(s, "Op", s.load(key).Op, first)
	}},
}

// unanswered makes a write whose answer is lost.
func (s *subject) unanswered(write store.Write) {
	s.Helper()
	if _, err := s.store.Commit(s.Context(), write); err != nil {
		s.Fatalf("Commit %v: %v", write.Key, err)
	}
	s.outcomes.add(unknown)
}
