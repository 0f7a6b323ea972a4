package bench

import (
	"errors"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
)

// The size of one panel, in pixels.
const (
	panelWidth  = 720
	panelHeight = 180
	panelMargin = 48
)

// SVG draws the series of a report over time, one panel below the other. Each
// begins at zero, so that what is level looks level.
func (r Report) SVG(w io.Writer) error {
	var all []Series
	for _, s := range r.Sections {
		all = append(all, s.Series...)
	}
	if len(all) == 0 {
		return errors.New("nothing that was measured is a figure over time; the measurement mixed has some")
	}
	var text strings.Builder
	fmt.Fprintf(&text, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		panelWidth, panelHeight*len(all))
	text.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	for i, s := range all {
		s.draw(&text, i*panelHeight)
	}
	text.WriteString("</svg>\n")
	_, err := io.WriteString(w, text.String())
	return err
}

// draw draws one panel, its upper edge at top.
func (s Series) draw(text *strings.Builder, top int) {
	left, right := panelMargin, panelWidth-panelMargin
	upper, lower := top+panelMargin/2, top+panelHeight-panelMargin/2
	most, end := 1e-9, 1e-9
	if len(s.Values) > 0 {
		most, end = max(most, slices.Max(s.Values)), max(end, slices.Max(s.Seconds))
	}
	label := func(x, y int, anchor, what string) {
		fmt.Fprintf(text, `<text x="%d" y="%d" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(what))
	}
	label(left, upper-6, "start", strings.TrimSpace(s.Name+" "+s.Unit))
	label(left-4, upper+4, "end", readable(most))
	label(left-4, lower+4, "end", "0")
	label(right, lower+16, "end", readable(end)+" s")
	fmt.Fprintf(text, `<path d="M%d %dV%dH%d" fill="none" stroke="#999"/>`+"\n", left, upper, lower, right)
	var line strings.Builder
	for i := range s.Values {
		x := float64(left) + s.Seconds[i]/end*float64(right-left)
		y := float64(lower) - s.Values[i]/most*float64(lower-upper)
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y)
	}
	fmt.Fprintf(text, `<polyline points="%s" fill="none" stroke="#06c" stroke-width="1.5"/>`+"\n", strings.TrimSpace(line.String()))
}
