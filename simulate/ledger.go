package simulate

import (
	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// ledger is what an onlooker remembers: what people wrote and were told, what
// the model was shown, what was written, and what a person saw.
type ledger struct {
	*world
	talks map[store.Key]*talk
	calls map[string]*call // of the model, by nonce
	sums  sums
	story story
}

// sums are what a run adds to the report.
type sums struct {
	Inputs, Turns, Replies, Discards, Crashes, ModelCalls int
	Waits                                                 []int // milliseconds from the first message of a reply to its sight
}

// talk is one conversation, from its first message or its last deletion on.
type talk struct {
	key      store.Key
	messages map[string]*message
	replies  map[int64]*reply // by sequence
	leases   map[string]bool  // every nonce that held it
	visible  map[sight]string // what was answered to the person, and by which reply
	spoken   map[string]bool  // texts of people that the person saw
	sayings  []string         // texts of people that were acknowledged
	discards map[int64]int    // by turn
	lost     map[int64]int    // attempts in a row whose worker was lost, by turn
	resumes  int              // asked for, and not seen to happen yet
	since    turn.Time        // it collects since then
	rested   turn.Time        // when it was last told to rest, by a back-off or by the ceiling on turns
	paused   turn.Time        // it is on hold since then, 0: it is not
	wrote    map[*node]turn.Time
	begun    int64 // greatest turn of which a part was handed to the channel
	remedied bool  // an operator asked for a reply to be sent again, or marked as sent
	operated bool  // somebody but a typist does something to it, at some time
}

// message is what a person wrote.
type message struct {
	id       string
	accepted turn.Time
	acked    bool
}

// call is a call of the model.
type call struct {
	key     store.Key
	node    *node
	life    int
	text    string
	stopped bool
	over    bool
}

// reply is a committed reply.
type reply struct {
	entry store.Entry
	parts int
	seen  []sight
	sends map[int]*sending // by part: the last one
	shown map[int]bool     // parts that the person saw
	again bool             // an operator had it sent again: the person may see parts twice
}

func newLedger(w *world) *ledger {
	return &ledger{world: w, talks: map[store.Key]*talk{}, calls: map[string]*call{}}
}

func (l *ledger) talk(key store.Key) *talk {
	t := l.talks[key]
	if t == nil {
		t = &talk{
			key: key, messages: map[string]*message{}, replies: map[int64]*reply{}, leases: map[string]bool{},
			visible: map[sight]string{}, spoken: map[string]bool{}, discards: map[int64]int{}, lost: map[int64]int{}, wrote: map[*node]turn.Time{},
			operated: l.isOperated(key),
		}
		l.talks[key] = t
	}
	return t
}

// isOperated reports whether the plan has more for a conversation than
// messages.
func (l *ledger) isOperated(key store.Key) bool {
	for _, e := range l.Events {
		_, breaks := troubles[e.What]
		if !breaks && l.key(e.Talk) == key && e.What != send && e.What != again {
			return true
		}
	}
	return false
}

// faultless reports whether nothing breaks in this plan.
func (l *ledger) faultless() bool {
	return !l.breaks(func(What) bool { return true })
}

// breaks reports whether the plan has a trouble of some kind.
func (l *ledger) breaks(kind func(What) bool) bool {
	for _, e := range l.Events {
		if _, breaks := troubles[e.What]; breaks && kind(e.What) {
			return true
		}
	}
	return false
}

// forgot begins anew: all that was stored of a conversation is gone.
func (l *ledger) forgot(key store.Key) {
	l.say("store", "%s is deleted", key.Conversation)
	delete(l.talks, key)
}

// waiting is what the store holds that is not settled.
func (l *ledger) waiting(key store.Key) []store.Entry {
	return l.entries(key, store.EntryQuery{Status: turn.InputPending})
}

// acknowledged takes what somebody was told.
func (l *ledger) acknowledged(a *ask, result engine.Result) {
	if result.Err != nil || a.lost {
		return
	}
	t := l.talk(a.key)
	switch a.op {
	case engine.Receive:
		l.acknowledgedMessage(t, a, result)
	case engine.HumanReply:
		t.sayings = append(t.sayings, a.text)
	}
}

// acknowledgedMessage is P4: what was acknowledged is in the store already.
func (l *ledger) acknowledgedMessage(t *talk, a *ask, result engine.Result) {
	m := t.messages[a.Message]
	if m == nil {
		if !l.mayForget(a.key) {
			l.fail("P4 lost", "%s was acknowledged (%s) and is not in the store", a.Message, result.Outcome)
		}
		return
	}
	m.acked = true
}

// mayForget reports whether the plan deletes a conversation.
func (l *ledger) mayForget(key store.Key) bool {
	for _, e := range l.Events {
		if e.What == forget && l.key(e.Talk) == key {
			return true
		}
	}
	return false
}

// modelStarts notes a call.
func (l *ledger) modelStarts(n *node, o engine.Start, text string) {
	l.sums.ModelCalls++
	l.story.runs = append(l.story.runs, span{node: n.index, from: l.now, to: l.now, nonce: o.Lease.Nonce, shows: idsOf(saw(text))})
	l.calls[o.Lease.Nonce] = &call{key: o.Key, node: n, life: n.life, text: text}
}

func (l *ledger) modelEnds(nonce string) {
	l.calls[nonce].over = true
	l.story.ends(nonce, l.now)
}

func (l *ledger) modelStops(nonce string) { l.calls[nonce].stopped = true }

// told takes what watchers learn. It is P3's bound: nobody is kept waiting by
// more discards than are allowed.
func (l *ledger) told(e engine.Event) {
	if e.Kind == turn.ReplyDiscardedKind && (e.Reason == string(turn.Mistake) || e.Reason == string(turn.Rejected)) {
		l.talk(e.Key).lost[e.Turn] = 0
	}
	if e.Kind != turn.ReplyDiscardedKind || e.Reason != turn.Superseded {
		return
	}
	l.sums.Discards++
	t := l.talk(e.Key)
	t.discards[e.Turn]++
	if t.discards[e.Turn] > l.policy.MaxDiscards && !l.mayForget(e.Key) {
		l.fail("P3 bound", "turn %d was discarded %d times for newer input, and %d are allowed", e.Turn, t.discards[e.Turn], l.policy.MaxDiscards)
	}
}
