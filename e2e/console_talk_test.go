package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// timelineOf is what the API says of the last turns.
func (d *desk) timelineOf(bot, conversation string) (steps []map[string]any) {
	d.t.Helper()
	var timeline struct {
		Turns []struct{ Steps []map[string]any }
	}
	d.get(strings.TrimPrefix(path("", bot, conversation), d.base)+"/timeline", &timeline)
	for _, turn := range timeline.Turns {
		steps = append(steps, turn.Steps...)
	}
	return steps
}

// A burst, a repeat, and one more while the model writes: seen live, and again
// from what was stored.
func TestConsoleTimelineLive(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	d.visit("#/c/support/c1")
	d.until("an empty one says so", says("#chat-empty", "Nothing was ever received here"))
	for i := range 4 {
		d.says("support", "c1", fmt.Sprintf("m%d", i+1), fmt.Sprintf("number %d", i+1))
	}
	d.says("support", "c1", "m2", "number 2")
	d.until("the inputs are drawn while the window runs", counts(".track circle.dot", 4))
	d.until("an attempt runs under its lease", counts(".track rect.attempt.running", 1)+" && "+counts(".track rect.lease", 1))
	d.until("the draft is shown", says(".draft .text", "You said"))
	d.picture("console-writing")
	d.says("support", "c1", "m5", "number 5")
	d.until("the attempt is struck through", counts(".track line.strike", 1)+" && "+says(".track svg", "saw 4, newest was 5"))
	d.until("the commit was refused", counts(".track path.commit.refused", 1)+" && "+says(".track svg", "4 of 5"))
	d.until("the reply is sent", counts(".track circle.sent.sent", 1)+" && "+says(".track svg", "5 = 5"))
	d.until("one reply covers all", counts("#messages .reply", 1)+" && "+says(".reply .covers", "answers 5 messages: 1, 2, 3, 4 and 5"))
	d.until("the repeat is drawn", counts(".track circle.hollow", 1))
	d.sameAsStored("support", "c1")
	d.picture("console-discard")
	drawn := d.count(".track [data-item]")
	d.visit("#/c/support/c1?turn=1")
	d.until("it can be replayed", fmt.Sprintf("%s.length === %d", all(".track [data-item]"), drawn))
	d.sameAsStored("support", "c1")
}

// sameAsStored compares the table and the JSON with the timeline, entry by entry.
func (d *desk) sameAsStored(bot, conversation string) {
	d.t.Helper()
	d.run("document.querySelector('#as-table').open = document.querySelector('#as-json').open = true")
	var stored []map[string]any
	var shown struct{ Steps []map[string]any }
	same := func() bool {
		stored = slices.DeleteFunc(d.timelineOf(bot, conversation), func(step map[string]any) bool { return step["type"] == "reply.delta" })
		_ = json.Unmarshal([]byte(d.content("#json")), &shown)
		kept := slices.DeleteFunc(shown.Steps, func(step map[string]any) bool { return step["type"] == "reply.delta" })
		return len(stored) > 0 && slices.EqualFunc(stored, kept, func(a, b map[string]any) bool {
			return a["type"] == b["type"] && a["at"] == b["at"] && a["version"] == b["version"] && a["token"] == b["token"]
		})
	}
	if !within(waitLimit, same) {
		d.t.Fatalf("the console shows %v\nstored is %v", shown.Steps, stored)
	}
	var rows []string
	for _, step := range stored {
		if step["type"] == "turn.ended" && slices.Contains([]any{"sent", "no_reply", "failed", "undelivered"}, step["reason"]) {
			continue // the row of the step before it tells that
		}
		rows = append(rows, fmt.Sprint(step["type"]))
	}
	got := evaluate[[]string](d.page, "[..."+all("#as-table tbody tr")+"].map((row) => row.dataset.type).filter((type) => type !== 'reply.delta')")
	if !slices.Equal(got, rows) {
		d.t.Errorf("the table has %v, stored is %v", got, rows)
	}
}

