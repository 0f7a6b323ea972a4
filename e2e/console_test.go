package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The tests of the console run the program itself, and look at it as a person
// does. Its bots: "support" answers by itself after a while; "shop" has a model
// and a receiver of replies that can be made to fail.
const consoleConfig = `
%s
bots:
  support:
    debounce: 700ms
    max_wait: 3s
    lease: 3s
    responder: {kind: echo, delay: 2500ms}
  shop:
    debounce: 50ms
    unknown_send: hold
    responder: {kind: openai, base_url: "%s", model: echo, attempts: 1}
    delivery: {kind: webhook, url: "%s"}
`

// desk is somebody at the console of a running node.
type desk struct {
	*page

	api    *caller
	node   *node
	args   []string
	model  *model
	refuse atomic.Bool                   // the receiver cuts the connection: nobody knows whether it took the reply
	held   atomic.Pointer[chan struct{}] // the receiver waits until it is closed
}

// sit starts a node and opens its console. extra is configuration, such as
// keys.
func sit(t *testing.T, extra string) *desk {
	t.Helper()
	d := &desk{api: newCaller(t), model: newModel(t, func() time.Duration { return 30 * time.Millisecond }, func(moment) {})}
	receiver := httptest.NewServer(http.HandlerFunc(d.receive))
	t.Cleanup(receiver.Close)
	d.args = settings(t, t.TempDir(), fmt.Sprintf(consoleConfig, extra, d.model.server.URL, receiver.URL))
	d.node = start(t, nil, d.args...)
	d.page = &page{t: t, base: d.node.url}
	d.start()
	return d
}

func (d *desk) receive(w http.ResponseWriter, _ *http.Request) {
	if held := d.held.Load(); held != nil {
		<-*held
	}
	if !d.refuse.Load() {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = connection.Close() // which is all the answer there is
	}
}

// holds keeps replies from being taken until release is called.
func (d *desk) holds() (release func()) {
	held := make(chan struct{})
	d.held.Store(&held)
	return sync.OnceFunc(func() {
		d.held.Store(nil)
		close(held)
	})
}

// says has a message sent as a webhook would bring it.
func (d *desk) says(bot, conversation, id, text string) {
	d.t.Helper()
	d.api.mustSay(d.t, d.base, bot, conversation, id, text)
}

// visit opens a page of the console and waits until it is live.
func (d *desk) visit(hash string) {
	d.t.Helper()
	d.sized(1280, 860, hash)
}

func (d *desk) sized(width, height int64, hash string) {
	d.t.Helper()
	d.do("visit", chromedp.Navigate("about:blank"), chromedp.EmulateViewport(width, height), chromedp.Navigate(d.base+"/console/"+hash))
	d.until("the page "+hash+" is live", live)
}

const live = `document.querySelector('#connection')?.dataset.state === 'live'`

// state asks the API of a conversation.
func (d *desk) get(path string, into any) {
	d.t.Helper()
	got := d.api.do(http.MethodGet, d.base+path, "")
	if got.status != http.StatusOK {
		d.t.Fatalf("%s: %v", path, got)
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		d.t.Fatalf("%s: %v", path, err)
	}
}

// press looks and clicks in one go: the page may disable a button at any moment.
func (d *desk) press(selector string) {
	d.t.Helper()
	d.until(selector+" can be pressed", "((button) => Boolean(button) && !button.disabled && (button.click(), true))("+one(selector)+")")
}

// fails has a turn of the bot "shop" fail.
func (d *desk) fails(conversation string) {
	d.t.Helper()
	d.model.fails.Store(true)
	defer d.model.fails.Store(false)
	d.says("shop", conversation, "m1", "[m1]")
	eventually(d.t, "the turn fails", func() bool { return d.api.look(d.base, "shop", conversation).Phase == "failed" })
}

// vanishes has a reply of the bot "shop" go out, of which nobody knows whether
// it arrived.
func (d *desk) vanishes(conversation string) {
	d.t.Helper()
	d.refuse.Store(true)
	defer d.refuse.Store(false)
	d.says("shop", conversation, "m1", "[m1]")
	eventually(d.t, "the reply is unknown", func() bool {
		lines := d.api.read(d.t, d.base, "shop", conversation)
		return len(lines) == 2 && lines[1].Status == "unknown"
	})
}

