package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestScreenshots makes the pictures of the documentation, in the folder that
// ONEREPLY_SCREENSHOTS names: "make screenshots".
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("ONEREPLY_SCREENSHOTS")
	if folder == "" {
		t.Skip("ONEREPLY_SCREENSHOTS names no folder")
	}
	d := sit(t, "")
	d.expectsErrors = true // it restarts the node
	d.fails("chat-4")
	d.vanishes("chat-9")
	d.traffic()
	d.visit("#/overview")
	d.until("it is filled", "!document.querySelector('main').innerText.includes('Loading')")
	d.keeps(folder, "overview")
	d.visit("#/conversations")
	d.until("it is filled", counts(".rows .phase[data-phase=paused]", 1))
	for i := range 5 {
		d.says("support", fmt.Sprintf("chat-%d", 18+3*i), "m9", fmt.Sprintf("is parcel %d lost?", 4701+3*i))
	}
	d.until("several phases are seen", all(".rows .phase[data-phase=generating]")+".length > 1")
	d.keeps(folder, "conversations")
	d.sized(1280, 420, "#/attention")
	d.until("it is filled", counts("#items .item", 2))
	d.keeps(folder, "attention")
	d.visit("#/c/support/ann")
	d.bursts("ann")
	d.restarts("support", "ann")
	d.until("the reply is sent", counts(".track circle.sent.sent", 1)+" && "+says(".facts", "answered up to 5"))
	d.run(one(".track rect.attempt.discarded") + ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
	d.run(one(".covers") + ".focus()")
	d.until("it says why", says(".why", "newest was 5"))
	d.keeps(folder, "conversation")
	p := demonstrate(t)
	p.slide("debounce", 0.5, "500ms")
	p.slide("model_delay", 5, "5s")
	p.click("#compare")
	p.send("one", "two")
	p.until("both models write", says("#compared", "the model writes")+" && "+says(".draft .text", "You said"))
	p.send("three")
	p.until("the difference is seen", counted("replies", 1, 2))
	p.keeps(folder, "playground")
	locked := sit(t, "api_keys: ["+consoleKey+"]")
	locked.expectsErrors = true
	locked.do("visit", chromedp.EmulateViewport(1280, 720), chromedp.Navigate(locked.base+"/console/"))
	locked.until("it asks for a key", "document.activeElement.id === 'key'")
	locked.keeps(folder, "login")
}

// traffic is bursts in many conversations, with repeats and discards.
func (d *desk) traffic() {
	d.t.Helper()
	talk := func(id, text string, from, to int) {
		for i := from; i <= to; i++ {
			d.says("support", fmt.Sprintf("chat-%d", i), id, fmt.Sprintf(text, 4683+i))
		}
	}
	talk("m1", "where is my parcel %d?", 17, 34)
	talk("m2", "it was due on Monday (%d)", 17, 30)
	talk("m1", "where is my parcel %d?", 17, 22)
	talk("m3", "hello? %d!", 17, 28)
	eventually(d.t, "it writes", func() bool { return d.api.look(d.base, "support", "chat-17").Phase == "generating" })
	talk("m4", "sorry, I meant %d9", 17, 20)
	for i := 17; i <= 34; i++ {
		d.api.rests(d.t, d.base, "support", fmt.Sprintf("chat-%d", i))
	}
	if got := d.api.do(http.MethodPost, path(d.base, "support", "chat-31")+"/pause", `{"reason":"Bob is on it"}`); got.status != http.StatusOK {
		d.t.Fatal(got)
	}
	d.says("support", "chat-31", "m5", "are you there?")
}

// keeps writes a screenshot of 256 colours, which is small enough for a page.
func (p *page) keeps(folder, name string) {
	p.t.Helper()
	const most = 120_000
	shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		p.t.Fatal(err)
	}
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&small, paletted(full)); err != nil {
		p.t.Fatal(err)
	}
	if small.Len() > most {
		p.t.Errorf("%s has %d bytes, at most %d are wanted", name, small.Len(), most)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), small.Bytes(), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// paletted keeps the colours that occur most; the others become the nearest of
// these.
func paletted(full image.Image) *image.Paletted {
	bounds := full.Bounds()
	times := map[color.RGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			times[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	order := slices.SortedFunc(maps.Keys(times), func(a, b color.RGBA) int {
		return cmp.Or(times[b]-times[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var palette color.Palette
	for _, c := range order[:min(len(order), 256)] {
		palette = append(palette, c)
	}
	index := map[color.RGBA]uint8{}
	for c := range times {
		index[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, index[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)])
		}
	}
	return small
}
