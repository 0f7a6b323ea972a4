package simulate

import (
	"fmt"
	"strings"
)

// String is the report for people.
func (r Report) String() string {
	var b strings.Builder
	t := r.Totals
	runs := "runs"
	if r.Runs == 1 {
		runs = "run"
	}
	fmt.Fprintf(&b, "%d %s from seed %d\n", r.Runs, runs, r.Seed)
	fmt.Fprintf(&b, "  %d messages, %d turns, %d replies, %d discards, %d crashes, %d model calls\n",
		t.Inputs, t.Turns, t.Replies, t.Discards, t.Crashes, t.ModelCalls)
	fmt.Fprintf(&b, "  first message to its reply, virtual time: p50 %.1fs, p95 %.1fs, p99 %.1fs, longest %.1fs\n",
		seconds(r.Waits.P50), seconds(r.Waits.P95), seconds(r.Waits.P99), seconds(r.Waits.Max))
	b.WriteString("  what broke, and how often:\n")
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "    %-26s %8d\n", f.Fault, f.Count)
	}
	if r.Failure != nil {
		fmt.Fprintf(&b, "\nPROMISE BROKEN: %v\n", r.Failure)
	} else {
		b.WriteString("  the promise held\n")
	}
	return b.String()
}

func seconds(milliseconds int) float64 { return float64(milliseconds) / 1000 }

// CompareTable shows what protocols made of the same traffic, side by side.
func CompareTable(table []Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s %9s %8s %11s %6s %6s %12s %9s %9s %9s %9s\n",
		"protocol", "messages", "replies", "duplicates", "stale", "lost", "model calls", "first p50", "first p95", "last p50", "last p95")
	for _, c := range table {
		fmt.Fprintf(&b, "%-10s %9d %8d %11d %6d %6d %12d %8.1fs %8.1fs %8.1fs %8.1fs\n",
			c.Protocol, c.Messages, c.Replies, c.Duplicates, c.Stale, c.Lost, c.ModelCalls,
			seconds(c.P50), seconds(c.P95), seconds(c.LastP50), seconds(c.LastP95))
	}
	b.WriteString("\nduplicates: times that a message was answered once more; stale: replies that left out a message that was there when\n" +
		"the model had finished (a lease sends one only at its bound, and marks it as late); lost: never answered; first, last:\n" +
		"how long the first and the last message of a reply waited for it; early: a lease with start: early.\n")
	return b.String()
}
