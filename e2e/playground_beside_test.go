package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// demonstrate opens the playground of the real demo.
func demonstrate(t *testing.T) *page {
	t.Helper()
	n := start(t, nil, "demo")
	p := &page{t: t, base: n.url}
	p.start()
	p.navigate("/")
	p.until("it has sliders", "!"+one("#sliders")+".hidden")
	return p
}

// slide moves a slider, and waits until the demo's bot has the setting.
func (p *page) slide(name string, seconds float64, want string) {
	p.t.Helper()
	c := newCaller(p.t)
	p.run(fmt.Sprintf("const field = document.querySelector('#sliders [name=%s]'); field.value = %v; field.dispatchEvent(new Event('input')); field.dispatchEvent(new Event('change'))", name, seconds))
	eventually(p.t, name+" is "+want, func() bool {
		var settings map[string]string
		got := c.do(http.MethodGet, p.base+"/demo/settings", "")
		return json.Unmarshal(got.body, &settings) == nil && settings[name] == want
	})
}

func counted(name string, ours, theirs int) string {
	return fmt.Sprintf("[...%s.querySelectorAll('td')].map((one) => one.textContent).join() === '%d,%d'", one("#compared [data-count="+name+"]"), ours, theirs)
}

// post sends messages from within the page, in one go, once a condition holds there. The
// broken lock runs on the clock of the page: no round of this test, however long it
// takes, comes between the condition and the messages, or between two messages.
func (p *page) post(condition string, texts ...string) {
	p.t.Helper()
	const script = `const looking = setInterval(() => {
		if (!(%s)) return;
		clearInterval(looking);
		for (const text of %s) {
			document.querySelector('#text').value = text;
			document.querySelector('#composer').requestSubmit();
		}
	}, 20)`
	list, err := json.Marshal(texts)
	if err != nil {
		p.t.Fatal(err)
	}
	p.run(fmt.Sprintf(script, condition, list))
}

// The third message comes while the model writes, and long enough before its
// end: under the broken lock a second answer starts.
func TestBesideTheBrokenLockDuplicates(t *testing.T) {
	t.Parallel()
	p := demonstrate(t)
	p.slide("debounce", 1, "1s")
	p.slide("model_delay", 8, "8s")
	p.click("#compare")
	p.until("it says what it is", says("#origin", "No server takes part"))
	bothWrite := says("#compared", "the model writes") + " && " + counts(".draft", 1)
	p.post(bothWrite, "three")
	p.post("true", "one", "two")
	p.until("two calls write at once", says("#compared", "2 calls of the model write at once"))
	p.picture("beside-writing")
	p.until("onereply gives one reply, the broken lock two", counted("replies", 1, 2))
	p.until("messages were answered again", counted("twice", 0, 2))
	p.until("and a reply left one out", counted("stale", 0, 1)+" && "+counted("lost", 0, 0))
	if got := p.content(".chat .reply .covers"); got != "answers 3 messages: 1, 2 and 3" {
		t.Errorf("the reply says %q", got)
	}
	p.picture("beside")
}

// The third message comes shortly before the end of the turn, which takes the
// stored timer with it.
func TestBesideTheBrokenLockLoses(t *testing.T) {
	t.Parallel()
	p := demonstrate(t)
	p.slide("debounce", 4, "4s")
	p.slide("model_delay", 2, "2s")
	p.click("#compare")
	p.post(says("#compared", "the model writes"), "three")
	p.post("true", "one", "two")
	p.until("the third one is lost", counted("lost", 0, 1)+" && "+says("#origin-messages", "lost: nothing will answer it"))
	p.until("onereply answers all", counter("replies", 1)+" && "+counts(".chat:not(#origin) .mine:not([data-state=answered])", 0))
	p.click("#compare")
	p.until("it can be turned off", one("#origin")+".hidden")
}

func TestBesideOnAPhoneAndByRules(t *testing.T) {
	t.Parallel()
	rules := axe(t)
	p := demonstrate(t)
	p.click("#compare")
	p.send("hello")
	p.until("it is answered", counter("replies", 1))
	p.run(rules)
	p.passes("beside, light")
	p.media("prefers-color-scheme", "dark")
	p.passes("beside, dark")
	p.do("make it a phone", chromedp.EmulateViewport(360, 780))
	if got := p.number("document.documentElement.scrollWidth"); got > 360 {
		t.Errorf("the page is %d wide on a phone of 360", got)
	}
	p.picture("beside-phone")
}
