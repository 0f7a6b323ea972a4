package e2e

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const consoleKey = "console-key-of-sixteen-and-more"

// signIn types a key as a person does.
func (d *desk) signIn(key string) {
	d.t.Helper()
	d.until("it asks for a key", "document.activeElement.id === 'key'")
	d.do("type the key", chromedp.SendKeys("#key", key))
	d.enter()
}

func TestConsoleLogin(t *testing.T) {
	t.Parallel()
	d := sit(t, "api_keys: ["+consoleKey+"]")
	d.api.key = consoleKey
	d.says("support", "c1", "m1", "hello")
	d.api.rests(t, d.base, "support", "c1")
	d.expectsErrors = true // the browser logs answers of 401
	d.do("visit", chromedp.Navigate(d.base+"/console/#/c/support/c1"))
	d.signIn("wrong")
	d.until("a wrong key is told", says("#problem", "none of the server’s API keys"))
	d.picture("console-login")
	d.signIn(consoleKey)
	d.until("it goes on where it was", "location.hash === '#/c/support/c1' && "+live)
	d.until("it is shown", counts("#messages .reply[data-state=sent]", 1))
	if got := d.text("document.cookie"); got != "" {
		t.Errorf("scripts can read the cookie: %s", got)
	}
	if d.truth("document.documentElement.outerHTML.includes(" + quote(consoleKey) + ")") {
		t.Error("the key is left on the page")
	}
	d.press("#action-pause")
	d.until("actions work", one("#phase")+".dataset.phase === 'paused'")
	d.until("the audit names the key, not the whole of it", says("#audit", "by ")+" && !"+says("#audit", consoleKey))
	forged := `fetch(` + quote(path("", "support", "c1")+"/resume") + `, {method: 'POST'}).then((answer) => answer.status)`
	if got, err := chromedp.Run(d.ctx, chromedp.Evaluate[int](forged, chromedp.EvalAwaitPromise)); err != nil || got != http.StatusForbidden {
		t.Errorf("a call without the token of the page: %d, %v, want 403", got, err)
	}
	d.do("reload", chromedp.Reload())
	d.until("a reload keeps the session", live+" && !"+one("#logout")+".hidden")
	d.run(one("#logout") + ".click()")
	d.until("signed out", "location.hash === '#/login' && document.activeElement.id === 'key'")
	d.do("visit", chromedp.Navigate("about:blank"), chromedp.Navigate(d.base+"/console/#/overview"))
	d.until("the session is over", "location.hash === '#/login'")
	if rules := axe(t); rules != "" {
		d.run(rules)
		d.passes("login")
	}
	d.do("make it a phone", chromedp.EmulateViewport(360, 780))
	if got := d.number("document.documentElement.scrollWidth"); got > 360 {
		t.Errorf("the login is %d wide on a phone of 360", got)
	}
}

func TestConsoleKeyboardAlone(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	for _, name := range []string{"one", "two", "three"} {
		d.says("support", name, "m1", "hello")
		d.api.rests(t, d.base, "support", name)
	}
	d.visit("#/overview")
	focus := func(condition string) {
		t.Helper()
		for range 60 {
			d.key("\t")
			if d.truth("document.activeElement.matches(" + quote(condition) + ")") {
				return
			}
		}
		t.Fatalf("Tab does not reach %s", condition)
	}
	focus("#skip")
	d.until("the skip link is visible", one("#skip")+".getBoundingClientRect().top >= 0")
	d.enter()
	d.until("it skips", "document.activeElement.id === 'main'")
	d.do("back to the start", chromedp.Reload())
	d.until("it is live", live)
	focus("#nav a[href='#/conversations']")
	d.enter()
	d.until("the list is there", counts(".rows [role=row]", 3)+" && "+live)
	focus(".rows a")
	d.key(kb.ArrowDown)
	d.until("the next row has the focus", "document.activeElement.closest('[role=row]')?.dataset.index === '1'")
	if got := d.text("getComputedStyle(document.activeElement).outlineStyle"); got != "solid" {
		t.Errorf("the focus is not visible: outline %q", got)
	}
	d.key(kb.End)
	d.until("End goes to the last", "document.activeElement.textContent === 'one'")
	d.enter()
	d.until("it opens", "location.hash === '#/c/support/one' && "+live)
	focus(".covers")
	d.until("what it covers is marked", all(".mine.covered")+".length === 1")
	focus(".track")
	d.key(kb.ArrowRight)
	d.until("the first thing is told", says(".why", "Message accepted as input 1"))
	d.key(kb.ArrowRight)
	d.until("and the next", says(".why", "The quiet time lasted"))
	focus("#as-table summary")
	d.enter()
	d.until("the table opens", one("#as-table")+".open && "+all("#as-table tbody tr")+".length > 3")
	focus("#action-pause")
	d.key(" ")
	d.until("it is paused", one("#phase")+".dataset.phase === 'paused'")
	d.until("it is said aloud", says("#said", "Paused"))
	focus("#action-delete")
	d.enter()
	d.until("a question has the focus", "document.activeElement.closest('dialog') !== null")
	d.key(kb.Escape)
	d.until("Escape means no", counts("dialog", 0))
}
