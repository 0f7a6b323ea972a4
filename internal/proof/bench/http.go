package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/server"
)

// connections is how many clients the HTTP load has.
const connections = 64

// overHTTP measures acknowledgements over HTTP, with two clients: Go's own, as
// people's programs are, and one that takes so little that it is the server alone
// that counts.
func overHTTP(ctx context.Context, b *bench, t *tally) error {
	for _, client := range []struct {
		group string
		dial  func(address string) (poster, error)
	}{
		{"64 connections of net/http", dialUsual},
		{"64 connections of bare bytes", dialBare},
	} {
		bare, err := b.posted(http.HandlerFunc(answerOnly), client.dial)
		if err != nil {
			return err
		}
		n, err := b.activeNode(ctx)
		if err != nil {
			return err
		}
		ours, err := b.posted(server.New(n.App, server.Options{LoopbackOnly: true}), client.dial)
		if err := errors.Join(err, n.close()); err != nil {
			return err
		}
		t.compare(client.group, "acknowledged", "/s", ours.rate, bare.rate)
		t.compare(client.group, "processor time of each", "µs", ours.cost, bare.cost)
		theirs, limit := ours.took.milliseconds(0.5, 0.99), bare.took.milliseconds(0.5, 0.99)
		t.compare(client.group, "p50", "ms", theirs[0], limit[0])
		t.compare(client.group, "p99", "ms", theirs[1], limit[1])
	}
	return nil
}

// answerOnly is the limit: it decodes, answers 202 and stores nothing.
func answerOnly(w http.ResponseWriter, r *http.Request) {
	var message struct {
		ID     string          `json:"id"`
		Text   string          `json:"text"`
		Sender onereply.Person `json:"sender"`
		SentAt onereply.Time   `json:"sent_at"`
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
func (b *bench) posted(handler http.Handler, dial func(string) (poster, error)) (pace, error) {
	address, stop, err := listen(handler)
	if err != nil {
		return pace{}, err
	}
	found, err := b.postTo(address, dial)
	return found, errors.Join(err, stop())
}

func (b *bench) postTo(address string, dial func(string) (poster, error)) (pace, error) {
	var clients []poster
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
