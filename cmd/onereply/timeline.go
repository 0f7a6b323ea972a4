package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onereply/onereply"
)

// printTimeline prints a table of each turn. A line has the time, the time since the
// turn's first step, the step's type, and its details:
//
//	turn 1 (2 steps before these are not kept)
//	  03:04:05.000Z  +0s    message.accepted  message m1, version 1
//	  03:04:06.500Z  +1.5s  turn.started      version 1, saw 1, attempt 1, lease 7 of n1
//
// With this an operator can see why a reply came late: how long the window was open,
// which attempts were discarded, and what failed. One table for all turns aligns them.
func (p *program) printTimeline(t onereply.Timeline) error {
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for i, one := range t.Turns {
		if i > 0 {
			fmt.Fprintln(table)
		}
		fmt.Fprintln(table, turnLine(one))
		for _, step := range one.Steps {
			after := step.At.Sub(one.Steps[0].At.Time).Round(time.Millisecond)
			fmt.Fprintf(table, "  %s\t+%v\t%s\t%s\n", clock(step.At), after, step.Type, stepLine(step))
		}
	}
	return table.Flush()
}

// turnLine is the headline of a turn. A node keeps a bounded number of steps; the number
// of dropped ones is shown, so that nobody takes the rest for all.
func turnLine(one onereply.TimelineTurn) string {
	text := fmt.Sprintf("turn %d", one.Turn)
	if one.Open {
		text += ", open"
	}
	if one.Lost > 0 {
		text += fmt.Sprintf(" (%s before these are not kept)", count(one.Lost, "step"))
	}
	return text
}

// stepLine is the details of a step. "saw 3" is the version that the attempt has seen: a
// reply answers the messages up to it. A message that was accepted names no attempt,
// although one may be running.
func stepLine(s onereply.Event) string {
	var parts []string
	add := func(show bool, format string, args ...any) {
		if show {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(s.MessageID != "", "message %s", line(s.MessageID))
	add(s.ReplyID != "", "reply %s", line(s.ReplyID))
	add(strings.HasPrefix(s.Type, "part."), "part %d of %d", s.Part, s.Parts)
	add(true, "version %d", s.Version)
	add(s.Through > 0 && s.Type != "message.accepted", "saw %d", s.Through)
	add(s.Attempt > 0 && s.Type != "message.accepted", "attempt %d", s.Attempt)
	add(s.Token > 0 && s.Node != "", "lease %d of %s", s.Token, line(s.Node))
	if !s.FirstByteAt.IsZero() {
		add(true, "first byte %s", clock(s.FirstByteAt))
	}
	if !s.DueAt.IsZero() && s.Type != "turn.started" {
		add(true, "due %s", clock(s.DueAt))
	}
	add(s.LateInput, "late input")
	add(s.Reason != "", "(%s)", line(s.Reason))
	return strings.Join(parts, ", ")
}
