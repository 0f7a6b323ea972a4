package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// check compares what was seen with what the story expects. Times are exact.
func (x Expect) check(l *Ledger) []string {
	problems := slices.Concat(
		x.checkReplies(l), x.checkTimes(l), x.checkModel(l), x.checkPrompts(l),
		x.checkSends(l), x.checkStates(l), x.checkHTTP(l),
	)
	return append(problems, x.checkAnyOf(l)...)
}

// checkAnyOf wants one of several endings.
func (x Expect) checkAnyOf(l *Ledger) []string {
	var all []string
	for i, one := range x.AnyOf {
		problems := one.check(l)
		if len(problems) == 0 {
			return nil
		}
		for _, p := range problems {
			all = append(all, fmt.Sprintf("ending %d: %s", i+1, p))
		}
	}
	return all
}

// complaints collects what is wrong.
type complaints []string

func (c *complaints) wrong(bad bool, format string, args ...any) {
	if bad {
		*c = append(*c, fmt.Sprintf(format, args...))
	}
}

// atMost compares a number with its bound, where there is one.
func (c *complaints) atMost(what string, got int, bound *int) {
	if bound != nil {
		c.wrong(got > *bound, "%s: %d, more than %d", what, got, *bound)
	}
}

func (x Expect) checkReplies(l *Ledger) (c complaints) {
	replies := l.byBot()
	var covers [][]string
	perConversation := map[string]int{}
	for _, r := range replies {
		covers = append(covers, r.Covers)
		perConversation[r.Conversation]++
	}
	if x.Replies != nil {
		c.wrong(len(replies) != *x.Replies, "replies: %d, not %d; they cover %v", len(replies), *x.Replies, few(covers))
	}
	if x.RepliesMin != nil {
		c.wrong(len(replies) < *x.RepliesMin, "replies: %d, fewer than %d", len(replies), *x.RepliesMin)
	}
	c.atMost("replies", len(replies), x.RepliesMax)
	if x.Covers != nil {
		c.wrong(!slices.EqualFunc(covers, *x.Covers, sameSet), "covers: %v, not %v", few(covers), *x.Covers)
	}
	if x.AllCovered {
		c = append(c, l.uncovered()...)
	}
	for conversation, want := range x.PerConversation {
		got := perConversation[conversation]
		c.wrong(got != want, "replies in %s: %d, not %d", conversation, got, want)
	}
	return c
}

// few keeps what is printed readable.
func few(covers [][]string) [][]string { return covers[:min(len(covers), 10)] }

// uncovered are the stored messages that no reply covers.
func (l *Ledger) uncovered() (c complaints) {
	covered := map[string]bool{}
	for _, r := range l.replies(anyReply) {
		for _, label := range r.Covers {
			covered[label] = true
		}
	}
	for label := range l.stored() {
		c.wrong(!covered[label], "message %s is in no reply", label)
	}
	return c
}

func (x Expect) checkTimes(l *Ledger) (c complaints) {
	replies := l.byBot()
	if len(replies) == 0 {
		late := x.FirstReplyByMS != nil || x.ReplyByMS != nil
		c.wrong(late && (x.Replies == nil || *x.Replies > 0), "no reply came at all")
		return c
	}
	first, last := replies[0].At, replies[len(replies)-1].At
	if x.NoReplyBeforeMS != nil {
		c.wrong(first < milliseconds(*x.NoReplyBeforeMS), "a reply came at %v, before %v", first, milliseconds(*x.NoReplyBeforeMS))
	}
	by := func(what string, at time.Duration, bound *int) {
		if bound != nil {
			c.wrong(at > milliseconds(*bound), "the %s reply came at %v, after %v", what, at, milliseconds(*bound))
		}
	}
	by("first", first, x.FirstReplyByMS)
	by("last", last, x.ReplyByMS)
	return c
}

func (x Expect) checkModel(l *Ledger) (c complaints) {
	c.atMost("model calls", len(l.Calls), x.ModelCallsMax)
	c.atMost("model calls at once", l.peak("", false), x.MaxConcurrentModelCalls)
	c.atMost("model calls at once, but for frozen nodes", l.peak("", true), x.MaxConcurrentModelCallsExcludingPaused)
	for tool, bound := range x.ToolRunsMax {
		c.atMost("runs of the tool "+tool, l.Tools[tool], &bound)
		c.wrong(l.Tools[tool] == 0, "the tool %s never ran", tool)
	}
	return c
}