func TestConsoleOverview(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	d.visit("#/overview")
	d.until("an empty one says what will be there", says("#times", "No reply was sent yet"))
	for i := range 4 {
		d.says("support", "c1", fmt.Sprintf("m%d", i), "hello")
	}
	d.says("support", "c1", "m0", "hello")
	d.until("the inputs are counted", says(".tiles div:nth-child(1) dd", "4"))
	d.until("the reply is counted", says(".tiles div:nth-child(2) dd", "1"))
	d.until("what was saved is told", says("#saved", "4 model calls fewer"))
	d.until("the node is ready", says("#nodes .health", "ready"))
	d.until("the chart says what it shows", one("#minutes svg")+".getAttribute('aria-label').includes('4 inputs, 1 replies')")
	if got := d.count("#minutes .bar.in"); got < 60 {
		t.Errorf("%d bars of inputs, want one for each minute", got)
	}
	d.until("the times are told", says("#times .sentence", "Half of the replies were sent within"))
	d.run("window.fetch = () => new Promise(() => {})") // no answer draws anything any more
	d.do("turn the phone", chromedp.EmulateViewport(360, 780))
	d.until("the charts are drawn to the width", one("#minutes svg")+".viewBox.baseVal.width < 360")
	if !d.truth("[..." + all("#minutes svg .axis") + "].every((one) => one.getBoundingClientRect().right <= document.querySelector('#minutes svg').getBoundingClientRect().right + 1)") {
		t.Error("the time of the last minute is cut off")
	}
	d.press("#minutes summary")
	// The messages and the reply may be on both sides of the turn of a minute.
	d.until("the table says the same", "[..."+all("#minutes tbody td:nth-child(2)")+"].reduce((sum, cell) => sum + Number(cell.textContent), 0) === 4")
}

// restarts kills the node while it writes, and starts another at its address.
func (d *desk) restarts(bot, conversation string) {
	d.t.Helper()
	eventually(d.t, "it writes", func() bool { return d.api.look(d.base, bot, conversation).Phase == "generating" })
	d.node.kill()
	d.until("the page says that it is away", one("#connection")+".dataset.state === 'lost' && "+says("#trouble", "can’t be reached"))
	d.picture("console-lost")
	d.node = start(d.t, nil, append(slices.Clone(d.args), "--listen", strings.TrimPrefix(d.base, "http://"))...)
	d.until("it is live again", live+" && "+one("#trouble")+".hidden")
}

