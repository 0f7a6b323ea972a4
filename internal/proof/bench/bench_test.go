package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/sqlite"
)

// These make the test binary behave as another process, on the store in the
// folder that they name.
const (
	asVictim = "ONEREPLY_TEST_AS_VICTIM"
	asNode   = "ONEREPLY_TEST_AS_NODE"
)

func TestMain(m *testing.M) {
	be := func(process func(context.Context, Place, string, io.Reader, io.Writer) error, folder string) {
		if err := process(context.Background(), files{}, folder, os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
	}
	switch {
	case os.Getenv(asVictim) != "":
		be(Victim, os.Getenv(asVictim))
	case os.Getenv(asNode) != "":
		be(Node, os.Getenv(asNode))
	default:
		os.Exit(m.Run())
	}
}

// files is the embedded store.
type files struct{}

func (files) Open(_ context.Context, folder string) (store.Store, error) {
	return sqlite.Open(filepath.Join(folder, "onereply.db"), sqlite.Options{})
}

func (files) Size(_ context.Context, folder string) (int64, error) {
	info, err := os.Stat(filepath.Join(folder, "onereply.db"))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (files) Remove(context.Context, string) error { return nil }

// process is this test binary as another process.
func process(as string) func(context.Context, string) *exec.Cmd {
	return func(ctx context.Context, folder string) *exec.Cmd {
		command := exec.CommandContext(ctx, os.Args[0])
		command.Env = append(os.Environ(), as+"="+folder)
		return command
	}
}

func quick(t *testing.T, only ...string) Report {
	t.Helper()
	report, err := Run(t.Context(), Options{
		Place: files{}, Victim: process(asVictim), Node: process(asNode), Folder: t.TempDir(), Quick: true, Only: only, Conversations: 500, Minutes: 0.1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestQuick runs every measurement once, briefly, and checks that each says
// something. It checks no speed: that would fail on a busy machine.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	report := quick(t)
	if len(report.Sections) != len(Names()) {
		t.Errorf("got %d sections, want %d", len(report.Sections), len(Names()))
	}
	for _, s := range report.Sections {
		if len(s.Rows) == 0 {
			t.Errorf("%s has no rows", s.Name)
		}
		for _, row := range s.Rows {
			if row.Value.Median < 0 || row.Value.Least > row.Value.Median || row.Value.Median > row.Value.Most {
				t.Errorf("%s, %s, %s: %+v", s.Name, row.Case, row.Figure, row.Value)
			}
		}
	}
	checkText(t, report)
	checkJSON(t, report)
	checkSVG(t, report)
}

func checkText(t *testing.T, report Report) {
	t.Helper()
	var text strings.Builder
	if err := report.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		if !strings.Contains(text.String(), "\n"+name+": ") {
			t.Errorf("the text does not show %s:\n%s", name, text.String())
		}
	}
	t.Log(text.String())
}

func checkJSON(t *testing.T, report Report) {
	t.Helper()
	encoded, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(encoded, []byte("null")) {
		t.Errorf("a list is missing: %s", encoded)
	}
}

func checkSVG(t *testing.T, report Report) {
	t.Helper()
	var drawing bytes.Buffer
	if err := report.SVG(&drawing); err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(&drawing)
	lines := 0
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the drawing is not XML: %v", err)
		}
		if element, ok := token.(xml.StartElement); ok && element.Name.Local == "polyline" {
			lines++
		}
	}
	want := 3
	if _, resident := memory(); resident > 0 {
		want++
	}
	if lines != want {
		t.Errorf("got %d lines, want %d", lines, want)
	}
}

// TestCostOfATurn guards counts that do not depend on the machine. A turn of one
// message is four writes: the message, the lease, the reply, its end. Five
// messages that come one after the other are four more; those that come at once
// share some. The reads are the record of a conversation that is new to the node,
// and the two of the prompt.
func TestCostOfATurn(t *testing.T) {
	counts := map[string]float64{}
	for _, row := range quick(t, "cost").Sections[0].Rows {
		counts[row.Case+": "+row.Figure] = row.Value.Median
	}
	for figure, want := range map[string]float64{
		"1 message: writes":                      4,
		"1 message: reads":                       3,
		"1 message: allocations":                 620, // records and bodies are written by encoding/json (decision 13), texts lie in a table of their own, and the race detector adds some
		"5 messages one after the other: writes": 8,
		"5 messages one after the other: reads":  3,
		"5 messages at once: writes":             6,
	} {
		// A tenth is for a machine that stalls so long that a burst becomes two turns.
		if got, ok := counts[figure]; !ok || got > want*1.1 || got < 1 {
			t.Errorf("%s: got %v, want at most %v", figure, got, want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := Run(t.Context(), Options{Place: files{}, Only: []string{"speed"}, Rounds: -1, Conversations: -1, Minutes: -1})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, part := range []string{`no measurement "speed"`, "acknowledge, http", "rounds", "conversations", "minutes"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not mention %q: %v", part, err)
		}
	}
}

func TestSpread(t *testing.T) {
	if got, want := spreadOf([]float64{5, 1, 3}), (Spread{Median: 3, Least: 1, Most: 5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(i + 1)
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := quantile(values, q); got != want {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: got %v", got)
	}
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	var all tally
	all.compare("a", "b", "/s", 10, 20)
	all.compare("a", "b", "/s", 30, 30)
	all.compare("a", "b", "/s", 10, 100)
	row := all.section(measurement{}).Rows[0]
	if got, want := *row.Ratio, (Spread{Median: 0.5, Least: 0.1, Most: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Each node gets its share of the messages; those of a conversation come to one node,
// or to another one each time.
func TestWhichNodeGetsAMessage(t *testing.T) {
	const writers, rounds = connections, 1_000
	for nodes := 2; nodes <= mostNodes; nodes++ {
		for _, anywhere := range []bool{false, true} {
			last, shares := map[string]int{}, make([]int, nodes)
			moved, visits := 0, 0
			for i := range rounds {
				for writer := range writers {
					conversation, node := balanced(writer, i, nodes, anywhere)
					shares[node]++
					if before, known := last[conversation]; known {
						visits++
						if node != before {
							moved++
						}
					}
					last[conversation] = node
				}
			}
			if want := map[bool]int{true: visits}[anywhere]; moved != want {
				t.Errorf("%d nodes, anywhere %v: %d of %d messages come to another node than the one before, want %d", nodes, anywhere, moved, visits, want)
			}
			for _, share := range shares {
				if share < writers*rounds/nodes*9/10 {
					t.Errorf("%d nodes, anywhere %v: shares of %v", nodes, anywhere, shares)
				}
			}
		}
	}
}

// A conversation gets its messages, and the next one begins.
func TestMessagesOfAConversation(t *testing.T) {
	counts := map[string]int{}
	for i := range 30 * messagesOfConversation {
		for writer := range connections {
			conversation, _ := balanced(writer, i, 2, true)
			counts[conversation]++
		}
	}
	if len(counts) != 30*connections {
		t.Errorf("%d conversations, want %d", len(counts), 30*connections)
	}
	for conversation, count := range counts {
		if count != messagesOfConversation {
			t.Errorf("%s gets %d messages", conversation, count)
		}
	}
}