func (x Expect) checkPrompts(l *Ledger) (c complaints) {
	spoken := l.spoken()
	switch x.RequestRoles {
	case "":
	case "alternate":
		for _, call := range l.Calls {
			c.wrong(!alternate(call.Roles), "call %d: the roles are %v", call.Number, call.Roles)
		}
	default:
		c.wrong(true, "unknown request_roles %q", x.RequestRoles)
	}
	for _, call := range spoken {
		order := slices.Compact(slices.Clone(call.Labels))
		c.wrong(x.PromptOrder != nil && !slices.Equal(order, x.PromptOrder), "call %d: the order is %v, not %v", call.Number, order, x.PromptOrder)
		for _, secret := range x.PromptExcludes {
			c.wrong(strings.Contains(call.Prompt, secret), "call %d: the prompt holds %q", call.Number, secret)
		}
		for _, wanted := range x.PromptIncludes {
			c.wrong(!strings.Contains(call.Prompt, wanted), "call %d: the prompt does not hold %q: %q", call.Number, wanted, call.Prompt)
		}
		for label, author := range x.PromptAuthors {
			c.wrong(!strings.Contains("\n"+call.Prompt, "\n"+author+": "+mark(label)), "call %d: %s is not by %s in %q", call.Number, label, author, call.Prompt)
		}
	}
	c.wrong(len(spoken) == 0 && (x.PromptOrder != nil || x.PromptAuthors != nil || x.PromptIncludes != nil || x.PromptContext != nil || x.LastRequestHas != nil || x.LastRequestLacks != nil), "no call of the model was answered and shown")
	if len(spoken) > 0 {
		c = append(c, x.checkLastPrompt(spoken[len(spoken)-1])...)
	}
	if x.HistoryHasOnlyDelivered {
		c = append(c, l.undeliveredHistory()...)
	}
	return c
}

// checkLastPrompt is for the last call whose answer was shown.
func (x Expect) checkLastPrompt(call *Call) (c complaints) {
	if x.PromptContext != nil {
		c.wrong(!slices.Equal(call.Context, *x.PromptContext), "call %d: at the head stand %v, not %v", call.Number, call.Context, *x.PromptContext)
	}
	for _, text := range x.LastRequestHas {
		c.wrong(!strings.Contains(call.Request, text), "call %d: %q is not in the request %q", call.Number, text, call.Request)
	}
	for _, text := range x.LastRequestLacks {
		c.wrong(strings.Contains(call.Request, text), "call %d: %q is in the request %q", call.Number, text, call.Request)
	}
	return c
}

// alternate reports whether the roles take turns, and the person is last.
func alternate(roles []string) bool {
	for i, role := range roles {
		want := "user"
		if (len(roles)-1-i)%2 == 1 {
			want = "assistant"
		}
		if role != want {
			return false
		}
	}
	return len(roles) > 0
}

// undeliveredHistory are texts that a prompt takes for said, although nobody
// had seen them then.
func (l *Ledger) undeliveredHistory() (c complaints) {
	for _, call := range l.Calls {
		for _, said := range call.Said {
			for _, found := range numbered.FindAllString(said, -1) {
				shown := slices.ContainsFunc(l.Posts, func(p Post) bool {
					return p.Shown && p.At <= call.Start && strings.Contains(p.Text, found)
				})
				c.wrong(!shown, "call %d takes answer %s for said, but nobody had seen it", call.Number, found)
			}
		}
	}
	return c
}

