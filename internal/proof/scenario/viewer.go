package scenario

import (
	"encoding/json"
	"net/http"

	"github.com/onereply/onereply/internal/sse"
)

// attend watches a node's event stream, as a page does that shows replies
// while they are written. It ends with the node.
func (w *world) attend(n *node) {
	request, err := http.NewRequest(http.MethodGet, "http://"+n.name+"/v1/events", nil)
	if err != nil {
		w.problem("%v", err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+apiKey)
	response, err := w.people.Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		w.problem("the events of %s can't be watched: %v", n.name, err)
		return
	}
	w.background.Go(func() {
		defer response.Body.Close()
		v := viewer{world: w, node: n.name, drafts: map[string]string{}}
		events := sse.NewReader(response.Body, 1<<20)
		for {
			e, err := events.Next()
			if err != nil {
				return // the node is gone
			}
			v.see(e)
		}
	})
}

// viewer is what one page shows.
type viewer struct {
	world  *world
	node   string
	drafts map[string]string // by reply id
}

func (v *viewer) see(e sse.Event) {
	var event struct {
		Conversation string   `json:"conversation"`
		ReplyID      string   `json:"reply_id"`
		Text         string   `json:"text"`
		Covers       []string `json:"covers"`
		Late         bool     `json:"late_input"`
	}
	if err := json.Unmarshal([]byte(e.Data), &event); err != nil {
		v.world.problem("an event is no JSON: %v", err)
		return
	}
	switch e.Type {
	case "reply.delta":
		v.drafts[event.ReplyID] += event.Text
	case "reply.discarded":
		clear(v.drafts)
		v.saw("superseded")
	case "reply.sent":
		if draft := v.drafts[event.ReplyID]; draft != event.Text {
			v.world.problem("the page shows %q while the reply is %q", draft, event.Text)
		}
		v.saw("final")
		v.world.receiver.record(Post{
			At: v.world.now(), Node: v.node, Conversation: event.Conversation, Reply: event.ReplyID, Part: 1, Of: 1,
			Text: event.Text, Covers: v.world.labels(event.Conversation, event.Covers), Late: event.Late, Shown: true,
		})
	}
}

func (v *viewer) saw(what string) {
	v.world.mu.Lock()
	defer v.world.mu.Unlock()
	v.world.stream = append(v.world.stream, what)
}
