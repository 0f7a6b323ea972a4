package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Plan is all that happens to a world from outside: what people do and what
// breaks.
type Plan struct {
	Seed   uint64
	Events []Event
	end    time.Duration // when people are gone and nothing breaks any more
	settings
}

// Event is one thing that happens. Which fields count depends on What.
type Event struct {
	ID           int           // its place in the plan as it was drawn: numbers that it needs are drawn for it
	At           time.Duration // since the start; of an aimed one, when it is armed
	What         What
	Node         int
	Conversation int
	Message      string        // the id of a message, or a name that is given or freed
	Name         string        // of a message: the name under which it comes, if that leads anywhere; "": any
	For          time.Duration // how long it lasts
	When         time.Duration // of an edit: when its author made it, as the channel says
	Flag         bool
	Aim          instant // "" or what it waits for
	Offset       int     // milliseconds after the instant that it is aimed at
}

// What names what happens.
type What string

// What people do.
const (
	send      What = "message"
	mention   What = "context"
	again     What = "repeat" // the provider delivers a message once more
	edit      What = "edit"
	retract   What = "delete"
	typing    What = "typing"
	flush     What = "flush"
	pause     What = "pause"
	resume    What = "resume"
	humanSays What = "human reply"
	notifies  What = "notification"         // a reply from outside that closes nothing
	records   What = "reply from elsewhere" // one that is only recorded
	silences  What = "reply with a pause"
	reset     What = "reset"
	stopWord  What = "stop word" // a new message, or the edit of one
	optsOut   What = "opt-out word"
	optsIn    What = "opt-in word"
	requeue   What = "requeue"
	resend    What = "resend"
	markSent  What = "mark sent"
	forget    What = "forget"
	reports   What = "report" // the channel says what became of a reply
)

// instant is a moment in the life of a turn at which an arrival can be aimed.
type instant string

const (
	atDue     instant = "due"
	atAcquire instant = "acquire"
	atEnd     instant = "end of generation"
	atCommit  instant = "commit"
	atRelease instant = "release"
)

var instants = []instant{atDue, atAcquire, atEnd, atCommit, atRelease}

// newPlan draws a plan.
func newPlan(seed uint64, o Options) *Plan {
	p := &Plan{Seed: seed, settings: newSettings(seed, o.Nodes)}
	for conversation := range p.conversations {
		p.write(conversation)
		p.operate(conversation)
		p.remedy(conversation)
		p.beginAfresh(conversation)
		p.report(conversation)
		p.overtake(conversation)
		p.stop(conversation)
		p.hold(conversation)
		p.fromOutside(conversation)
	}
	p.breakThings(o.allowed())
	slices.SortStableFunc(p.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	for i := range p.Events {
		p.Events[i].ID = i + 1
		if p.Events[i].When == 0 {
			p.Events[i].When = p.Events[i].At + time.Millisecond
		}
	}
	drawn := len(p.Events) // these come last, so that the rest of a plan is the same without them
	for conversation := range p.conversations {
		p.giveNames(conversation)
	}
	for conversation := range p.conversations {
		p.mentions(conversation)
	}
	for conversation := range p.conversations {
		p.otherBots(conversation)
	}
	for conversation := range p.conversations {
		p.sayWords(conversation)
		p.freeNames(conversation)
	}
	for i := range p.Events[drawn:] {
		p.Events[drawn+i].ID = drawn + i + 1
	}
	slices.SortStableFunc(p.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	p.end = p.traffic + time.Second
	if count := len(p.Events); count > 0 {
		p.end = max(p.end, p.Events[count-1].At+time.Second)
	}
	return p
}

func (p *Plan) add(e Event) { p.Events = append(p.Events, e) }

// with is the same plan with other events.
func (p *Plan) with(events []Event) *Plan {
	other := *p
	other.Events = events
	return &other
}

// String is one line.
func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8.3fs  %s", e.At.Seconds(), e.What)
	if e.Message != "" {
		fmt.Fprintf(&b, " %s", e.Message)
	}
	if kind, ok := faultKinds[e.What]; ok {
		fmt.Fprintf(&b, " (%s)", kind.text)
		if kind.ofNode {
			fmt.Fprintf(&b, " at node%d", e.Node+1)
		}
	} else {
		fmt.Fprintf(&b, " to node%d", e.Node+1)
	}
	if e.Name != "" {
		fmt.Fprintf(&b, " under %s", e.Name)
	}
	if e.For > 0 {
		fmt.Fprintf(&b, " for %v", e.For)
	}
	if e.Aim != "" {
		fmt.Fprintf(&b, ", aimed at the next %s %+d ms", e.Aim, e.Offset)
	}
	return b.String()
}

// String is the plan, a line an event, after a line of conditions.
func (p *Plan) String() string {
	var b strings.Builder
	y := p.policy
	fmt.Fprintf(&b, "seed %d: %d nodes, debounce %v, max_wait %v, %s, max_discards %d, lease %v, attempts %d, resend %v, parts %d\n",
		p.Seed, p.nodes, y.Debounce, y.MaxWait, y.OnNewInput, y.MaxDiscards, y.Lease, y.MaxAttempts, y.ResendUnknown, p.parts)
	for _, e := range p.Events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}