func TestConsoleTimelineSaysWhy(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	for i := range 3 {
		d.says("support", "c1", fmt.Sprintf("m%d", i+1), "hello")
	}
	eventually(t, "it writes", func() bool { return d.api.look(d.base, "support", "c1").Phase == "generating" })
	d.says("support", "c1", "m4", "wait")
	d.api.rests(t, d.base, "support", "c1")
	d.visit("#/c/support/c1")
	d.until("it is drawn", counts(".track circle.sent", 1))
	for selector, want := range map[string]string{
		"[data-lane=input].dot":       "accepted as input",
		"[data-lane=window].window":   "The quiet time lasted",
		"[data-lane=lease].lease":     "held the conversation under token",
		"rect.attempt.discarded":      "it saw 3, newest was 4",
		"path.commit.refused":         "Nothing was committed: the attempt had seen 3, but the newest input was 4",
		"path.commit:not(.refused)":   "passed: it had seen 4, and the newest was 4",
		"circle.sent[data-lane=send]": "was delivered",
	} {
		d.run(one(".track "+selector) + ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
		d.until(selector+" says why", says(".why", want))
		if d.count(".track rect.selection") != 1 {
			t.Errorf("%s is not marked as selected", selector)
		}
	}
	d.zoomsAndPans()
}

func (d *desk) zoomsAndPans() {
	t := d.t
	width := func() int { return d.number(one(".track svg") + ".clientWidth") }
	d.run(one(".track") + ".focus()")
	fitting := width()
	d.key("+")
	d.until("+ zooms in", fmt.Sprintf("%s.clientWidth > %d", one(".track svg"), fitting*5/4))
	closer := width()
	left := d.number(one(".track") + ".scrollLeft")
	d.wheel(-240)
	d.until("the wheel zooms in", fmt.Sprintf("%s.clientWidth > %d", one(".track svg"), closer))
	d.wheel(480)
	d.until("and out", fmt.Sprintf("%s.clientWidth < %d", one(".track svg"), closer))
	d.key("+")
	d.key("+")
	d.drag(-150)
	d.until("dragging moves it", fmt.Sprintf("%s.scrollLeft !== %d", one(".track"), left))
	d.key("0")
	d.until("0 fits everything in", fmt.Sprintf("%s.clientWidth <= %d", one(".track svg"), fitting+2))
	d.key(kb.Home)
	d.until("Home selects the first", says(".why", "Message accepted as input 1"))
	items := d.number("new Set([..." + all(".track [data-item]") + "].map((one) => one.dataset.item)).size")
	seen := map[string]bool{}
	for range items {
		seen[d.content(".why")] = true
		d.run(one(".track") + ".dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))")
	}
	if len(seen) < items-2 {
		t.Errorf("the arrow keys lead to %d sentences of %d things", len(seen), items)
	}
}

func (d *desk) middle() (x, y float64) {
	box := evaluate[[]float64](d.page, "(() => { const box = "+one(".track")+".getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; })()")
	return box[0], box[1]
}

func (d *desk) mouse(kind input.DispatchMouseEventType, x, y, wheel float64) {
	d.t.Helper()
	params := input.DispatchMouseEventParams{Type: kind, X: x, Y: y}
	if wheel == 0 {
		params.Button, params.Buttons, params.ClickCount = input.MouseButtonLeft, 1, 1
	} else {
		params.DeltaX, params.DeltaY = 1e-9, wheel // both are asked for, and a zero would be left out
	}
	if _, err := chromedp.Call(d.ctx, input.DispatchMouseEvent, params); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) wheel(by float64) {
	x, y := d.middle()
	d.mouse(input.DispatchMouseEventTypeMouseWheel, x, y, by)
}

func (d *desk) drag(by float64) {
	x, y := d.middle()
	d.mouse(input.DispatchMouseEventTypeMousePressed, x, y, 0)
	d.mouse(input.DispatchMouseEventTypeMouseMoved, x+by/2, y, 0)
	d.mouse(input.DispatchMouseEventTypeMouseMoved, x+by, y, 0)
	d.mouse(input.DispatchMouseEventTypeMouseReleased, x+by, y, 0)
}

func TestConsoleShowsWhatAReplyCovers(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	for _, turn := range []string{"a", "b"} {
		for i := range 2 {
			d.says("support", "c1", fmt.Sprintf("%s%d", turn, i), "hello "+turn)
		}
		d.api.rests(t, d.base, "support", "c1")
	}
	d.visit("#/c/support/c1")
	d.until("both replies are there", counts("#messages .reply[data-state=sent]", 2))
	d.run(all(".covers") + "[1].focus()")
	if got := evaluate[[]string](d.page, "[..."+all(".mine.covered")+"].map((one) => one.dataset.id)"); !slices.Equal(got, []string{"b0", "b1"}) {
		t.Errorf("the second reply marks %v", got)
	}
	d.run(all(".covers") + "[1].blur()")
	d.run(all("#messages .reply") + "[0].dispatchEvent(new PointerEvent('pointerenter'))")
	if got := evaluate[[]string](d.page, "[..."+all(".mine.covered")+"].map((one) => one.dataset.id)"); !slices.Equal(got, []string{"a0", "a1"}) {
		t.Errorf("the first reply marks %v", got)
	}
	d.run(all("#messages .reply .turn") + "[0].click()")
	d.until("its turn is shown", one("#turn")+".value === '1' && "+counts(".track circle.dot", 2))
}

func TestConsoleActions(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	d.says("support", "c1", "m1", "hello")
	d.api.rests(t, d.base, "support", "c1")
	d.visit("#/c/support/c1")

	d.run(one("#action-pause-field") + ".value = 'Bob is on it'")
	d.press("#action-pause")
	d.until("it is paused", one("#phase")+".dataset.phase === 'paused' && "+says(".facts", "Bob is on it"))
	d.until("the drawing marks it", all(".track rect.mark")+".length > 0")
	d.says("support", "c1", "m2", "are you there?")
	d.until("what comes waits", says(".facts", "1 input, since"))
	d.press("#action-resume")
	d.until("it is answered", counts("#messages .reply[data-state=sent]", 2))

	d.says("support", "c1", "m3", "now, please")
	// The page looks at the state every 700 ms at the most, so the window must last longer.
	if typing := d.api.do("POST", d.base+"/v1/bots/support/conversations/c1/typing", `{"for":"3s"}`); typing.status != 204 {
		t.Fatalf("typing: %d", typing.status)
	}
	d.press("#action-flush-now")
	d.until("the quiet time is over", one("#phase")+".dataset.phase === 'generating'")
	d.until("it is answered", counts("#messages .reply[data-state=sent]", 3))

	d.run(one("#action-reply-field") + ".value = 'Bob here: <b>done</b>'")
	d.press("#action-reply")
	d.until("a person’s reply is shown", counts("#messages .reply[data-state=sent]", 4)+" && "+says("#messages", "by a person"))
	for _, action := range []string{"pause", "resume", "flush", "reply"} {
		d.until(action+" is noted", says("#audit", action))
	}
	if got := d.count("#audit time"); got != 4 {
		t.Errorf("four actions are noted as %d: %s", got, d.content("#audit"))
	}
	d.picture("console-actions")

	d.press("#action-delete")
	d.until("it asks first", counts("dialog[open]", 1))
	d.run(all("dialog button") + "[0].click()")
	d.until("no means no", counts("dialog", 0))
	if d.api.look(d.base, "support", "c1").Version == 0 {
		t.Fatal("it was deleted, though the answer was no")
	}
	if problems := d.takeProblems(); len(problems) > 0 {
		t.Errorf("the browser logged errors before the deletion:\n%s", strings.Join(problems, "\n"))
	}
	d.expectsErrors = true // a read that is under way at the deletion is not found
	d.press("#action-delete")
	d.press("dialog .danger")
	d.until("it is gone", "location.hash === '#/conversations'")
	if got := d.api.do(http.MethodGet, path(d.base, "support", "c1"), "").status; got != http.StatusNotFound {
		t.Errorf("the deleted conversation is still there: %d", got)
	}
}

// The command lines that are shown do the same.
func TestConsoleCommandLines(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	name := "it's $(c1) \"x\""
	d.says("support", name, "m1", "hello")
	d.visit("#/c/support/" + strings.ReplaceAll(encoded(name), "+", "%20"))
	folder := t.TempDir()
	if err := os.Symlink(program(t), filepath.Join(folder, "onereply")); err != nil {
		t.Fatal(err)
	}
	shell := func(id string) {
		t.Helper()
		d.until("its command is shown", one("#action-"+id))
		line := d.content(".action:has(#action-" + id + ") code")
		command := exec.Command("sh", "-c", line)
		command.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, output)
		}
	}
	d.run(one("#action-pause-field") + ".value = \"it's mine\"; " + one("#action-pause-field") + ".dispatchEvent(new Event('input'))")
	shell("pause")
	d.until("the page hears of it", one("#phase")+".dataset.phase === 'paused' && "+says(".facts", "it's mine"))
	shell("resume")
	shell("flush-now")
	d.until("it is answered", counts("#messages .reply[data-state=sent]", 1))
	d.run(one("#action-reply-field") + ".value = 'Bob & co'; " + one("#action-reply-field") + ".dispatchEvent(new Event('input'))")
	shell("reply")
	d.until("the reply is shown", says("#messages", "Bob & co"))
	shell("delete")
	if got := d.api.do(http.MethodGet, path(d.base, "support", name), "").status; got != http.StatusNotFound {
		t.Errorf("it is still there: %d", got)
	}
}

