package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/responder/anthropic"
)

func Example() {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Hello!"}}`+"\n\n"+`data: {"type":"message_stop"}`+"\n\n")
	}))
	defer model.Close()

	responder, err := anthropic.New(anthropic.Config{BaseURL: model.URL, Model: "small", System: "Be brief."})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := responder.Respond(context.Background(), &onereply.Turn{
		Bot: "support", Conversation: "c1", Number: 1, Attempt: 1,
		Messages: []onereply.PromptEntry{{ID: "m1", Text: "hi"}, {ID: "m2", Text: "anybody there?"}},
	})
	fmt.Println(reply.Text, err)
	// Output: Hello! <nil>
}
