package server

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/memory"
)

// TestWithARealApp goes once through everything: a message in, its events and
// its reply out.
func TestWithARealApp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		echo := onereply.ResponderFunc(func(_ context.Context, turn *onereply.Turn) (onereply.Reply, error) {
			return onereply.Reply{Text: "you said " + turn.Text()}, nil
		})
		app, err := onereply.Open(t.Context(), memory.New(), onereply.Options{Logger: slog.New(slog.DiscardHandler)},
			onereply.Bot{Name: "support", Responder: echo})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		s := New(app, Options{})
		ask(t, s, "GET", here, "").wantProblem(t, kindNotFound, "conversation")
		ask(t, s, "POST", here+"/messages", `{"text":" "}`).wantProblem(t, kindInvalid, "text")

		watcher := serveInMemory(t, s).dial(t)
		watcher.send(t, "GET /v1/events", "", "")
		stream := watcher.receive(t)
		readUntil(t, stream.Body, "\n\n")
		if got := ask(t, s, "POST", here+"/messages", `{"id":"m1","text":"hi"}`); got.status != http.StatusAccepted {
			t.Fatalf("status %d\n%s", got.status, got.body)
		}
		readUntil(t, stream.Body, "event: reply.sent\n")
		_ = watcher.Close()

		entries := ask(t, s, "GET", here+"/transcript", "").json(t)["entries"].([]any)
		if reply := entries[len(entries)-1].(map[string]any); len(entries) != 2 || reply["text"] != "you said hi" || reply["status"] != "sent" {
			t.Errorf("transcript = %v", entries)
		}
		if got := ask(t, s, "GET", here, "").json(t); got["phase"] != "idle" || got["answered"] != 1.0 {
			t.Errorf("state = %v", got)
		}
		if list := ask(t, s, "GET", "/v1/bots/support/conversations", "").json(t)["conversations"].([]any); len(list) != 1 {
			t.Errorf("list = %v", list)
		}
		if got := ask(t, s, "DELETE", here, ""); got.status != http.StatusNoContent {
			t.Errorf("deletion: status %d", got.status)
		}
		ask(t, s, "GET", here, "").wantProblem(t, kindNotFound, "conversation")
	})
}
