package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/responder/webhook"
)

func Example() {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var turn struct {
			Messages []struct{ Text string } `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&turn); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"text": fmt.Sprintf("I read %d messages.", len(turn.Messages))})
	}))
	defer agent.Close()

	responder, err := webhook.New(webhook.Config{URL: agent.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := responder.Respond(context.Background(), &onereply.Turn{
		Bot: "support", Conversation: "c1", Number: 1, Attempt: 1,
		Messages: []onereply.PromptEntry{{ID: "m1", Text: "hi"}, {ID: "m2", Text: "anybody there?"}},
	})
	fmt.Println(reply.Text, err)
	// Output: I read 2 messages. <nil>
}
