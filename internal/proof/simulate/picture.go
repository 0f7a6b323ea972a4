package simulate

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"
)

// The picture: a panel for each protocol, time from top to bottom, one lane
// for each process, and what the person sees at the right.
const (
	panelWidth  = 390
	laneWidth   = 56
	secondLong  = 34
	topMargin   = 96
	leftMargin  = 58
	replyColumn = leftMargin + 3*laneWidth + 26
	pictureEnd  = 12 // seconds
)

// drawn are the protocols of the picture.
func drawn() []Protocol { return []Protocol{Lock, Debounce, Lease} }

// Picture draws one small story as each protocol tells it: two messages over
// two processes, and a third while the model writes.
func Picture(out io.Writer) error {
	var b strings.Builder
	width, height := panelWidth*len(drawn()), topMargin+pictureEnd*secondLong+40
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12" role="img" aria-labelledby="title">`+"\n", width, height)
	fmt.Fprintf(&b, "<title id=\"title\">The same three messages through a short lock, a debounce without a final check, and a lease with one</title>\n")
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height)
	for i, p := range drawn() {
		fmt.Fprintf(&b, "<g transform=\"translate(%d 0)\">\n", i*panelWidth)
		if err := drawPanel(&b, p); err != nil {
			return err
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// picturePlan is the story.
func picturePlan() *Plan {
	p := &Plan{Seed: 7, end: time.Minute, settings: plainSettings()}
	p.fastest, p.slowest = 4*time.Second, 4*time.Second
	for i, m := range []struct {
		at   time.Duration
		node int
	}{{0, 0}, {700 * time.Millisecond, 1}, {3400 * time.Millisecond, 0}} {
		p.add(Event{ID: i + 1, At: m.at, What: send, Node: m.node, Message: fmt.Sprintf("m%d", i+1)})
	}
	return p
}

func drawPanel(b *strings.Builder, p Protocol) error {
	s, err := p.tell(picturePlan())
	if err != nil {
		return err
	}
	var c Comparison
	c.add(s, map[int]int{}, map[int]int{})
	text(b, 16, 28, "#111111", `font-size="18" font-weight="600"`, string(p))
	text(b, 16, 48, "#444444", "", fmt.Sprintf("replies: %d (%d duplicate, %d stale), lost: %d, model calls: %d", c.Replies, c.Duplicates, c.Stale, c.Lost, c.ModelCalls))
	for lane := range 3 {
		x := leftMargin + lane*laneWidth + laneWidth/2
		text(b, x, 74, "#444444", `text-anchor="middle"`, fmt.Sprintf("node %d", lane+1))
		fmt.Fprintf(b, "<line x1=\"%d\" y1=\"82\" x2=\"%d\" y2=\"%d\" stroke=\"#d8d8d8\"/>\n", x, x, topMargin+pictureEnd*secondLong)
	}
	text(b, replyColumn, 74, "#444444", "", "the person sees")
	for second := 0; second <= pictureEnd; second += 2 {
		text(b, 14, topMargin+second*secondLong+4, "#767676", "", fmt.Sprintf("%d s", second))
	}
	drawRuns(b, s)
	drawArrivals(b, s)
	drawReplies(b, s)
	return nil
}

func drawRuns(b *strings.Builder, s story) {
	for _, r := range s.runs {
		x := leftMargin + r.node*laneWidth + 14
		top, bottom := height(r.from.Sub(start)), height(r.to.Sub(start))
		fill := "#8fb7e8"
		if !s.shown(r) {
			fill = "#e3e3e3"
			text(b, x-8, bottom+13, "#555555", "", "discarded")
		}
		fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"28\" height=\"%d\" rx=\"4\" fill=\"%s\" fill-opacity=\"0.85\" stroke=\"#5a7fae\"/>\n", x, top, max(bottom-top, 3), fill)
	}
}

// shown reports whether a reply came of a call of the model.
func (s *story) shown(r span) bool {
	return slices.ContainsFunc(s.replies, func(a answer) bool { return a.at >= r.to && slices.Equal(a.covers, r.shows) })
}

func drawArrivals(b *strings.Builder, s story) {
	for _, a := range s.arrivals {
		x, y := leftMargin+a.node*laneWidth+laneWidth/2, height(a.at.Sub(start))
		fill := "#1f6f3f"
		if !s.answers(a.id) {
			fill = "#c62828"
		}
		fmt.Fprintf(b, "<circle cx=\"%d\" cy=\"%d\" r=\"5\" fill=\"%s\"/>\n", x, y, fill)
		label := a.id
		if !s.answers(a.id) {
			label += ", lost"
		}
		text(b, x+16, y+4, fill, `font-weight="600"`, label)
	}
}

func (s *story) answers(id string) bool {
	return slices.ContainsFunc(s.replies, func(a answer) bool { return slices.Contains(a.covers, id) })
}

func drawReplies(b *strings.Builder, s story) {
	before := map[string]bool{}
	free := 0
	for _, r := range s.replies {
		note, fill := "", "#e6f4ea"
		if s.stale(r) {
			note, fill = " stale", "#fff3d6"
		}
		for _, id := range r.covers {
			if before[id] {
				note, fill = " again", "#fde0e0"
			}
			before[id] = true
		}
		y := max(height(r.at.Sub(start)), free)
		free = y + 24
		fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"21\" rx=\"9\" fill=\"%s\" stroke=\"#9a9a9a\"/>\n", replyColumn-6, y-14, panelWidth-replyColumn-6, fill)
		text(b, replyColumn+2, y+1, "#111111", "", "re "+strings.Join(r.covers, " ")+note)
	}
}

func height(at time.Duration) int { return topMargin + int(at.Milliseconds())*secondLong/1000 }

func text(b *strings.Builder, x, y int, fill, attributes, s string) {
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" fill=\"%s\" %s>%s</text>\n", x, y, fill, attributes, html.EscapeString(s))
}
