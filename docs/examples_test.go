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
	"time"

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
			ID: id, Bot: bot, Conversation: "chat-17", Address: "phone", Text: bot + " " + id, Parts: []string{bot + " " + id}, Part: -1,
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
	signals, err := webhook.New(webhook.Config{URL: url, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []onereply.Signal{{Kind: onereply.SignalTyping}, {Kind: onereply.SignalNotice, Notice: onereply.NoticeDelay, Text: "One moment."}} {
		signal.Bot, signal.Conversation, signal.Address, signal.Turn = "support", "chat-17", "phone", 3
		if err := signals.Signal(t.Context(), signal); err != nil {
			t.Errorf("a signal of kind %s: %v", signal.Kind, err)
		}
	}
	var refused *onereply.SendError
	err = send("whsec_YW4gb2xkZXIgc2VjcmV0LCBvZiAyNSBieXRlcw==", "support", "chat-17/3")
	if !errors.As(err, &refused) || !refused.Permanent {
		t.Errorf("a forged request: %v", err)
	}
	got := stop()
	want := []reply{{"phone", []string{"support chat-17/1"}}, {"phone", []string{"sales chat-17/1"}}, {"phone", []string{"support ü/2"}}, {"phone", []string{"One moment."}}}
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
	ctx, kill := context.WithTimeout(context.Background(), 2*time.Minute)
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

func readWorkflow(t *testing.T) (w workflow) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, "examples/n8n-telegram.json")), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWorkflowTellsDeliveriesApart: a reply and a notice are sent as their text, to the
// address; what is neither is not, and everything is answered.
func TestWorkflowTellsDeliveriesApart(t *testing.T) {
	w := readWorkflow(t)
	for kind, wantSent := range map[string]bool{"reply": true, "notice": true, "typing": false, "of a later version": false} {
		sent, answered := false, false
		w.follow(t, "Reply", kind, func(name, kindOfNode string, parameters map[string]any) {
			answered = answered || kindOfNode == "n8n-nodes-base.respondToWebhook"
			if kindOfNode == "n8n-nodes-base.telegram" && parameters["chatId"] != "={{ $json.body.data.address }}" {
				t.Errorf("%q goes to %v", name, parameters["chatId"])
			}
			if parameters["operation"] == "sendMessage" {
				sent = true
				if parameters["text"] != "={{ $json.body.data.text }}" {
					t.Errorf("%q sends %v", name, parameters["text"])
				}
			}
		})
		if sent != wantSent || !answered {
			t.Errorf("a delivery of type %q: sent %v, answered %v", kind, sent, answered)
		}
	}
}

// follow visits the nodes that a delivery of a type may reach from one on. Only switches
// decide by the type.
func (w workflow) follow(t *testing.T, from, kind string, visit func(name, kindOfNode string, parameters map[string]any)) {
	t.Helper()
	for _, node := range w.Nodes {
		if node.Name != from {
			continue
		}
		visit(node.Name, node.Type, node.Parameters)
		outputs := w.Connections[from].Main
		if node.Type == "n8n-nodes-base.switch" {
			output := switched(t, node.Parameters, kind)
			outputs = outputs[output : output+1]
		}
		for _, output := range outputs {
			for _, to := range output {
				w.follow(t, to.Node, kind, visit)
			}
		}
	}
}

// switched is the output of a switch for a delivery of a type: that of the first rule that
// names it, or the one after them.
func switched(t *testing.T, parameters map[string]any, kind string) int {
	t.Helper()
	var p struct {
		Rules struct {
			Values []struct {
				Conditions struct {
					Conditions []struct{ LeftValue, RightValue string }
				}
			}
		}
	}
	raw, err := json.Marshal(parameters)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, rule := range p.Rules.Values {
		for _, c := range rule.Conditions.Conditions {
			if c.LeftValue != "={{ $json.body.type }}" {
				t.Errorf("a switch looks at %q", c.LeftValue)
			}
			if c.RightValue == kind {
				return i
			}
		}
	}
	return len(p.Rules.Values)
}

func TestWorkflowIsWhole(t *testing.T) {
	w := readWorkflow(t)
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
