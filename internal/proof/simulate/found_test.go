package simulate

import (
	"bytes"
	"testing"
	"time"
)

// What simulation found in the engine, each as the shortest plan that led
// there. The plans are played with many seeds, since the moments matter.

// A write that the node gave up, and that was not there when it looked, landed
// after that; what a person had written was stored and sent a second time.
func TestHumanReplyWhoseWriteLandsLate(t *testing.T) {
	foundBefore(t, []Event{
		{ID: 1, At: 0, What: unknownLater, For: 3 * time.Second},
		{ID: 2, At: time.Second, What: humanSays},
	})
}

// The model ignored that it was told to stop, and the lease could not be
// renewed meanwhile: the node looked at that lease without end.
func TestDeafModelUnderALeaseThatEnds(t *testing.T) {
	foundBefore(t, []Event{
		{ID: 1, At: 0, What: modelDeaf, For: 20 * time.Second},
		{ID: 2, At: 0, What: modelHangs, For: 20 * time.Second},
		{ID: 3, At: time.Second, What: send, Message: "a1"},
		{ID: 4, At: 4 * time.Second, What: send, Message: "a2"},
		{ID: 5, At: 4500 * time.Millisecond, What: partition, For: 12 * time.Second},
	})
}

func foundBefore(t *testing.T, events []Event, change ...func(*settings)) {
	t.Helper()
	for seed := range uint64(200) {
		if w, trace := playPlain(seed, events, seededFault{}, change...); w.broken != nil {
			t.Fatalf("%v\n%s%s", w.broken, w.Plan, trace)
		}
	}
}

// playPlain plays a plan under plain settings.
func playPlain(seed uint64, events []Event, v seededFault, change ...func(*settings)) (*world, string) {
	plan := &Plan{Seed: seed, Events: events, end: 30 * time.Second, settings: plainSettings()}
	plan.nodes, plan.conversations, plan.policy.Lease, plan.sendTimeout = 2, 2, 2*time.Second, time.Second
	for _, f := range change {
		f(&plan.settings)
	}
	var trace bytes.Buffer
	w := newWorld(plan, v, &trace)
	w.play()
	return w, trace.String()
}

// While the write of an attempt's end was on its way, the node looked at none
// of its timers: the leases of its other conversations ran out.
func TestTimersWhileAWriteIsSlow(t *testing.T) {
	foundBefore(t, []Event{
		{ID: 1, At: 0, What: send, Message: "a1"},
		{ID: 2, At: 500 * time.Millisecond, What: send, Conversation: 1, Message: "m1"},
		{ID: 3, At: 2500 * time.Millisecond, What: storeSlow, For: 3 * time.Second},
	})
}

// A reply that an operator had sent again, under a pause, was taken up and given
// back without end: the node took it for one that the pause holds.
func TestSentAgainUnderAPause(t *testing.T) {
	foundBefore(t, []Event{
		{ID: 1, At: 0, What: sendSlow, For: 10 * time.Second},
		{ID: 2, At: time.Second, What: humanSays},
		{ID: 3, At: 9 * time.Second, What: pause},
		{ID: 4, At: 10 * time.Second, What: resend},
	}, func(s *settings) { s.policy.ResendUnknown = false })
}

// An operator asked a node for a resume that remembered the conversation as it
// was before another node paused it: it said that this was done, and did nothing.
func TestResumeAtANodeThatKnowsNoPause(t *testing.T) {
	foundBefore(t, []Event{
		{ID: 1, At: 500 * time.Millisecond, What: edit, Message: "m1"},
		{ID: 2, At: 2 * time.Second, What: pause, Node: 1},
		{ID: 3, At: 6 * time.Second, What: resume},
	})
}

// After a reset, a stop word of one person cut a reply that answered another one too: what
// that reply answers counted as settled, so nobody looked who had written it.
func TestStopWordAfterAResetDuringAReply(t *testing.T) {
	foundBefore(t, []Event{
		{ID: 1, At: time.Second, What: send, Message: "m1"},
		{ID: 2, At: 1500 * time.Millisecond, What: send, Message: "m2"},
		{ID: 3, At: 1500 * time.Millisecond, What: reset, Aim: atCommit, Offset: 1},
		{ID: 4, At: 1500 * time.Millisecond, What: stopWord, Message: "s1", Aim: atCommit, Offset: 100},
	}, func(s *settings) { s.parts, s.pace = 3, 2*time.Second })
}
