package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// longChat is how long the longest conversation of the memory test is.
var longChat = flag.Int("chat", 800, "messages of 64 KiB that wait in one conversation of the memory test, and are settled at once; the promise speaks of 4000")

// memoryMost is how much memory a node may take, whatever is done to it.
const memoryMost = 512 << 20

var peakLine = regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`)

// peak is the most memory that the process has had at once, as the kernel counts it.
func (n *node) peak(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	found := peakLine.FindSubmatch(text)
	if found == nil {
		t.Fatalf("the kernel does not say how much memory was used:\n%s", text)
	}
	kilobytes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// stays fails the test where a node has ended, or has taken more memory than it may.
func (n *node) stays(t testing.TB, after string) {
	t.Helper()
	if n.hasEnded() {
		t.Fatalf("after %s the node has ended:\n%s", after, n.log.tail())
	}
	peak := n.peak(t)
	t.Logf("after %s: %d MiB at most", after, peak>>20)
	if peak > memoryMost {
		t.Fatalf("after %s the node has had %d MiB, more than %d", after, peak>>20, memoryMost>>20)
	}
}

// glutton is a model that takes prompts of any size.
type glutton struct {
	server  *httptest.Server
	largest atomic.Int64 // request
	calls   atomic.Int64
}

func newGlutton(t testing.TB) *glutton {
	g := &glutton{}
	g.server = httptest.NewServer(g)
	t.Cleanup(func() {
		g.server.CloseClientConnections()
		g.server.Close()
	})
	return g
}

func (g *glutton) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	size, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return // it was cut off
	}
	g.calls.Add(1)
	for before := g.largest.Load(); size > before && !g.largest.CompareAndSwap(before, size); before = g.largest.Load() {
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, map[string]any{"index": 0, "delta": map[string]string{"content": "ok"}})
	event(w, map[string]any{"index": 0, "delta": map[string]string{}, "finish_reason": "stop"})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// roomyConfig lets a conversation hold far more than it may by default. Its prompts are as
// large as they may be by default.
const roomyConfig = `
limits: {waiting_bytes: 1GiB}
bots:
  support:
    debounce: 1h
    max_wait: 1h
    responder: {kind: openai, base_url: "%s", model: m}
