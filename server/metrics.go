package server

import (
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the figures of /metrics: the App's counters and the API's own. Labels come
// from fixed sets, never from a request: a client could make as many as it likes. The
// route is its pattern, and unknown methods share a label.
type metrics struct {
	handler  http.Handler
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	ignored  atomic.Uint64 // things that are no message, which the App never sees
}

// newMetrics makes a registry of its own, so that a program that embeds the server can
// have its own metrics, and two servers in one process do not collide. It starts no
// goroutine: the App's counters are read when /metrics is asked.
func newMetrics(app App, channels Channels, open *streams, wrong *atomic.Uint64, version string) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "onereply_http_requests_total",
			Help: "Requests by method, route and status.",
		}, []string{"method", "route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "onereply_http_request_duration_seconds",
			Help:    "Time to answer a request; event streams are not counted.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method", "route"}),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.requests, m.seconds, buildInfo(version), openStreams(open), refusedKeys(wrong),
		newStatsCollector(app, &m.ignored), channelMetrics{channels},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m
}

// buildInfo shows the versions in the labels of a constant, which is the convention for
// facts about a program.
func buildInfo(version string) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "onereply_build_info",
		Help:        "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	info.Set(1)
	return info
}

// openStreams counts the event streams when /metrics is asked.
func openStreams(open *streams) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "onereply_event_streams",
		Help: "Event streams that are open.",
	}, func() float64 { return float64(open.count()) })
}

// refusedKeys counts the requests that came with a wrong API key.
func refusedKeys(wrong *atomic.Uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "onereply_wrong_keys_total",
		Help: "Logins and calls with a wrong API key.",
	}, func() float64 { return float64(wrong.Load()) })
}

// count records one answered request. The time of an event stream is that of its client,
// and would hide all others.
func (m *metrics) count(method string, found *route, status int, took time.Duration) {
	method, pattern := methodLabel(method), patternOf(found)
	m.requests.WithLabelValues(method, pattern, strconv.Itoa(status)).Inc()
	if found == nil || !found.stream {
		m.seconds.WithLabelValues(method, pattern).Observe(took.Seconds())
	}
}

// methodLabel gives methods that HTTP does not define one label together.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// getMetrics answers in the text format of Prometheus. It needs a key where there are
// keys: the figures tell how busy a bot is.
func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) error {
	s.metrics.handler.ServeHTTP(w, r)
	return nil
}
