package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// watching is what a stream of a node's events showed.
type watching struct {
	mu     sync.Mutex
	events []watchedEvent
}

type watchedEvent struct {
	kind                          string
	Node, Conversation, Text      string
	Turn, Token, Version, Through int64
	ReplyID                       string `json:"reply_id"`
	MessageID                     string `json:"message_id"`
}

// watch follows a node's events until the test ends.
func watch(t *testing.T, c *caller, base string) *watching {
	w := &watching{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.follow(ctx, base, func(kind, data string) {
			e := watchedEvent{kind: kind}
			if json.Unmarshal([]byte(data), &e) != nil {
				return // a comment, or no event
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return w
}

// of is the events of a conversation; deltas that follow each other are one.
func (w *watching) of(conversation string) (got []watchedEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Conversation != conversation {
			continue
		}
		if last := len(got) - 1; e.kind == "reply.delta" && last >= 0 && got[last].kind == e.kind {
			got[last].Text += e.Text
			continue
		}
		got = append(got, e)
	}
	return got
}

func (w *watching) has(conversation, kind string) bool {
	return slices.ContainsFunc(w.of(conversation), func(e watchedEvent) bool { return e.kind == kind })
}

// TestEventsOfAnotherNode: who watches one node sees the turns that run on another,
// with what the model writes; and the list is the same from any node.
func TestEventsOfAnotherNode(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, e engine) {
		c := newTeam(t, e, 3, 5*time.Second)
		c.model.calm.Store(true)
		here, there := c.members[0], c.members[1]
		near, far := watch(t, c.caller, here.url), watch(t, c.caller, there.url)

		tries := 0
		eventually(t, "the other node's stream shows something of this one", func() bool {
			tries++
			conversation := fmt.Sprint("try", tries)
			c.caller.mustSay(t, here.url, "support", conversation, "m1", "[m1] hello")
			return within(time.Second, func() bool {
				return far.has(conversation, "message.accepted") && near.has(conversation, "message.accepted")
			})
		})

		for i := range 5 {
			conversation := fmt.Sprint("c", i)
			began := time.Now()
			c.caller.mustSay(t, here.url, "support", conversation, "m1", "[m1] hello")
			c.caller.mustSay(t, here.url, "support", conversation, "m2", "[m2] and more")
			eventually(t, "both streams show the end of the turn", func() bool {
				return near.has(conversation, "turn.ended") && far.has(conversation, "turn.ended")
			})
			t.Logf("the turn was over after %v", time.Since(began).Round(time.Millisecond))
			want, got := near.of(conversation), far.of(conversation)
			if !slices.Equal(got, want) {
				t.Errorf("%s: the other node shows\n%+v\nwant\n%+v", conversation, got, want)
			}
			text := ""
			for _, e := range got {
				if e.kind == "reply.delta" {
					text = e.Text
				}
				if e.Node == "" {
					t.Errorf("%s of no node", e.kind)
				}
			}
			calls := c.model.of("support", conversation) // more than one where the second message came late
			last := calls[len(calls)-1]                  // where the first node was slow, another one took the turn
			if text == "" || text != answerOf(&last) {
				t.Errorf("%s: instance %s wrote %q, the other node showed %q", conversation, last.instance, answerOf(&last), text)
			}
		}
		c.sameList(t)
	})
}

// sameList compares what the nodes list once everything is at rest.
func (c *team) sameList(t *testing.T) {
	t.Helper()
	for i := range 5 {
		c.caller.rests(t, c.members[0].url, "support", fmt.Sprint("c", i))
	}
	var want string
	for i, m := range c.members {
		got := c.caller.do(http.MethodGet, m.url+"/v1/bots/support/conversations?limit=1000", "")
		if got.status != http.StatusOK || i > 0 && string(got.body) != want {
			t.Errorf("node %d lists %v\nwant %s", i+1, got, want)
		}
		want = string(got.body)
	}
}