func TestConsoleAttention(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	d.visit("#/attention")
	d.until("nothing needs anybody", says("#empty", "Nothing needs you"))
	d.fails("failed")
	d.vanishes("vanished")
	d.vanishes("arrived")
	d.until("all are listed", counts("#items .item", 3))
	d.picture("console-attention")
	d.until("the page’s name counts them", says("#attention-count", "3"))
	d.press("[data-kind=failed_turn] [data-action=requeue]")
	d.api.rests(t, d.base, "shop", "failed")
	d.until("it is no longer listed", counts("#items .item", 2))
	item := func(name string) string { return ".item:has(a[href*='" + name + "'])" }
	d.press(item("vanished") + " [data-action=resend]")
	d.api.rests(t, d.base, "shop", "vanished")
	d.press(item("arrived") + " [data-action=mark-sent]")
	d.until("nothing is left", counts("#items .item", 0)+" && "+says("#empty", "Nothing needs you"))
	for _, conversation := range []string{"vanished", "arrived"} {
		if lines := d.api.read(t, d.base, "shop", conversation); lines[1].Status != "sent" {
			t.Errorf("the reply of %s is %s", conversation, lines[1].Status)
		}
	}
	d.vanishes("again")
	d.visit("#/c/shop/again")
	d.until("the unknown one stands out", counts(".track rect.sent.unknown", 1))
	release := d.holds()
	defer release()
	d.run(transcriptComesLate)
	d.press("#actions [data-action=resend]")
	d.until("the transcript is read meanwhile", "window.asked")
	release()
	d.until("it is sent again from here too", "window.late && "+says("#messages .reply .state", "sent")+" && "+counts("#actions [data-action=resend]", 0))
}

