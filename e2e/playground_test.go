package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestEnterSendsAtOnceAndClearsTheField(t *testing.T) {
	t.Parallel()
	p := open(t)
	if p.hidden("#chat-empty") || p.hidden(".timeline .empty") || p.hidden("#log-empty") {
		t.Error("an empty conversation does not say what to do")
	}
	p.picture("empty")
	p.send("first")
	if got := p.text(one("#text") + ".value"); got != "" {
		t.Errorf("the field still holds %q", got)
	}
	p.until("the message is shown", says("#messages .mine .text", "first"))
	p.send("   ")
	p.until("the reply is shown", counter("replies", 1))
	if got := p.count("#messages .mine"); got != 1 {
		t.Errorf("%d messages, want 1: a blank one is not sent", got)
	}
	p.until("the list tells the window", says("#log", "Message accepted as input 1")+" && "+says("#log", "The window opens and ends in"))
}

func TestFiveFastMessagesGetOneReplyThatCoversThem(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.click("#burst")
	p.until("the draft is shown", counts(".draft", 1)+" && "+one(".draft .text")+".textContent.length > 12")
	p.picture("writing")
	p.until("the reply is sent", counter("replies", 1)+" && "+counter("messages", 5))
	p.until("the drawing shows it", counts(".track svg circle.dot", 5)+" && "+counts(".track svg circle.sent", 1))
	if got := p.content("#messages .reply .covers"); got != "answers 5 messages: 1, 2, 3, 4 and 5" {
		t.Errorf("the reply says %q", got)
	}
	if p.count(".draft") != 0 || p.count("#messages .mine[data-state=answered]") != 5 {
		t.Error("the draft is still there, or a message is not shown as answered")
	}
	p.run(one(".covers") + ".focus()")
	if got := p.count("#messages .mine.covered"); got != 5 {
		t.Errorf("%d messages are marked as covered, want 5", got)
	}
	p.picture("burst")
	p.run(one(".covers") + ".blur()")
	if got := p.count("#messages .mine.covered"); got != 0 {
		t.Errorf("%d messages are still marked", got)
	}
}

func TestCorrectionWhileItWritesDiscardsTheDraft(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.click("#correct")
	p.until("the draft was discarded", counter("discards", 1))
	p.until("the drawing strikes the attempt through", counts(".track svg line.strike", 1))
	if !p.truth(says(".track svg", "saw 1, newest was 2")) {
		t.Error("the drawing does not say what the discarded attempt saw")
	}
	p.until("one reply answers both", counter("replies", 1))
	if got := p.content("#messages .reply .covers"); got != "answers 2 messages: 1 and 2" {
		t.Errorf("the reply says %q", got)
	}
	if p.count("#messages .reply") != 1 || !p.truth(says("#log", "it saw 1, newest was 2")) {
		t.Error("the discarded draft is still shown, or the list does not tell of it")
	}
	p.picture("discard")
}

func TestRepeatIsShownAsRecognised(t *testing.T) {
	t.Parallel()
	p := open(t)
	if !p.truth(one("#repeat") + ".disabled") {
		t.Error("there is nothing to deliver again yet")
	}
	p.send("only once")
	p.until("it can be delivered again", "!"+one("#repeat")+".disabled")
	p.click("#repeat")
	p.until("the repeat is counted", counter("repeats", 1))
	p.until("the message says so", says("#messages .mine .repeats", "recognised"))
	p.until("the drawing shows it", counts(".track svg circle.hollow", 1))
	if got := p.count("#messages .mine"); got != 1 {
		t.Errorf("%d messages, want 1", got)
	}
	p.until("one reply", counter("replies", 1))
}

