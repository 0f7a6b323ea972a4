package onereply

import "time"

// topic is what somebody watches; empty fields mean all.
type topic struct {
	Bot          string `json:"bot,omitempty"`
	Conversation string `json:"conversation,omitempty"`
}

func (t topic) matches(e *Event) bool {
	return (t.Bot == "" || t.Bot == e.Bot) && (t.Conversation == "" || t.Conversation == e.Conversation)
}

// Limits of what a node says that it watches. Beyond them it watches all.
const (
	maxTopics     = 32
	maxTopicBytes = 4096
)

// topicLingers is how long a topic outlives the last who watched it: a reader that
// lost its connection resumes without a gap.
const topicLingers = 30 * time.Second

// topics counts who watches what. It is guarded by the broker's lock.
type topics map[topic]*watched

type watched struct {
	by    int
	until time.Time // where nobody is left
}

func (w EventQuery) topic() topic { return topic{Bot: w.Bot, Conversation: w.Conversation} }

// join reports whether the topic is a new one.
func (ts topics) join(t topic) bool {
	w := ts[t]
	fresh := w == nil
	if fresh {
		w = &watched{}
		ts[t] = w
	}
	w.by++
	return fresh
}

func (ts topics) leave(t topic) {
	w := ts[t]
	if w.by--; w.by == 0 {
		w.until = time.Now().Add(topicLingers)
	}
}

// current forgets what nobody watches any more, and lists the rest.
func (ts topics) current() []topic {
	all := []topic{} // not null, as JSON
	now := time.Now()
	for t, w := range ts {
		if w.by == 0 && !now.Before(w.until) {
			delete(ts, t)
			continue
		}
		all = append(all, t)
	}
	if len(all) > maxTopics || bytesOf(all) > maxTopicBytes {
		return []topic{{}}
	}
	return all
}

func bytesOf(all []topic) (bytes int) {
	for _, t := range all {
		bytes += len(t.Bot) + len(t.Conversation)
	}
	return bytes
}

func (ts topics) match(e *Event) bool {
	for _, t := range [...]topic{{}, {Bot: e.Bot}, {Bot: e.Bot, Conversation: e.Conversation}, {Conversation: e.Conversation}} {
		if ts[t] != nil {
			return true
		}
	}
	return false
}