// transcriptComesLate keeps the answer to the next reading of the transcript from the
// page until that was told that the reply is sent.
const transcriptComesLate = `{
	const real = window.fetch;
	const stream = new EventSource('/v1/bots/shop/conversations/again/events');
	const open = new Promise((done) => { stream.onopen = done; });
	const told = new Promise((done) => {
		stream.addEventListener('reply.sent', () => { stream.close(); setTimeout(done, 200); }); // the page's own stream may be later
	});
	window.fetch = async (...call) => {
		const answer = await real(...call);
		if (!String(call[0]).includes('/transcript')) return answer;
		window.fetch = real;
		await open;
		window.asked = true;
		await told;
		setTimeout(() => { window.late = true; }, 200);
		return answer;
	};
}`

// A turn that lost its worker is shown, and counted.
func TestConsoleShowsLostLeases(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	d.expectsErrors = true // it restarts the node
	d.visit("#/attention")
	d.says("support", "c1", "m1", "hello")
	d.restarts("support", "c1")
	d.until("the lost worker is listed", counts("#items [data-kind=lease_lost]", 1)+" && "+says("#items", "was lost while generating")+" && "+says("#items", "goes on"))
	d.picture("console-lost-lease")
	d.api.rests(t, d.base, "support", "c1")
	d.until("it is not once the turn is over", counts("#items .item", 0))
	d.visit("#/overview")
	d.until("it is counted", "[..."+all(".tiles div")+"].some((tile) => tile.textContent.includes('leases lost') && tile.textContent.includes('1'))")
	d.run(one(".tiles a") + ".click()")
	d.until("and leads to what is known", "location.hash === '#/attention'")
}

// The hard cap has its flag, edits and deletions their signs.
func TestConsoleTimelineSigns(t *testing.T) {
	t.Parallel()
	d := sit(t, "")
	d.visit("#/c/support/c1")
	deadline := time.Now().Add(waitLimit)
	for i := 0; !d.truth(all(".track path.cap") + ".length > 0"); i++ {
		if time.Now().After(deadline) {
			t.Fatal("the window does not reach its hard cap")
		}
		d.says("support", "c1", fmt.Sprintf("m%d", i), "and another thing")
	}
	d.api.rests(t, d.base, "support", "c1")
	d.says("support", "c1", "e1", "typo")
	d.says("support", "c1", "e2", "gone")
	if got := d.api.do(http.MethodPatch, path(d.base, "support", "c1")+"/messages/e1", `{"text":"mended"}`); got.status != http.StatusAccepted {
		t.Fatal(got)
	}
	if got := d.api.do(http.MethodDelete, path(d.base, "support", "c1")+"/messages/e2", ""); got.status != http.StatusAccepted {
		t.Fatal(got)
	}
	d.until("both are drawn", counts(".track circle.ring", 1)+" && "+counts(".track path.cross", 1))
	d.until("the chat shows them", says("#messages", "mended")+" && "+says("#messages", "This message was deleted"))
}
