package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// seedStore writes what a broken program could have left behind: a lease that
// somebody took in this instant.
func (w *world) seedStore(e Event) {
	conversation, ok := strings.CutPrefix(e.Key, "lease:")
	var lease struct {
		Owner   string
		Expires *int64 // milliseconds from now
	}
	if err := json.Unmarshal(e.Value, &lease); err != nil || !ok {
		w.problem("store_seed: can't read %q: %v", e.Key, err)
		return
	}
	now := turn.At(time.Now())
	record := turn.Record{
		Schema: turn.Schema,
		Phase:  turn.Generating,
		Turn:   1,
		Token:  1,
		Window: turn.Window{WaitingSince: now, Start: now},
		Lease:  turn.Lease{Holder: lease.Owner, Nonce: lease.Owner, Token: 1},
	}
	if lease.Expires != nil {
		record.Lease.Expires = now.Add(time.Duration(*lease.Expires) * time.Millisecond)
	}
	write := store.Write{Key: store.Key{Bot: botName, Conversation: conversation}, Op: store.Op{1}, Record: record}
	write.Timer, _ = record.Wake()
	if _, err := w.kept().Commit(context.Background(), write); err != nil {
		w.problem("store_seed: %v", err)
	}
}

// seedClients is how many people write at once.
const seedClients = 16

// seedConversations has many people write, to all workers in turn.
func (w *world) seedConversations(e Event) {
	var people sync.WaitGroup
	for client := range seedClients {
		people.Go(func() {
			for i := client; i < e.Count; i += seedClients {
				for j := range max(e.MessagesEach, 1) {
					w.receive(seed(i, j), w.names()[i%w.stage.Nodes], e)
				}
			}
		})
	}
	people.Wait()
}

func seed(conversation, message int) Message {
	text := "hello"
	return Message{ID: fmt.Sprintf("s%d-%d", conversation, message), Conv: fmt.Sprintf("seed-%d", conversation), Text: &text}
}

// overdue plays what happened before the story: a worker took messages, and
// died before it could answer them.
func (w *world) overdue(conversations int) {
	w.start(firstWorker)
	for i := range conversations {
		w.receive(seed(i, 0), firstWorker, Event{Type: "seed_overdue"})
	}
	if n := w.up(firstWorker); n != nil {
		w.crash(n)
	}
}

// measure counts what the nodes still have in memory for idle conversations.
func (w *world) measure(e Event) {
	for _, name := range w.names() {
		if n := w.up(name); n != nil {
			waiting := n.app.Stats().Waiting
			w.mu.Lock()
			w.measured = append(w.measured, waiting)
			w.mu.Unlock()
		}
	}
}
