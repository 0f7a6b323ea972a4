package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

const (
	waitLimit = time.Minute // someone who never stops typing waits long for a reply
	pace      = 40 * time.Millisecond
)

// page is a tab with the playground.
type page struct {
	t             *testing.T
	ctx           context.Context
	base          string
	backend       *backend // nil where a running server is used
	mu            sync.Mutex
	problems      []string // what the browser logged as an error
	expectsErrors bool     // the test makes requests fail, which the browser logs
}

// open starts a browser and shows the playground in a new conversation. The
// test fails where the browser logged an error that it did not take.
func open(t *testing.T) *page {
	t.Helper()
	p := &page{t: t, base: strings.TrimSuffix(os.Getenv("ONEREPLY_E2E_URL"), "/")}
	if p.base == "" {
		p.backend = newBackend(t)
		p.base = p.backend.server.URL
	}
	p.start()
	p.navigate("/")
	return p
}

// start opens the tab.
func (p *page) start() {
	t := p.t
	p.ctx = newTab(t, chromium(t))
	if _, err := chromedp.Call(p.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	p.watchProblems()
	t.Cleanup(func() {
		if t.Failed() {
			p.picture("failed-" + t.Name())
		}
		if problems := p.takeProblems(); len(problems) > 0 && !p.expectsErrors {
			t.Errorf("the browser logged errors:\n%s", strings.Join(problems, "\n"))
		}
	})
}

// chromium finds the browser.
func chromium(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("ONEREPLY_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const advice = "no Chromium found: install it (Debian: apt-get install chromium), or set ONEREPLY_CHROMIUM to its path"
	if os.Getenv("CI") == "true" {
		t.Fatal(advice)
	}
	t.Skip(advice)
	return ""
}

// browser is the one that all tests share, since one takes seconds of processor time to
// start. Each test has a context of its own in it, with its own storage and cookies.
var browser struct {
	start sync.Once
	ctx   context.Context
	stop  []func()
	err   error
}

func startBrowser(path, folder string) {
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(folder),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
	}
	for _, flag := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage",
		// A page goes on as if it were the only one.
		"disable-background-timer-throttling", "disable-renderer-backgrounding", "disable-backgrounding-occluded-windows",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	browser.ctx, browser.stop = ctx, []func(){stop, stopAllocator}
	browser.err = chromedp.Do(ctx)
}

// stopBrowser ends the browser, if there is one.
func stopBrowser() {
	for _, stop := range browser.stop {
		stop()
	}
}

// newTab opens an empty page in a context of its own.
func newTab(t *testing.T, path string) context.Context {
	t.Helper()
	browser.start.Do(func() { startBrowser(path, filepath.Join(workshop, "chromium")) })
	if browser.err != nil {
		t.Fatalf("start the browser: %v", browser.err)
	}
	ctx, cancel := context.WithTimeout(browser.ctx, 10*time.Minute) // longer than t.Context: for the last picture
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return ctx
}

func (p *page) watchProblems() {
	messages := chromedp.Console(p.ctx)
	go func() {
		for message, err := range messages {
			if err != nil {
				return
			}
			if message.Type == "error" || message.Type == chromedp.ConsoleException {
				p.mu.Lock()
				p.problems = append(p.problems, message.Text+" "+message.URL)
				p.mu.Unlock()
			}
		}
	}()
}

func (p *page) takeProblems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.problems
	p.problems = nil
	return taken
}

func (p *page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// navigate goes to a path and waits until the page is connected.
func (p *page) navigate(path string) {
	p.t.Helper()
	p.do("navigate", chromedp.Navigate("about:blank"), chromedp.EmulateViewport(1280, 820), chromedp.Navigate(p.base+path))
	p.until("the page is connected", `document.querySelector('#connection')?.dataset.state === 'live'`)
}

// text, number and truth are the values of JavaScript expressions.
func (p *page) text(expression string) string  { return evaluate[string](p, expression) }
func (p *page) number(expression string) int   { return evaluate[int](p, expression) }
func (p *page) truth(expression string) bool   { return evaluate[bool](p, "Boolean("+expression+")") }
func (p *page) run(statements string)          { evaluate[bool](p, "(() => {"+statements+"; return true})()") }
func (p *page) key(key string)                 { p.do("press a key", chromedp.KeyEvent(key)) }
func (p *page) click(selector string)          { p.do("click "+selector, chromedp.Click(selector)) }
func (p *page) count(selector string) int      { return p.number(all(selector) + ".length") }
func (p *page) hidden(selector string) bool    { return p.truth(one(selector) + ".hidden") }
func (p *page) content(selector string) string { return p.text(one(selector) + ".textContent") }
func one(selector string) string               { return "document.querySelector(" + quote(selector) + ")" }
func all(selector string) string               { return "document.querySelectorAll(" + quote(selector) + ")" }
func says(selector, text string) string {
	return one(selector) + "?.textContent.includes(" + quote(text) + ")"
}
func counts(selector string, want int) string {
	return fmt.Sprintf("%s.length === %d", all(selector), want)
}
func counter(name string, want int) string {
	return fmt.Sprintf("%s.textContent === '%d'", one("#count-"+name), want)
}
func evaluate[T any](p *page, code string) T {
	p.t.Helper()
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](code))
	if err != nil {
		p.t.Fatalf("evaluate %s: %v", code, err)
	}
	return got
}

// until polls a JavaScript condition.
func (p *page) until(what, condition string) {
	p.t.Helper()
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(pace) {
		if p.truth(condition) {
			return
		}
	}
	p.t.Fatalf("not within %s: %s\n%s", waitLimit, what, p.text("document.body.innerText"))
}

// send sends messages as a person does, one Enter each.
func (p *page) send(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		p.run(one("#text") + ".focus()")
		if _, err := chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
			p.t.Fatal(err)
		}
		p.enter()
	}
}

// enter presses Enter as a keyboard does: the line break comes with the key,
// and not where the page took the key for itself.
func (p *page) enter() {
	p.t.Helper()
	for _, step := range []input.DispatchKeyEventParams{
		{Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13},
		{Type: input.DispatchKeyEventTypeKeyUp, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13},
	} {
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, step); err != nil {
			p.t.Fatal(err)
		}
	}
}

// media emulates what the person prefers, such as a dark page.
func (p *page) media(name, value string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: name, Value: value}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// picture keeps a screenshot in the folder that ONEREPLY_E2E_PICTURES names.
func (p *page) picture(name string) {
	folder := os.Getenv("ONEREPLY_E2E_PICTURES")
	if folder == "" {
		return
	}
	image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, strings.ReplaceAll(name, "/", "-")+".png"), image, 0o600)
	}
	if err != nil {
		p.t.Logf("no picture: %v", err)
	}
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}