func (x Expect) checkSends(l *Ledger) (c complaints) {
	shown := 0
	var texts []string
	byNode, tries := map[string]int{}, map[string]int{}
	for _, p := range l.Posts {
		byNode[p.Node]++
		tries[p.Conversation]++
		if p.Shown {
			shown++
			texts = append(texts, p.Text)
		}
	}
	if x.VisibleMessages != nil {
		c.wrong(shown != *x.VisibleMessages, "messages that the person sees: %d, not %d", shown, *x.VisibleMessages)
	}
	c.atMost("messages that the person sees", shown, x.VisibleMessagesMax)
	if x.Signals != nil {
		var signals []string
		for i, s := range l.Signals {
			line := s.Conversation + ": " + s.Kind
			if s.Text != "" {
				line += ": " + s.Text
			}
			if i < len(*x.Signals) && strings.Contains((*x.Signals)[i], " ms ") {
				line = fmt.Sprintf("%d ms %s", s.At.Milliseconds(), line)
			}
			signals = append(signals, line)
		}
		c.wrong(!slices.Equal(signals, *x.Signals), "the receiver was told %q, not %q", signals, *x.Signals)
	}
	if x.Addresses != nil {
		addresses := l.addresses()
		c.wrong(!slices.Equal(addresses, *x.Addresses), "the requests of the receiver were for %q, not %q", addresses, *x.Addresses)
	}
	if x.LateInput != nil {
		c.wrong(!slices.Equal(l.late(), *x.LateInput), "newer input existed for the replies %q, not %q", l.late(), *x.LateInput)
	}
	if x.VisibleTexts != nil {
		c.wrong(!slices.Equal(texts, *x.VisibleTexts), "the person sees %q, not %q", texts, *x.VisibleTexts)
	}
	if x.VisibleAtMS != nil {
		at := l.shownAt()
		early := func(got, want int) bool { return want <= got && got <= want+100 }
		c.wrong(!slices.EqualFunc(at, *x.VisibleAtMS, early), "the person sees something at %v ms, not at %v", at, *x.VisibleAtMS)
	}
	for node, want := range x.SendsBy {
		c.wrong(byNode[node] != want, "sends by %s: %d, not %d", node, byNode[node], want)
	}
	for conversation, bound := range x.SendAttemptsMax {
		c.atMost("sends in "+conversation, tries[conversation], &bound)
	}
	if x.VisiblePartsOfFirst != nil {
		replies := l.byBot()
		c.wrong(len(replies) == 0 || !slices.Equal(replies[0].Parts, x.VisiblePartsOfFirst), "parts of the first reply: %v, not %v", replies, x.VisiblePartsOfFirst)
	}
	if x.SSEEvents != nil {
		c.wrong(!slices.Equal(l.Stream, x.SSEEvents), "the page saw %v, not %v", l.Stream, x.SSEEvents)
	}
	return c
}

// addresses are the names to which the requests of the receiver were to go, in order.
func (l *Ledger) addresses() []string {
	type request struct {
		at      time.Duration
		address string
	}
	var requests []request
	for _, p := range l.Posts {
		requests = append(requests, request{p.At, p.Address})
	}
	for _, s := range l.Signals {
		requests = append(requests, request{s.At, s.Address})
	}
	slices.SortStableFunc(requests, func(a, b request) int { return cmp.Compare(a.at, b.at) })
	addresses := []string{}
	for _, r := range requests {
		addresses = append(addresses, r.address)
	}
	return addresses
}

// late are the replies of which the receiver was told that newer input existed.
func (l *Ledger) late() []string {
	replies := []string{}
	for _, p := range l.Posts {
		if p.Late && !slices.Contains(replies, p.Reply) {
			replies = append(replies, p.Reply)
		}
	}
	return replies
}

// shownAt is when the person sees each message, in milliseconds.
func (l *Ledger) shownAt() (at []int) {
	for _, p := range l.Posts {
		if p.Shown {
			at = append(at, int(p.At.Milliseconds()))
		}
	}
	return at
}

