package simulate

import (
	"slices"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// ledger is what an onlooker remembers: what people wrote and were told, what
// the model was shown, what was written, and what a person saw.
type ledger struct {
	*world
	conversations map[store.Key]*conversation
	calls         map[string]*call                 // of the model, by nonce
	read          map[string]turn.Time             // when the reading of a prompt began, by nonce
	toTell        map[string]map[string]bool       // what it has to tell of that nobody answered, by nonce and id
	asked         map[store.Key]map[What]turn.Time // when it last happened at the latest, or will, of what somebody asked for
	gone          map[store.Key]turn.Time          // when it was last deleted

	names  map[store.Key][]string        // other names of a conversation, as was acknowledged
	given  map[store.Key]bool            // names that lead to a conversation until they are freed
	freed  map[store.Key]freedName       // names that are free again, or will be
	stops  map[store.Key]map[string]bool // senders who asked for no more answers
	timed  map[store.Key][]*ask          // pauses that end by themselves
	kept   map[store.Key]bool            // a pause was asked for that does not
	erased map[store.Key][]string        // ids that went with it
	sums   sums
	story  story

	miscounted string // what is wrong with a count of bytes, "": nothing
}

// sums are what a run adds to the report.
type sums struct {
	Inputs, Turns, Replies, Discards, Crashes, ModelCalls int
	Waits                                                 []int // milliseconds from the first message of a reply to its shownMessage
}

// conversation is one conversation, from its first message or its last deletion on.
type conversation struct {
	key         store.Key
	messages    map[string]*message
	replies     map[int64]*reply        // by sequence
	leases      map[string]bool         // every nonce that held it
	visible     map[shownMessage]string // what was answered to the person, and by which reply
	spoken      map[string]bool         // texts of people that the person saw
	sayings     []string                // texts of people that were acknowledged
	discards    map[int64]int           // by turn
	early       map[int64]int           // attempts that were started early, by turn
	suspects    map[int64]suspicion     // workers that were lost in a row, by turn
	holder      life                    // who took the last lease
	holds       []*ask                  // pauses that were acknowledged
	resumes     []*ask                  // not seen to happen yet, nor known to have had no effect
	openState   []openState             // what a request would end
	told        map[toldOf]bool         // a sign and a message that waited when it was given, with its version
	changed     turn.Time               // when a message that waits was edited or deleted last
	refusals    map[int64]int           // prompts that the model refused, by turn
	aside       map[string]bool         // messages that were ever set aside
	spent       map[int64]int           // attempts that failed, by turn
	workers     map[int64]int           // attempts whose worker may have been lost, by turn
	first       turn.Time               // of the inputs that no attempt has seen, 0: there are none
	taken       turn.Time               // when the last lease was taken
	shown       int64                   // the version that the last attempt saw
	since       turn.Time               // it collects since then
	waits       turn.Time               // since when the turn waits: its first waiting input
	waited      turn.Time               // the same before the last write, which may have ended the turn
	partAt      turn.Time               // when a reply was committed last that may answer a part of what waits
	restSince   turn.Time               // since when a turn waited whose last reply may answer a part of it; 0: it does not
	rested      turn.Time               // when it was last told to rest, by a back-off or by the ceiling on turns
	fresh       int64                   // the sequence of the last reset: no model is told what came before
	freshAt     turn.Time               // when that was written
	said        turn.Time               // when somebody said something last
	paused      turn.Time               // it is on hold since then, 0: it is not
	edited      map[string]turn.Time    // by message: when its last edit was accepted
	wrote       map[*node]lastWrite     // of each node
	sending     *sending                // the last one that began
	noSendUntil turn.Time               // the end of the pauses that the receiver asked for, as far as that was written
	begun       int64                   // greatest turn of which a part was handed to the channel
	byPeople    int                     // inputs of people
	stoodIn     bool                    // a person was sent a text that stood in for a reply, and no turn has succeeded since
	botReplies  int                     // replies that other bots alone got since a person wrote
	changes     changes
}

// message is what a person wrote.
type message struct {
	id       string
	accepted turn.Time // or edited
	acked    bool
}

// call is a call of the model.
type call struct {
	key     store.Key
	node    *node
	life    int
	turn    int64
	through int64 // the version that its prompt holds
	text    string
	lone    bool // nothing else was to run on the node
	beside  bool // another call ran there meanwhile
	parts   []string
	fault   turn.Fault // of what it returned by itself
	stopped bool
	over    bool
}

// reply is a committed reply.
type reply struct {
	entry     store.Entry
	texts     []string // what is to be sent, a part each
	seen      []shownMessage
	sends     map[int]*sending // by part: the last one
	shown     map[int]bool     // parts that the person saw
	done      int              // parts that are known to be delivered
	doneAt    turn.Time        // when the last of them was known
	refused   bool             // by the channel, for good
	said      turn.Receipt     // what the channel was told is recorded of it
	mayFail   bool             // the channel said, or tried to, that it failed afterwards
	mayArrive bool             // the same, that it has arrived
	unclear   bool             // and it was under way then, so that another try may have followed
	last      int              // the part that is the last one, since a person said something during it; 0: none is
	again     bool             // an operator had it sent again: the person may see twice what is not done
	toBots    bool             // it answers other bots alone
	people    int              // inputs of people before its commit
}

func newLedger(w *world) *ledger {
	return &ledger{world: w, conversations: map[store.Key]*conversation{}, calls: map[string]*call{}, read: map[string]turn.Time{}, toTell: map[string]map[string]bool{}, asked: map[store.Key]map[What]turn.Time{}, gone: map[store.Key]turn.Time{}, names: map[store.Key][]string{}, given: map[store.Key]bool{}, freed: map[store.Key]freedName{}, stops: map[store.Key]map[string]bool{}, timed: map[store.Key][]*ask{}, kept: map[store.Key]bool{}, erased: map[store.Key][]string{}}
}

func (l *ledger) conversation(key store.Key) *conversation {
	t := l.conversations[key]
	if t == nil {
		t = &conversation{
			key: key, messages: map[string]*message{}, changes: newChanges(), edited: map[string]turn.Time{}, replies: map[int64]*reply{}, leases: map[string]bool{},
			visible: map[shownMessage]string{}, spoken: map[string]bool{}, discards: map[int64]int{}, early: map[int64]int{}, suspects: map[int64]suspicion{}, wrote: map[*node]lastWrite{},
			told: map[toldOf]bool{}, refusals: map[int64]int{}, aside: map[string]bool{}, spent: map[int64]int{}, workers: map[int64]int{}, openState: openStates(turn.Record{}, nil, start),
		}
		l.conversations[key] = t
	}
	return t
}

// faultless reports whether nothing breaks in this plan.
func (l *ledger) faultless() bool {
	return !slices.ContainsFunc(l.Events, func(e Event) bool { _, breaks := faultKinds[e.What]; return breaks })
}

// forgot begins anew: all that was stored of a conversation is gone.
func (l *ledger) forgot(key store.Key) {
	l.log("store", "%s is deleted", key.Conversation)
	for id := range l.conversation(key).messages {
		l.erased[key] = append(l.erased[key], id)
	}
	delete(l.conversations, key)
	l.gone[key] = l.now
}

// waiting is what the store holds that is not settled.
func (l *ledger) waiting(key store.Key) []store.Entry {
	return l.entries(key, store.EntryQuery{Status: turn.InputPending})
}

// reads notes that the prompt of an attempt is read. One without a history tells nothing of
// before.
func (l *ledger) reads(o engine.ReadPrompt) {
	l.read[o.Nonce] = l.now
	if o.History > 0 {
		l.toTell[o.Nonce] = l.unanswered(o.Key)
	}
}

// modelStarts notes a call.
func (l *ledger) modelStarts(n *node, o engine.Start, text string) {
	l.sums.ModelCalls++
	if most := l.policy.Daily.Calls; most > 0 && !l.calm && int64(l.sums.ModelCalls) > most {
		l.fail("budget", "this is call %d of the model, and the budget is %d a day", l.sums.ModelCalls, most)
	}
	l.story.runs = append(l.story.runs, span{node: n.index, from: l.now, to: l.now, nonce: o.Lease.Nonce, shows: idsOf(messagesIn(text))})
	c := &call{key: o.Key, node: n, life: n.life, turn: o.Turn, through: o.Through, text: text}
	l.calls[o.Lease.Nonce] = c
	l.judgeCompany(n, o, c)
	l.judgePrompt(o)
	l.judgeHistory(o)
	l.judgeTold(o)
	l.judgeFresh(o)
}

// modelEnds notes what a call returned. One that was told to end, or whose
// process is gone, returns nothing that counts.
func (l *ledger) modelEnds(nonce string, r engine.Response) {
	c := l.calls[nonce]
	if !c.stopped && !c.over {
		c.fault = r.Fault
	}
	c.over, c.parts = true, r.Parts
	l.story.ends(nonce, l.now)
}

func (l *ledger) modelStops(nonce string) { l.calls[nonce].stopped = true }

// event takes what watchers learn. It is P3's bound: nobody is kept waiting by
// more discards than are allowed.
func (l *ledger) event(e engine.Event) {
	if e.Kind != turn.KindReplyDiscarded || e.Reason != turn.Superseded || e.At <= l.gone[e.Key].Add(slack) {
		return
	}
	l.sums.Discards++
	t := l.conversation(e.Key)
	t.discards[e.Turn]++
	if t.discards[e.Turn] > l.policy.MaxDiscards {
		l.fail("P3 bound", "turn %d was discarded %d times for newer input, and %d are allowed", e.Turn, t.discards[e.Turn], l.policy.MaxDiscards)
	}
}

// shows is P3 for what people are told while they wait: once of each message, and nothing
// more once they know of an outage. What came with the node's own write, or after it, need
// not be meant: a node that stood still tells them late.
func (l *ledger) shows(n *node, o engine.Show) {
	t := l.conversation(o.Key)
	l.log(n.name, "tells people of the %s: %s", o.Sign, o.Text)
	waiting := l.waiting(o.Key)
	l.judgeSignTime(t, o, waiting)
	for _, e := range waiting {
		if e.Version > t.wrote[n].over {
			continue
		}
		is, outage := toldOf{o.Sign, e.ID, e.Version}, toldOf{turn.SignOutage, e.ID, e.Version}
		if t.told[is] || t.told[outage] {
			l.fail("P3 sign", "people were told of the %s once more, with %s", o.Sign, e.ID)
		}
		t.told[is] = true
	}
}

// judgeSignTime is P3 for when people are told that it takes longer: not before some message
// has waited for so long. Where one was closed, taken back, set aside or answered before the
// rest of its turn, that one may have.
func (l *ledger) judgeSignTime(t *conversation, o engine.Show, waiting []store.Entry) {
	if o.Sign != turn.SignDelay || t.restSince != 0 || len(t.aside) > 0 || l.askedFor(t.key, 0, retract, stopWord, optsOut, startsOver, reset, closes, humanSays, records, silences) {
		return
	}
	long := func(e store.Entry) bool { return l.now.Add(slack) >= e.At.Add(l.policy.DelayAfter) }
	if len(waiting) > 0 && !slices.ContainsFunc(waiting, long) {
		l.fail("P3 sign", "people were told that it takes longer, and no message has waited for %v", l.policy.DelayAfter)
	}
}

// lastWrite is a node's last write of a conversation.
type lastWrite struct {
	at   turn.Time
	over int64 // the version that it changed
}

// toldOf is a sign, and a message that waited when it was given.
type toldOf struct {
	sign    turn.Sign
	id      string
	version int64
}
