package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/server"
)

// connections is how many clients the HTTP load has.
const connections = 64

// overHTTP measures acknowledgements over HTTP.
func overHTTP(ctx context.Context, b *bench, t *tally) error {
	bare, err := b.posted(http.HandlerFunc(answerOnly))
	if err != nil {
		return err
	}
	n, err := b.activeNode(ctx)
	if err != nil {
		return err
	}
	ours, err := b.posted(server.New(n.App, server.Options{LoopbackOnly: true}))
	if err := errors.Join(err, n.close()); err != nil {
		return err
	}
	const group = "64 connections"
	t.compare(group, "acknowledged", "/s", ours.rate, bare.rate)
	t.compare(group, "processor time of each", "µs", ours.cost, bare.cost)
	theirs, limit := ours.took.milliseconds(0.5, 0.99), bare.took.milliseconds(0.5, 0.99)
	t.compare(group, "p50", "ms", theirs[0], limit[0])
	t.compare(group, "p99", "ms", theirs[1], limit[1])
	return nil
}

// answerOnly is the limit: it decodes, answers 202 and stores nothing.
func answerOnly(w http.ResponseWriter, r *http.Request) {
	var message struct {
		ID     string          `json:"id"`
		Text   string          `json:"text"`
		Sender onereply.Person `json:"sender"`
		SentAt time.Time       `json:"sent_at"`
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	// An error means that the client is gone: nobody is left to tell.
	_ = json.NewEncoder(w).Encode(onereply.Receipt{MessageID: message.ID, Version: 1, DueAt: message.SentAt, Outcome: onereply.OutcomeQueued})
}

// posted puts messages on a handler, from all connections at once.
func (b *bench) posted(handler http.Handler) (pace, error) {
	address, stop, err := listen(handler)
	if err != nil {
		return pace{}, err
	}
	found, err := b.postTo(address)
	return found, errors.Join(err, stop())
}

func (b *bench) postTo(address string) (pace, error) {
	var clients []*connection
	defer func() {
		for _, c := range clients {
			_ = c.close() // its answers were read
		}
	}()
	for range connections {
		c, err := dial(address)
		if err != nil {
			return pace{}, err
		}
		clients = append(clients, c)
	}
	return b.pace(connections, func(writer, i int) error {
		return clients[writer].post(conversationOf(connections, writer, i), fmt.Sprintf("m-%d-%d", writer, i))
	})
}