func TestEditAndDelete(t *testing.T) {
	t.Parallel()
	p := open(t)
	if p.backend != nil {
		p.backend.waits(6 * time.Second) // for all that is done before the reply
	}
	p.send("one", "two", "three")
	p.until("all are accepted", counter("messages", 3))
	p.run(one("#messages .mine .tools button:nth-child(2)") + ".click()")
	p.until("the bubble can be edited", counts("#messages .mine .editing textarea", 1))
	p.do("replace the text", chromedp.SendKeys(".editing textarea", "uno"))
	p.picture("edit")
	p.enter()
	p.until("the edit is accepted", says("#messages .mine .state", "edited as #4"))
	p.run(all("#messages .mine") + "[1].querySelector('.tools button:nth-child(3)').click()")
	p.until("the deletion is accepted", says("#messages .mine[data-state=deleted] .text", "was deleted"))
	p.until("both are drawn", counts(".track svg circle.ring", 1)+" && "+counts(".track svg path.cross", 1))
	p.until("the reply covers what is left", counter("replies", 1))
	if got := p.content("#messages .reply .covers"); got != "answers 2 messages: 1 and 3" {
		t.Errorf("the reply says %q", got)
	}
	if !p.truth(says("#messages .reply .text", "uno")) || p.truth(says("#messages .reply .text", "two")) {
		t.Error("the reply answers the text before the edit, or a deleted message")
	}
	p.run(one("#messages .mine .tools button:nth-child(3)") + ".click()")
	p.until("an answered message is erased", all("#messages .mine")+"[0].dataset.state === 'deleted'")
}

func TestEndlessTypingShowsTheHardCap(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.click("#endless")
	p.until("it can be stopped", one("#endless")+".getAttribute('aria-pressed') === 'true'")
	p.until("the window reaches its hard cap", says("#log", "hard cap")+" && "+all(".track svg path.cap")+".length > 0")
	p.picture("cap")
	p.until("a reply comes nevertheless", "Number("+one("#count-replies")+".textContent) > 0")
	p.picture("endless")
	p.click("#endless")
	p.until("everything is answered", counts("#messages .mine:not([data-state=answered])", 0))
}

func TestReconnectsAfterTheServerWentAway(t *testing.T) {
	t.Parallel()
	testReconnect(t, "can’t be reached", (*backend).stop, func(b *backend) { b.restart(t) })
}

func TestReconnectsAfterTheStoreWasOutOfReach(t *testing.T) {
	t.Parallel()
	testReconnect(t, "out of reach", func(b *backend) { b.setDown(true) }, func(b *backend) {
		b.wasRefused(t)
		b.setDown(false)
	})
}

func testReconnect(t *testing.T, why string, away, back func(*backend)) {
	p := open(t)
	if p.backend == nil {
		t.Skip("it takes the server away, which is done only to the stand-in")
	}
	p.expectsErrors = true
	p.send("before")
	p.until("it is answered", counter("replies", 1))
	away(p.backend)
	p.until("the page says that it is away", one("#connection")+".dataset.state === 'lost'")
	p.until("and why", says("#trouble", why))
	p.send("meanwhile")
	p.until("the message waits", says("#messages .mine[data-state=unsent] .note", "safe"))
	p.picture("lost")
	back(p.backend)
	p.until("it is connected again", one("#connection")+".dataset.state === 'live' && "+one("#trouble")+".hidden")
	p.click("#messages .mine[data-state=unsent] .retry")
	p.until("it is answered", counter("replies", 2)+" && "+counter("messages", 2))
}

func TestReloadGoesOnWithTheConversation(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.send("remember me")
	p.until("it is answered", counter("replies", 1))
	p.do("reload", chromedp.Reload())
	p.until("the transcript is back", counter("replies", 1)+" && "+counter("messages", 1))
	p.send("and me")
	p.until("it goes on", counter("replies", 2)+" && "+counter("messages", 2))
	p.click("#new")
	p.until("a new conversation is empty", counter("messages", 0)+" && !"+one("#chat-empty")+".hidden")
}

func TestUnknownBotSaysWhatToDo(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.expectsErrors = true
	p.do("navigate", chromedp.Navigate(p.base+"/?bot=nobody"))
	p.until("the page says so", says("#trouble", "no bot named “nobody”"))
}

