package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func encoded(text string) string { return url.QueryEscape(text) }

func TestConsoleListIsLive(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	d.visit("#/conversations")
	d.until("an empty one says what to do", says("#empty", "onereply send BOT CONVERSATION"))
	d.says("support", "first", "m1", "where is my parcel")
	d.until("it appears", says(".rows .name", "first")+" && "+says(".rows .last", "where is my parcel"))
	d.until("its phase follows", one(".rows .phase")+".dataset.phase === 'generating'")
	d.until("with its node", one(".rows .node")+".textContent !== ''")
	d.until("to the end", one(".rows .phase")+".dataset.phase === 'idle'")
	d.says("shop", "second", "m1", "[m1] hello")
	d.until("the newest is on top", one(".rows [aria-rowindex='2'] a")+"?.textContent === 'second'")
	d.fails("broken")
	d.until("it shows which failed", counts(".rows .phase[data-phase=failed]", 1))
	d.picture("console-list")
}

func TestConsoleListFilters(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	for i := range 6 {
		d.says("support", fmt.Sprintf("c%d", i), "m1", fmt.Sprintf("parcel %d", i))
	}
	d.fails("broken")
	d.visit("#/conversations")
	d.until("all are shown", counts(".rows [role=row]", 7))
	choose := func(id, value string) {
		d.run(one("#"+id) + ".value = " + quote(value) + "; " + one("#"+id) + ".dispatchEvent(new Event('input', {bubbles: true}))")
	}
	choose("filter-bot", "shop")
	d.until("one bot", counts(".rows [role=row]", 1)+" && location.hash === '#/conversations?bot=shop'")
	choose("filter-bot", "")
	choose("filter-phase", "failed")
	d.until("one phase", counts(".rows [role=row]", 1)+" && location.hash === '#/conversations?phase=failed'")
	choose("filter-phase", "")
	d.do("search", chromedp.SendKeys("#filter-text", "PARCEL 3"))
	d.until("a text", counts(".rows [role=row]", 1)+" && location.hash.includes('q=PARCEL')")
	d.do("reload", chromedp.Reload())
	d.until("the address keeps it", counts(".rows [role=row]", 1)+" && "+one("#filter-text")+".value === 'PARCEL 3'")
	d.visit("#/conversations?q=nothing")
	d.until("nothing matches", says("#empty", "No conversation matches"))
	d.press("#empty button")
	d.until("the filters are gone", counts(".rows [role=row]", 7)+" && location.hash === '#/conversations'")
}

// manyConfig has conversations that wait for longer than the test runs.
const manyConfig = `
bots:
  support:
    debounce: 10h
    max_wait: 10h
    responder: {kind: echo}
`

// TestConsoleManyConversations: the list answers at once and scrolls through
// thousands, with few rows in the document. It counts slow frames, so no other test
// with a browser runs beside it.
func TestConsoleManyConversations(t *testing.T) {
	many := *manyShown
	n := start(t, nil, append(settings(t, inMemory(t), manyConfig), "--log-level", "warn")...)
	d := &desk{api: newCaller(t), node: n, page: &page{t: t, base: n.url}}
	var next atomic.Int64
	var writers sync.WaitGroup
	for range 64 {
		writers.Go(func() {
			for i := next.Add(1); i <= int64(many) && !t.Failed(); i = next.Add(1) {
				if _, ok, raw := d.api.say(n.url, "support", fmt.Sprintf("c%05d", i), "m1", fmt.Sprintf("text %d", i)); !ok {
					t.Errorf("message %d: %v", i, raw)
				}
			}
		})
	}
	writers.Wait()

	fastest := time.Hour
	for range 5 {
		began := time.Now()
		if got := d.api.do(http.MethodGet, n.url+"/v1/conversations?limit=200&preview=true", ""); got.status != http.StatusOK {
			t.Fatal(got)
		}
		fastest = min(fastest, time.Since(began))
	}
	t.Logf("a page of the list takes %v at its best", fastest)

	d.start()
	d.visit("#/conversations")
	d.until("it is shown", says("#count", "200+ shown"))
	const measure = `(async () => {
		const scroller = document.querySelector('#scroller');
		let [frames, slow, rows, last] = [0, 0, 0, performance.now()];
		const end = last + 8000;
		while (performance.now() < end) {
			scroller.scrollTop += 900;
			await new Promise(requestAnimationFrame);
			const now = performance.now();
			frames += 1;
			if (now - last > 250) slow += 1;
			last = now;
			rows = Math.max(rows, document.querySelectorAll('.rows [role=row]').length);
		}
		return [frames, slow, rows, Number(document.querySelector('#count').textContent.match(/\d+/)[0])];
	})()`
	got, err := chromedp.Run(d.ctx, chromedp.Evaluate[[]int](measure, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	frames, slow, rows, read := got[0], got[1], got[2], got[3]
	t.Logf("%d frames while scrolling, %d of them slow; at most %d rows in the document, %d read", frames, slow, rows, read)
	if rows > 60 {
		t.Errorf("%d rows in the document: only those in sight belong there", rows)
	}
	if read < 1000 {
		t.Errorf("scrolling read %d conversations", read)
	}
	if slow > frames/10 {
		t.Errorf("%d of %d frames took long", slow, frames)
	}
	d.run("window.atEnd = setInterval(() => { document.querySelector('#scroller').scrollTop = 1e9; }, 20)")
	d.until("the end is reached", says("#count", fmt.Sprintf("%d shown", many)))
	d.until("the oldest is shown", one(fmt.Sprintf(".rows [aria-rowindex='%d'] a", many+1)))
	d.visit("#/conversations?q=c04711")
	d.until("one of them is found", counts(".rows [role=row]", 1)+" && "+says(".rows .name", "c04711"))
	if strings.Contains(d.content("#count"), "Loading") {
		t.Error("it still says that it loads")
	}
}
