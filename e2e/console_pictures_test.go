package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
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
	d.troubled = true // it restarts the node
	for i := range 14 {
		d.says("support", fmt.Sprintf("chat-%d", 17+i), "m1", fmt.Sprintf("where is my parcel %d?", 4700+i))
	}
	d.fails("chat-4")
	d.vanishes("chat-9")
	d.visit("#/c/support/ann")
	d.bursts("ann")
	d.restarts("support", "ann")
	d.until("the reply is sent", counts(".track circle.sent.sent", 1))
	d.run(one(".track rect.attempt.discarded") + ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
	d.run(one(".covers") + ".focus()")
	d.until("it says why", says(".why", "newest was 5"))
	d.keeps(folder, "conversation")
	for name, hash := range map[string]string{"overview": "#/overview", "conversations": "#/conversations", "attention": "#/attention"} {
		d.visit(hash)
		d.until("it is filled", "!document.querySelector('main').innerText.includes('Loading')")
		d.keeps(folder, name)
	}
	p := demonstrate(t)
	p.slide("debounce", 0.5, "500ms")
	p.slide("model_delay", 5, "5s")
	p.click("#compare")
	p.send("one", "two")
	p.until("both models write", says("#compared", "the model writes"))
	p.send("three")
	p.until("the difference is seen", counted("replies", 1, 2))
	p.keeps(folder, "playground")
	locked := sit(t, "api_keys: ["+consoleKey+"]")
	locked.troubled = true
	locked.do("visit", chromedp.EmulateViewport(1280, 720), chromedp.Navigate(locked.base+"/console/"))
	locked.until("it asks for a key", "document.activeElement.id === 'key'")
	locked.keeps(folder, "login")
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
