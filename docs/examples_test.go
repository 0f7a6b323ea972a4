package docs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel/webhook"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// TestReceivers runs the receivers that people start from against the sender
// that they receive from.
func TestReceivers(t *testing.T) {
	t.Run("python", func(t *testing.T) { testReceiver(t, "python3", "receiver.py") })
	t.Run("javascript", func(t *testing.T) { testReceiver(t, "node", "receiver.mjs") })
}

func testReceiver(t *testing.T, interpreter, file string) {
	url, stop := start(t, interpreter, file)
	send := func(secret, bot, id string) error {
		sender, err := webhook.New(webhook.Config{URL: url, Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		return sender.Send(t.Context(), &onereply.Delivery{
			ID: id, Bot: bot, Conversation: "chat-17", Text: bot + " " + id, Parts: []string{bot + " " + id}, Part: -1,
		})
	}
	for _, test := range []struct{ bot, id string }{
		{"support", "chat-17/1"}, {"support", "chat-17/1"}, // a repeat
		{"sales", "chat-17/1"}, // another bot's
		{"support", "ü/2"},
	} {
		if err := send(secret, test.bot, test.id); err != nil {
			t.Errorf("%s %s: %v", test.bot, test.id, err)
		}
	}
	typing, err := webhook.New(webhook.Config{URL: url, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	if err := typing.Signal(t.Context(), onereply.Signal{Kind: onereply.SignalTyping, Bot: "support", Conversation: "chat-17", Turn: 3}); err != nil {
		t.Errorf("a sign that somebody is typing: %v", err)
	}
	var refused *onereply.SendError
	err = send("whsec_YW4gb2xkZXIgc2VjcmV0LCBvZiAyNSBieXRlcw==", "support", "chat-17/3")
	if !errors.As(err, &refused) || !refused.Permanent {
		t.Errorf("a forged request: %v", err)
	}
	got := stop()
	want := []reply{{"chat-17", []string{"support chat-17/1"}}, {"chat-17", []string{"sales chat-17/1"}}, {"chat-17", []string{"support ü/2"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

// reply is what a receiver prints where it would send.
type reply struct {
	To    string   `json:"to"`
	Parts []string `json:"parts"`
}

// start runs a receiver. stop ends it, and gives what it has printed.
func start(t *testing.T, interpreter, file string) (url string, stop func() []reply) {
	t.Helper()
	if _, err := exec.LookPath(interpreter); err != nil {
		t.Skipf("there is no %s here", interpreter)
	}
	ctx, kill := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, interpreter, filepath.Join("examples", file), "0")
	command.Env = append(os.Environ(), "DELIVERY_SECRET="+secret, "SEEN="+filepath.Join(t.TempDir(), "seen"))
	command.Stderr = os.Stderr
	output, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout = input
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = input.Close() // it is the program's now
	end := sync.OnceFunc(func() {
		kill()
		_ = command.Wait() // it was killed
	})
	t.Cleanup(end)
	lines := bufio.NewScanner(output)
	if !lines.Scan() {
		t.Fatalf("%s printed nothing", file)
	}
	return "http://127.0.0.1:" + strings.TrimPrefix(lines.Text(), "listening on "), func() []reply {
		end()
		return replies(lines)
	}
}

// replies are those that the lines hold.
func replies(lines *bufio.Scanner) []reply {
	var found []reply
	for lines.Scan() {
		var r reply
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			found = append(found, r)
		}
	}
	return found
}

// TestSnippetsAreOfTheReceivers: what the page shows of them is in them.
func TestSnippetsAreOfTheReceivers(t *testing.T) {
	files := map[string]string{"js": "examples/receiver.mjs", "python": "examples/receiver.py"}
	for _, b := range blocks(read(t, "integrations.md")) {
		file := files[strings.Join(b.info, "")]
		if file == "" {
			continue
		}
		program := read(t, file)
		for _, line := range strings.Split(b.text, "\n") {
			code, _, _ := strings.Cut(line, " # ")
			code, _, _ = strings.Cut(code, " // ")
			if code = strings.TrimSpace(code); !strings.Contains(program, code) {
				t.Errorf("%s has no line %q", file, code)
			}
		}
	}
}

// workflow is what n8n imports.
type workflow struct {
	Nodes []struct {
		ID, Name, Type string
		TypeVersion    float64
		Position       []int
		Parameters     map[string]any
	}
	Connections map[string]struct {
		Main [][]struct{ Node, Type string }
	}
}

func TestWorkflowIsWhole(t *testing.T) {
	var w workflow
	if err := json.Unmarshal([]byte(read(t, "examples/n8n-telegram.json")), &w); err != nil {
		t.Fatal(err)
	}
	names, ids, reached := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, node := range w.Nodes {
		if names[node.Name] || ids[node.ID] || node.Type == "" || node.TypeVersion == 0 || len(node.Position) != 2 {
			t.Errorf("node %q is not whole, or there twice", node.Name)
		}
		names[node.Name], ids[node.ID] = true, true
		wantExpressions(t, node.Name, node.Parameters)
	}
	for from, outputs := range w.Connections {
		for _, output := range outputs.Main {
			for _, to := range output {
				reached[to.Node] = true
				if !names[from] || !names[to.Node] || to.Type != "main" {
					t.Errorf("the connection from %q to %q leads nowhere", from, to.Node)
				}
			}
		}
	}
	for _, node := range w.Nodes {
		begins := strings.HasSuffix(node.Type, "Trigger") || strings.HasSuffix(node.Type, ".webhook") || strings.HasSuffix(node.Type, "stickyNote")
		if !begins && !reached[node.Name] {
			t.Errorf("nothing leads to node %q", node.Name)
		}
	}
}

// wantExpressions: an expression ends at the first }}, so it must hold none.
func wantExpressions(t *testing.T, node string, value any) {
	switch value := value.(type) {
	case string:
		if strings.Count(value, "{{") != strings.Count(value, "}}") {
			t.Errorf("node %q: an expression is cut short: %s", node, value)
		}
	case map[string]any:
		for _, inner := range value {
			wantExpressions(t, node, inner)
		}
	case []any:
		for _, inner := range value {
			wantExpressions(t, node, inner)
		}
	}
}