func TestTextIsShownAsText(t *testing.T) {
	t.Parallel()
	p := open(t)
	texts := []string{
		`<img src=x onerror="window.hit=1"><script>window.hit=1</script>`,
		"שלום, مرحبا world",
		"👩‍👩‍👧‍👦 🇩🇪 é",
		strings.Repeat("unbreakable", 40),
	}
	p.send(texts...)
	p.until("it is answered", counter("replies", 1))
	for i, want := range texts {
		if got := p.text(all("#messages .mine .text") + "[" + string(rune('0'+i)) + "].textContent"); got != want {
			t.Errorf("message %d is shown as %q, want %q", i+1, got, want)
		}
	}
	if p.truth("window.hit") || p.count("#messages img, #messages script") != 0 {
		t.Error("markup in a message became part of the page")
	}
	if !p.truth(`getComputedStyle(document.querySelectorAll('#messages .mine .text')[1]).direction === 'rtl'`) {
		t.Error("right-to-left text runs from left to right")
	}
	p.picture("text")
}

func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := open(t)
	if got := p.text("document.activeElement.id"); got != "text" {
		t.Fatalf("the focus starts at %q, want the message field", got)
	}
	p.key("a")
	p.enter()
	p.until("the message is accepted", counter("messages", 1))
	focus := func(condition string) {
		t.Helper()
		for range 80 { // once around the page, the marks of its drawing included
			p.key("\t")
			if p.truth("document.activeElement.matches(" + quote(condition) + ")") {
				return
			}
		}
		t.Fatalf("Tab does not reach %s", condition)
	}
	focus("[aria-label='Edit message 1']")
	if got := p.text("getComputedStyle(document.activeElement).outlineStyle"); got != "solid" {
		t.Errorf("the focus is not visible: outline %q", got)
	}
	p.until("the button is visible", "getComputedStyle(document.activeElement).opacity === '1'")
	p.enter()
	p.until("it edits", "document.activeElement.matches('.editing textarea')")
	p.key("\x1b")
	p.until("Escape ends it", counts(".editing", 0)+" && document.activeElement.textContent === 'Edit'")
	focus("#burst")
	p.key(" ")
	p.until("the button sends", counter("messages", 6))
	p.until("everything is answered", counts("#messages .mine:not([data-state=answered])", 0))
	focus(".covers")
	p.until("the covered messages are marked", all("#messages .mine.covered")+".length > 0")
}

func TestDarkPhoneAndCalm(t *testing.T) {
	t.Parallel()
	p := open(t)
	light := p.text("getComputedStyle(document.body).backgroundColor")
	p.media("prefers-color-scheme", "dark")
	if dark := p.text("getComputedStyle(document.body).backgroundColor"); dark == light {
		t.Error("the page is as light for those who prefer it dark")
	}
	p.click("#correct")
	p.until("it is answered", counter("replies", 1)+" && "+counter("discards", 1))
	p.picture("dark")
	p.do("make it a phone", chromedp.EmulateViewport(390, 844))
	p.until("it is one column", one(".side")+".getBoundingClientRect().left < 30")
	if got := p.number("document.documentElement.scrollWidth"); got > 390 {
		t.Errorf("the page is %d wide on a phone of 390", got)
	}
	p.picture("phone-dark")
	p.media("prefers-color-scheme", "light")
	p.run("scrollTo(0, 700)")
	p.picture("phone-lower")
	p.media("prefers-reduced-motion", "reduce")
	p.send("calm")
	p.until("it is answered", counter("replies", 2))
	if got := p.number("document.getAnimations().length"); got != 0 {
		t.Errorf("%d animations for those who want less motion", got)
	}
}

func TestAccessibilityRules(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		const advice = "axe-core is not there: run npm ci in the folder e2e"
		if os.Getenv("CI") == "true" {
			t.Fatal(advice)
		}
		t.Skip(advice)
	}
	p := open(t)
	p.run(string(rules))
	p.passes("empty")
	p.click("#correct")
	p.until("it writes", counts(".draft", 1))
	p.until("it is answered", counter("replies", 1))
	p.click("#repeat")
	p.until("the repeat is counted", counter("repeats", 1))
	p.run(one("#messages .mine .tools button:nth-child(2)") + ".click()")
	p.passes("light")
	p.media("prefers-color-scheme", "dark")
	p.passes("dark")
	p.do("make it a phone", chromedp.EmulateViewport(390, 844))
	p.passes("phone")
}
