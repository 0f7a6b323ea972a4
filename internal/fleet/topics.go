package fleet

import (
	"time"

	"github.com/onereply/onereply/internal/engine"
)

// Topic is what somebody watches; empty fields mean all.
type Topic struct {
	Bot          string `json:"bot,omitempty"`
	Conversation string `json:"conversation,omitempty"`
}

// matches reports whether the event belongs to the topic.
func (t Topic) matches(e *engine.Event) bool {
	return (t.Bot == "" || t.Bot == e.Key.Bot) && (t.Conversation == "" || t.Conversation == e.Key.Conversation)
}

// Limits of the topics that a node tells of. Beyond them it asks for all events.
const (
	maxTopics     = 32
	maxTopicBytes = 4096
)

// topicLingers is how long a topic outlives its last watcher: a reader that lost its
// connection resumes without a gap.
const topicLingers = 30 * time.Second

// topics counts the watchers of each topic. The broker's lock guards it.
type topics map[Topic]*watched

// watched is a topic that somebody watches, or did a moment ago.
type watched struct {
	watchers int
	until    time.Time // without watchers: when it is forgotten
}

// join adds a watcher, and reports whether the topic is a new one.
func (ts topics) join(t Topic) bool {
	w := ts[t]
	fresh := w == nil
	if fresh {
		w = &watched{}
		ts[t] = w
	}
	w.watchers++
	return fresh
}

// leave takes a watcher from a topic, which lingers without any.
func (ts topics) leave(t Topic) {
	w := ts[t]
	if w.watchers--; w.watchers == 0 {
		w.until = time.Now().Add(topicLingers)
	}
}

// current forgets topics that lingered long enough, and lists the rest. It runs with each
// report, so a topic may outlive its time by the 5 s between two.
func (ts topics) current() []Topic {
	all := []Topic{} // not null, as JSON
	now := time.Now()
	for t, w := range ts {
		if w.watchers == 0 && !now.Before(w.until) {
			delete(ts, t)
			continue
		}
		all = append(all, t)
	}
	return bounded(all)
}

// bounded is the topics, or the one that matches everything where they exceed the
// limits. Too many events cost traffic; a topic that was cut would cost a watcher all of
// its events.
func bounded(all []Topic) []Topic {
	size := 0
	for _, t := range all {
		size += len(t.Bot) + len(t.Conversation)
	}
	if len(all) > maxTopics || size > maxTopicBytes {
		return []Topic{{}}
	}
	return all
}

// match reports whether any topic matches. It looks up the four that can, since there
// may be many watchers.
func (ts topics) match(e *engine.Event) bool {
	bot, conversation := e.Key.Bot, e.Key.Conversation
	for _, t := range [...]Topic{{}, {Bot: bot}, {Bot: bot, Conversation: conversation}, {Conversation: conversation}} {
		if ts[t] != nil {
			return true
		}
	}
	return false
}