// Five inputs, one repeat, one discard, and a take-over after a crash.
func TestConsoleReconnectsAfterTheServerRestarts(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	d.says("support", "c1", "m0", "before")
	d.api.rests(t, d.base, "support", "c1")
	d.visit("#/c/support/c1")
	d.until("it is drawn", counts(".track circle.dot", 1))
	d.expectsErrors = true
	d.bursts("c1")
	d.restarts("support", "c1")
	d.until("the lost lease ends in a cut, and another goes on", counts(".track rect.lease.lost", 1)+" && "+counts(".track path.cut", 1)+" && "+counts(".track rect.attempt.lost", 1))
	d.until("the reply is sent", counts(".track circle.sent.sent", 1)+" && "+says("#turn", "latest: turn 2"))
	d.until("all is drawn", counts(".track circle.dot", 5)+" && "+counts(".track circle.hollow", 1)+" && "+counts(".track rect.attempt.discarded", 1))
	d.until("the transcript goes on", counts("#messages .reply[data-state=sent]", 2))
	d.run(one(".track rect.lease.lost") + ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
	d.until("it says why", says(".why", "its lease was over, and whatever it still does changes nothing"))
	d.press("[aria-label='The turn before']")
	d.until("the turn before is as it was", counts(".track circle.dot", 1)+" && location.hash.endsWith('?turn=1')")
	d.run("document.querySelector('#turn').value = 'all'; document.querySelector('#turn').dispatchEvent(new Event('change'))")
	d.until("all turns can be seen at once", counts(".track circle.dot", 6)+" && location.hash.endsWith('?turn=all')")
	d.sameAsStored("support", "c1")
}

// bursts has four messages and a repeat come quickly, and a fifth while the
// model writes.
func (d *desk) bursts(conversation string) {
	d.t.Helper()
	texts := []string{"Hi there", "where is my parcel", "number 4711", "it was due on Monday", "sorry, 4712"}
	for i, text := range texts[:4] {
		d.says("support", conversation, fmt.Sprintf("m%d", i+1), text)
	}
	d.says("support", conversation, "m3", texts[2])
	eventually(d.t, "it writes", func() bool { return d.api.look(d.base, "support", conversation).Phase == "generating" })
	d.says("support", conversation, "m5", texts[4])
	eventually(d.t, "it waits again", func() bool { return d.api.look(d.base, "support", conversation).Phase == "collecting" })
}

func TestConsoleShowsTextAsText(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	texts := []string{
		`<img src=x onerror="window.hit=1"><script>window.hit=1</script>`,
		"שלום, مرحبا world", "👩‍👩‍👧‍👦 🇩🇪 é", strings.Repeat("unbreakable", 40),
		"\u202Egnp.exe", "&lt;b&gt; <b>bold</b> ${1+1} {{1+1}}",
	}
	for i, text := range texts {
		d.says("support", "<b>hostile</b> 'name'", fmt.Sprintf("m%d", i), text)
	}
	d.api.rests(t, d.base, "support", "<b>hostile</b> 'name'")
	d.visit("#/conversations")
	d.until("the list shows its last input", one(".rows .last")+"?.textContent === "+quote(texts[len(texts)-1]))
	d.until("and its name", one(".rows a")+".textContent === "+quote("<b>hostile</b> 'name'"))
	d.run(one(".rows a") + ".click()")
	d.until("it is answered", counts("#messages .reply[data-state=sent]", 1)+" && "+live)
	for i, want := range texts {
		if got := d.text(fmt.Sprintf("document.querySelectorAll('#messages .mine .text')[%d].textContent", i)); got != want {
			t.Errorf("message %d is shown as %q, want %q", i+1, got, want)
		}
	}
	if d.truth("window.hit") || d.count("main img, main script, main b") != 0 {
		t.Error("markup in a message became part of the page")
	}
	if !d.truth(`getComputedStyle(document.querySelectorAll('#messages .mine .text')[1]).direction === 'rtl'`) {
		t.Error("right-to-left text runs from left to right")
	}
	if got := d.number("document.documentElement.scrollWidth"); got > 1280 {
		t.Errorf("a long word makes the page %d wide", got)
	}
	d.picture("console-hostile")
}

// pages are all pages, each in a state with something to see.
func (d *desk) pages() map[string]string {
	d.t.Helper()
	d.fails("failed")
	d.vanishes("vanished")
	for i := range 3 {
		d.says("support", "c1", fmt.Sprintf("m%d", i), "hello")
	}
	d.api.rests(d.t, d.base, "support", "c1")
	return map[string]string{
		"overview": "#/overview", "conversations": "#/conversations", "conversation": "#/c/support/c1",
		"trouble": "#/c/shop/vanished", "attention": "#/attention", "empty": "#/conversations?q=nothing-has-this-name",
	}
}

func TestConsoleDarkPhoneAndCalm(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	for name, hash := range d.pages() {
		d.media("prefers-color-scheme", "light")
		d.visit(hash)
		light := d.text("getComputedStyle(document.body).backgroundColor")
		d.media("prefers-color-scheme", "dark")
		if dark := d.text("getComputedStyle(document.body).backgroundColor"); dark == light {
			t.Errorf("%s is as light for those who prefer it dark", name)
		}
		d.picture("console-dark-" + name)
		d.sized(360, 780, hash)
		d.picture("console-phone-" + name)
		if got := d.number("document.documentElement.scrollWidth"); got > 360 {
			t.Errorf("%s is %d wide on a phone of 360", name, got)
		}
		d.media("prefers-reduced-motion", "reduce")
		if got := d.number("document.getAnimations().length"); got != 0 {
			t.Errorf("%s has %d animations for those who want less motion", name, got)
		}
	}
}

// axe are the rules, or the reason why they are not here.
func axe(t *testing.T) string {
	t.Helper()
	rules, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		lacking(t, "axe-core is not there: run npm ci in the folder e2e")
	}
	return string(rules)
}

func TestConsoleAccessibilityRules(t *testing.T) {
	t.Parallel()
	rules := axe(t)
	d := sit(t, "")
	for name, hash := range d.pages() {
		d.media("prefers-color-scheme", "light")
		d.visit(hash)
		d.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
		d.run(rules)
		d.passes(name)
		d.media("prefers-color-scheme", "dark")
		d.sized(360, 780, hash)
		d.run(rules)
		d.passes(name + ", on a dark phone")
	}
}
