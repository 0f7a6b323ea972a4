package e2e

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// hide has the page believe that nobody sees it, or that somebody does again.
func (d *desk) hide(hidden bool) {
	d.t.Helper()
	state := map[bool]string{true: "true", false: "false"}[hidden]
	d.run("Object.defineProperty(document, 'hidden', {configurable: true, get: () => " + state + "}); document.dispatchEvent(new Event('visibilitychange'))")
}

// A browser opens six connections to a server: tabs that nobody sees give theirs
// back, and read what they missed once they are shown.
func TestConsoleHoldsNoStreamWhileNobodySeesIt(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	d.says("support", "c1", "m1", "hello")
	d.api.rests(t, d.base, "support", "c1")
	d.visit("#/c/support/c1")
	d.until("its stream is open", counts("#messages .mine", 1))
	streams := func() float64 { return d.api.metrics(t, d.base)["onereply_event_streams"] }
	if streams() != 1 {
		t.Fatalf("%v streams are open, want one", streams())
	}
	d.hide(true)
	eventually(t, "the stream is closed", func() bool { return streams() == 0 })
	d.says("support", "c1", "m2", "are you there?")
	d.hide(false)
	d.until("it has caught up", live+" && "+counts("#messages .mine", 2))
}

// An action on a conversation that was deleted elsewhere makes no new one.
func TestConsoleActsOnNothingThatIsGone(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	d.says("support", "c1", "m1", "hello")
	d.api.rests(t, d.base, "support", "c1")
	d.visit("#/c/support/c1")
	d.until("it is shown", counts("#messages .reply[data-state=sent]", 1))
	if got := d.api.do(http.MethodDelete, path(d.base, "support", "c1"), "").status; got != http.StatusNoContent {
		t.Fatalf("delete: %d", got)
	}
	d.expectsErrors = true // the browser logs that it is not found
	d.press("#action-pause")
	d.until("it says that it is gone", says("#trouble", "deleted meanwhile")+" && "+counts("#messages .entry", 0)+" && "+one("#action-reply")+".disabled")
	if got := d.api.do(http.MethodGet, path(d.base, "support", "c1"), "").status; got != http.StatusNotFound {
		t.Errorf("it is there again: %d", got)
	}
}

// Whatever the address names, there is a page.
func TestConsoleTakesAnyAddress(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	for _, hash := range []string{"#/constructor", "#/toString", "#/c/support", "#/c//"} {
		d.do("visit", chromedp.Navigate("about:blank"), chromedp.Navigate(d.base+"/console/"+hash))
		d.until(hash+" leads to the overview", live+" && location.hash === '#/overview'")
	}
	d.expectsErrors = true
	d.visit("#/conversations?bot=nope")
	d.until("a bot that is not there has no conversations", says("#empty", "No conversation matches"))
}