func (x Expect) checkStates(l *Ledger) (c complaints) {
	if x.PendingCopiesMax != nil {
		for label, copies := range l.copies() {
			c.atMost("copies of "+label, copies, x.PendingCopiesMax)
		}
	}
	if x.DeadLetters != nil {
		dead := l.messagesWith("failed")
		c.wrong(!sameSet(dead, x.DeadLetters), "set aside: %v, not %v", dead, x.DeadLetters)
	}
	statuses := l.statuses()
	for id, want := range x.Statuses {
		c.wrong(statuses[id] != want, "%s is %q in the transcript, not %q", id, statuses[id], want)
	}
	transcript := l.transcript()
	for _, text := range x.TranscriptHas {
		c.wrong(!strings.Contains(transcript, text), "%q is not in the transcript %s", text, transcript)
	}
	for _, text := range x.TranscriptLacks {
		c.wrong(strings.Contains(transcript, text), "%q is in the transcript %s", text, transcript)
	}
	if x.TurnEnds != nil {
		c.wrong(!maps.Equal(l.turnEnds(), x.TurnEnds), "the turns ended so: %v, not %v", l.turnEnds(), x.TurnEnds)
	}
	for id, want := range x.Receipts {
		c.wrong(l.receipts()[id] != want, "the receipt of %s is %q, not %q", id, l.receipts()[id], want)
	}
	if x.InMemoryEntriesMax != nil {
		c.wrong(len(l.Measured) == 0, "nothing was measured")
		for _, count := range l.Measured {
			c.atMost("idle conversations in memory", count, x.InMemoryEntriesMax)
		}
	}
	return c
}

// turnEnds are the turns that have ended, by their replies' ids, and how.
func (l *Ledger) turnEnds() map[string]string {
	ends := map[string]string{}
	for _, conversation := range l.Conversations {
		for _, t := range conversation.Turns {
			for _, step := range t.Steps {
				if step.Type == turnEnded {
					ends[conversation.turn(t)] = step.Reason
				}
			}
		}
	}
	return ends
}

// copies is how often each message is stored.
func (l *Ledger) copies() map[string]int {
	copies := map[string]int{}
	for _, conversation := range l.Conversations {
		for _, e := range conversation.Entries {
			if e.Kind == "message" {
				copies[e.ID]++
			}
		}
	}
	return copies
}

// statuses are those of all transcript entries.
func (l *Ledger) statuses() map[string]string {
	statuses := map[string]string{}
	for _, conversation := range l.Conversations {
		for _, e := range conversation.Entries {
			statuses[e.ID] = e.Status
		}
	}
	return statuses
}

// transcript is all entries as the API gives them, one a line.
func (l *Ledger) transcript() string {
	var lines []string
	for _, conversation := range l.Conversations {
		for _, e := range conversation.Entries {
			lines = append(lines, e.raw)
		}
	}
	return strings.Join(lines, "\n")
}

// receipts are those of all replies.
func (l *Ledger) receipts() map[string]string {
	receipts := map[string]string{}
	for _, conversation := range l.Conversations {
		for _, e := range conversation.Entries {
			receipts[e.ID] = e.Receipt
		}
	}
	return receipts
}

// messagesWith are the messages with a status.
func (l *Ledger) messagesWith(status string) []string {
	var labels []string
	for _, conversation := range l.Conversations {
		for _, e := range conversation.Entries {
			if e.Kind == "message" && e.Status == status {
				labels = append(labels, e.ID)
			}
		}
	}
	return labels
}

// outcomes are what the API said last to each event.
func (l *Ledger) outcomes() map[string]string {
	outcomes := map[string]string{}
	for _, a := range l.Answers {
		outcome := a.Outcome
		if a.Reason != "" {
			outcome += ": " + a.Reason
		}
		outcomes[a.Event+" "+a.About] = outcome
	}
	return outcomes
}

func (x Expect) checkHTTP(l *Ledger) (c complaints) {
	outcomes := l.outcomes()
	for event, want := range x.Outcomes {
		c.wrong(outcomes[event] != want, "the outcome of %s is %q, not %q", event, outcomes[event], want)
	}
	if x.HTTPOfM2 == nil {
		return c
	}
	asked := false
	for _, a := range l.Answers {
		if a.Label == "m2" {
			asked = true
			c.wrong(!answers(a.Status, *x.HTTPOfM2), "m2 was answered %d, not %d", a.Status, *x.HTTPOfM2)
		}
	}
	c.wrong(!asked, "m2 was never sent")
	return c
}

// answers reports whether a status is what the story names: 200 stands for any
// success, and a worker that takes no connections any more refuses with 503.
func answers(got, want int) bool {
	switch want {
	case 200:
		return got/100 == 2
	case 503:
		return got == 503 || got == 0
	}
	return got == want
}
