package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// requestsFor counts the requests of a kind that the page has made so far.
func (d *desk) requestsFor(part string) int {
	d.t.Helper()
	return d.number("performance.getEntriesByType('resource').filter(({ name }) => name.includes(" + quote(part) + ")).length")
}

// closes settles what waits without a reply.
func (d *desk) closes(conversation string) {
	d.t.Helper()
	for _, call := range [][2]string{{"/pause", "{}"}, {"/resume", `{"answer_pending":false}`}} {
		if got := d.api.do(http.MethodPost, path(d.base, "support", conversation)+call[0], call[1]); got.status != http.StatusOK {
			d.t.Fatal(got)
		}
	}
}

// TestConsoleLongConversation: of many thousand messages the page reads the last
// ones, and earlier ones for who asks; after a break and an action it reads what it
// shows again, and no more.
func TestConsoleLongConversation(t *testing.T) {
	t.Parallel()
	many := *manyShown
	n := start(t, nil, append(settings(t, inMemory(t), manyConfig), "--log-level", "warn")...)
	d := &desk{api: newCaller(t), node: n, page: &page{t: t, base: n.url}}
	var next atomic.Int64
	for part := int64(5_000); part <= int64(many); part += 5_000 { // up to 10,000 may wait at once
		var writers sync.WaitGroup
		for range 64 {
			writers.Go(func() {
				for i := next.Add(1); !t.Failed(); i = next.Add(1) {
					if i > part {
						next.Add(-1)
						return
					}
					d.says("support", "c1", fmt.Sprint("m", i), fmt.Sprint("text ", i))
				}
			})
		}
		writers.Wait()
		d.closes("c1")
	}
	d.start()
	d.visit("#/c/support/c1")
	d.until("its end is shown", counts("#messages .mine", 200)+" && "+says("#messages .mine:last-child .number", fmt.Sprint("#", many)))
	few := func(what string, most int) {
		t.Helper()
		nodes := d.number("document.querySelectorAll('*').length")
		t.Logf("%s: %d requests for the transcript, %d elements", what, d.requestsFor("/transcript"), nodes)
		if got := d.requestsFor("/transcript"); got > most {
			t.Errorf("%s: %d requests for the transcript, at most %d are wanted", what, got, most)
		}
		if !d.truth("[..." + all("#messages .number") + "].every((one, i, list) => !i || Number(one.textContent.slice(1)) === Number(list[i - 1].textContent.slice(1)) + 1)") {
			t.Errorf("%s: they are out of order", what)
		}
		if nodes > 9000 {
			t.Errorf("%s: %d elements in the document", what, nodes)
		}
	}
	few("opened", 1)
	d.run(one("#messages-scroll") + ".scrollTop = 0")
	d.press("#earlier")
	d.until("earlier ones come before them", counts("#messages .mine", 400)+" && "+says("#messages .mine .number", fmt.Sprint("#", many-399)))
	if d.number(one("#messages-scroll")+".scrollTop") < 1000 {
		t.Error("what was in sight has moved away")
	}
	few("with earlier ones", 2)
	d.hide(true)
	d.says("support", "c1", "late", "one more")
	if got := d.api.do(http.MethodPatch, path(d.base, "support", "c1")+fmt.Sprint("/messages/m", many/2), `{"text":"mended"}`); got.status != http.StatusAccepted {
		t.Fatal(got)
	}
	d.hide(false)
	d.until("after a break the new one is there", live+" && "+counts("#messages .mine", 401)+" && "+says("#messages .mine:last-child", "one more"))
	few("after a break", 5)
	d.press("#action-pause")
	d.until("it is paused", one("#phase")+".dataset.phase === 'paused'")
	few("after an action", 8)
	d.do("leave", chromedp.Navigate("about:blank"))
}

// Whoever watches for hours has the last messages in the document, not all.
func TestConsoleWatchedForLong(t *testing.T) {
	t.Parallel()
	const shown, sent = 800, 1000
	n := start(t, nil, append(settings(t, inMemory(t), manyConfig), "--log-level", "warn")...)
	d := &desk{api: newCaller(t), node: n, page: &page{t: t, base: n.url}}
	d.start()
	d.visit("#/c/support/c1")
	var writers sync.WaitGroup
	for writer := range 10 {
		writers.Go(func() {
			for i := range sent / 10 {
				d.says("support", "c1", fmt.Sprint("m", writer, "-", i), "hello")
			}
		})
	}
	writers.Wait()
	d.until("the last one is shown", says("#messages .mine:last-child .number", fmt.Sprint("#", sent)))
	d.until("those long ago are gone", all("#messages .entry")+".length <= "+fmt.Sprint(shown))
	kept := d.count("#messages .entry")
	d.run(one("#messages-scroll") + ".scrollTop = 0")
	d.press("#earlier")
	d.until("the ones before can be read", counts("#messages .entry", kept+200))
}

// A browser takes the names "." and ".." out of a path.
func TestConsoleOddNames(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	for _, name := range []string{".", "..", "-", "%2E", "a/../b", "?x#y"} {
		escaped := "%2E"
		if name != "." {
			escaped = encoded(name)
		}
		if name == ".." {
			escaped = "%2E%2E"
		}
		d.says("support", name, "m1", "I am "+name)
		d.api.rests(t, d.base, "support", name)
		d.visit("#/c/support/" + escaped)
		d.until("the conversation "+name+" is shown", says("#messages", "I am "+name)+" && "+counts("#messages .reply[data-state=sent]", 1))
		d.says("support", name, "m2", "again "+name)
		d.until("its events come", says("#messages", "again "+name)+" && "+counts("#messages .reply[data-state=sent]", 2))
		d.press("#action-pause")
		d.until("it can be acted upon", one("#phase")+".dataset.phase === 'paused'")
		if got := d.api.look(d.base, "support", name).Phase; got != "paused" {
			t.Errorf("%s is %s", name, got)
		}
	}
}