`

// onEachStore runs a test on each store that keeps its data outside of the node's own memory.
func onEachStore(t *testing.T, run func(t *testing.T, arguments func(yaml string) []string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		run(t, func(yaml string) []string { return settings(t, folder, yaml) })
	})
	onEachEngine(t, func(t *testing.T, e engine) {
		run(t, func(yaml string) []string { return onStore(t, *e.url, e.url.Host, yaml) })
	})
}

// flood sends so many messages with a text to a conversation, from some clients at once, and
// returns those that were acknowledged, and the answers to the others.
func (c *caller) flood(base, conversation, prefix string, count int, text string) (taken []string, refused []answer) {
	var mu sync.Mutex
	var sending sync.WaitGroup
	var next atomic.Int64
	for range 8 {
		sending.Go(func() {
			for i := next.Add(1); i <= int64(count); i = next.Add(1) {
				id := fmt.Sprintf("%s%d", prefix, i)
				_, ok, raw := c.say(base, "support", conversation, id, text)
				mu.Lock()
				if ok {
					taken = append(taken, id)
				} else {
					refused = append(refused, raw)
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	return taken, refused
}

func (c *caller) mustFlood(t testing.TB, base, conversation, prefix string, count int, text string) {
	t.Helper()
	if taken, refused := c.flood(base, conversation, prefix, count, text); len(taken) != count {
		t.Fatalf("of %d messages %d were taken: %v", count, len(taken), refused[0])
	}
}

// must is a call that is answered with a status of success.
func (c *caller) must(t testing.TB, method, url, body string) answer {
	t.Helper()
	got := c.do(method, url, body)
	if got.status < 200 || got.status > 299 {
		t.Fatalf("%s %s: %v", method, url, got)
	}
	return got
}

// walk reads a whole transcript as fast as it can, page by page, and returns how many entries
// it has and the bytes of the largest page.
func (c *caller) walk(t testing.TB, base, conversation string) (entries, largest int) {
	t.Helper()
	for after := int64(0); ; {
		got := c.must(t, http.MethodGet, fmt.Sprintf("%s/transcript?limit=1000&after=%d", path(base, "support", conversation), after), "")
		var page struct {
			Entries []struct{ Seq int64 }
			Next    *int64
		}
		if err := json.Unmarshal(got.body, &page); err != nil {
			t.Fatal(err)
		}
		entries, largest = entries+len(page.Entries), max(largest, len(got.body))
		if page.Next == nil {
			return entries, largest
		}
		after = *page.Next
	}
}

// TestOneChatOfHundredsOfMegabytes writes far more into one conversation than a prompt, a
// page or the memory of a node may hold. All of it is settled at once: by a person's reply,
// and by a resume that leaves it without an answer. Then as much as many prompts hold is
// answered, prompt by prompt.
func TestOneChatOfHundredsOfMegabytes(t *testing.T) {
	long, control := strings.Repeat("x", 64<<10), strings.Repeat("\x01", 65_500)
	onEachStore(t, func(t *testing.T, arguments func(yaml string) []string) {
		g, c := newGlutton(t), newCaller(t)
		count, controls := *longChat, *longChat/5
		args := arguments(fmt.Sprintf(roomyConfig, g.server.URL))
		n := start(t, nil, args...)
		chat := path(n.url, "support", "c")

		c.mustFlood(t, n.url, "c", "a", count, long)
		n.stays(t, "messages of 64 KiB")
		eventually(t, "a person's reply is taken", func() bool { // a slow machine needs more than one call to settle so much
			got := c.do(http.MethodPost, chat+"/replies", `{"id": "r1", "text": "done"}`)
			return got.status == http.StatusAccepted
		})
		c.rests(t, n.url, "support", "c")
		n.stays(t, "a person's reply to them")

		c.mustFlood(t, n.url, "c", "b", controls, control)
		c.must(t, http.MethodPost, chat+"/pause", `{}`)
		eventually(t, "the resume is taken", func() bool {
			got := c.do(http.MethodPost, chat+"/resume", `{"answer_pending": false}`)
			return got.status >= 200 && got.status < 300
		})
		c.rests(t, n.url, "support", "c")
		n.stays(t, "a resume without an answer to messages of control characters")

		c.mustFlood(t, n.url, "c", "c", 200, long)
		c.must(t, http.MethodPost, chat+"/flush", "")
		c.rests(t, n.url, "support", "c")
		n.stays(t, "prompts of 200 messages of 64 KiB")
		if largest := g.largest.Load(); largest > 2<<20 || g.calls.Load() < 200*64/1024 {
			t.Errorf("%d prompts, the largest of %d bytes", g.calls.Load(), largest)
		}

		var reading sync.WaitGroup
		for range 8 {
			reading.Go(func() {
				if got := c.do(http.MethodGet, chat+"/transcript?limit=1000&before=end", ""); got.status != http.StatusOK || len(got.body) > 2<<20 {
					t.Errorf("a page of %d bytes: %v", len(got.body), got)
				}
			})
		}
		entries, largest := c.walk(t, n.url, "c")
		reading.Wait()
		if entries < count+controls+200 || largest > 2<<20 {
			t.Errorf("%d entries, and a page of %d bytes", entries, largest)
		}
		n.stays(t, "readers of the whole transcript")
		n.kill()

		again := start(t, nil, args...)
		c.mustSay(t, again.url, "support", "c", "last", "are you there?")
		c.must(t, http.MethodPost, path(again.url, "support", "c")+"/flush", "")
		c.rests(t, again.url, "support", "c")
		again.stays(t, "a restart")
		again.stops(t)
	})
}

// TestALongChatIsRefused sends the same with the budgets as they are by default: what is
// beyond them is refused at once, and what was taken is answered.
func TestALongChatIsRefused(t *testing.T) {
	onEachStore(t, func(t *testing.T, arguments func(yaml string) []string) {
		g, c := newGlutton(t), newCaller(t)
		n := start(t, nil, arguments(strings.Replace(fmt.Sprintf(roomyConfig, g.server.URL), "limits: {waiting_bytes: 1GiB}", "", 1))...)
		for name, text := range map[string]string{"long": strings.Repeat("x", 64<<10), "control": strings.Repeat("\x01", 65_500)} {
			taken, refused := c.flood(n.url, name, "m", 300, text)
			if most := 4 << 20 / len(text); len(taken) == 0 || len(taken) > most {
				t.Errorf("%s: %d messages of %d bytes were taken, want %d at most", name, len(taken), len(text), most)
			}
			for _, a := range refused {
				if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
					t.Fatalf("%s: refused with %v, Retry-After %q", name, a, a.header.Get("Retry-After"))
				}
			}
			c.must(t, http.MethodPost, path(n.url, "support", name)+"/flush", "")
			c.rests(t, n.url, "support", name)
			if entries, _ := c.walk(t, n.url, name); entries <= len(taken) {
				t.Errorf("%s: %d entries after %d messages and their replies", name, entries, len(taken))
			}
		}
		n.stays(t, "600 long messages")
		n.stops(t)
	})
}
