package server

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onereply/onereply"
)

// statsCollector shows the App's counters. It reads them for each request of /metrics, so
// nothing is counted twice, and nothing runs in between. The App's counters begin anew
// with each start of the process, as Prometheus expects.
type statsCollector struct {
	app     App
	ignored *atomic.Uint64

	inputs, turns, discards, discardedTokens *prometheus.Desc
	calls, replaced                          *prometheus.Desc
	burst, start, reply                      *prometheus.Desc
	leasesLost, overBudget, deliveries       *prometheus.Desc
	generating, waiting                      *prometheus.Desc
}

// newStatsCollector describes the metrics. docs/operations.md explains them. The names
// are part of the product: dashboards and alerts use them.
func newStatsCollector(app App, ignored *atomic.Uint64) *statsCollector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("onereply_"+name, help, labels, nil)
	}
	return &statsCollector{
		app:             app,
		ignored:         ignored,
		inputs:          describe("inputs_total", "Inputs by outcome: accepted, duplicate, ignored.", "outcome"),
		turns:           describe("turns_total", "Turns by outcome.", "outcome"),
		calls:           describe("model_calls_total", "Calls of models that began: early, or after_quiet.", "start"),
		replaced:        describe("replaced_total", "Early attempts thrown away because newer input came within their window."),
		discards:        describe("discards_total", "Attempts thrown away because of newer input, a pause, a deletion, a stop word, a reset or a human's reply."),
		discardedTokens: describe("discarded_tokens_total", "Model tokens spent on attempts without a reply."),
		burst:           describe("burst_messages", "Messages that one sent reply answers."),
		start:           describe("due_to_start_seconds", "Time from the end of a debounce window to the start of the model."),
		reply:           describe("time_to_reply_seconds", "Time from the first pending input to its sent reply."),
		leasesLost:      describe("leases_lost_total", "Leases of lost workers, counted by the node that took over."),
		overBudget:      describe("over_budget_total", "Model calls that did not begin because the budget of their bot was used up."),
		deliveries:      describe("deliveries_total", "Deliveries by outcome.", "outcome"),
		generating:      describe("generating", "Attempts running now."),
		waiting:         describe("waiting_conversations", "Conversations that this node has in memory; idle ones leave it within a minute."),
	}
}

// Describe implements prometheus.Collector.
func (c *statsCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.inputs, c.turns, c.calls, c.replaced, c.discards, c.discardedTokens, c.burst, c.start, c.reply,
		c.leasesLost, c.overBudget, c.deliveries, c.generating, c.waiting,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector. It may run for several requests at once; each
// takes its own snapshot.
func (c *statsCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.app.Stats()
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n int) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
	counter(c.inputs, stats.Accepted, "accepted")
	counter(c.inputs, stats.Duplicates, "duplicate")
	counter(c.inputs, stats.Ignored+c.ignored.Load(), "ignored")
	for outcome, n := range stats.Turns {
		counter(c.turns, n, outcome)
	}
	for outcome, n := range stats.Deliveries {
		counter(c.deliveries, n, outcome)
	}
	counter(c.calls, stats.ModelCalls-stats.EarlyStarts, string(onereply.StartAfterQuiet))
	counter(c.calls, stats.EarlyStarts, string(onereply.StartEarly))
	counter(c.replaced, stats.Replaced)
	counter(c.discards, stats.Discards)
	counter(c.discardedTokens, stats.DiscardedTokens)
	counter(c.leasesLost, stats.LeasesLost)
	counter(c.overBudget, stats.OverBudget)
	gauge(c.generating, stats.Generating)
	gauge(c.waiting, stats.Waiting)
	out <- histogram(c.burst, stats.BurstSize)
	out <- histogram(c.start, stats.DueToStart)
	out <- histogram(c.reply, stats.TimeToReply)
}

// histogram is a histogram of the App in the form of Prometheus. Both count cumulatively.
// The count includes values above the last bound.
func histogram(d *prometheus.Desc, h onereply.Histogram) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Bounds))
	for i, bound := range h.Bounds {
		buckets[bound] = h.Counts[i]
	}
	return prometheus.MustNewConstHistogram(d, h.Count, h.Sum, buckets)
}
