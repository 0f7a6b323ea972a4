package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onereply/onereply"
)

// Channels takes the requests of chat platforms. It must check that they are genuine: the
// API does not.
type Channels interface {
	// Receive answers a request to a channel of a bot. It reports false, and has not
	// answered, where there is no such channel. The channel's name is its kind, or kind/name.
	Receive(w http.ResponseWriter, r *http.Request, bot, name string) bool

	// Statuses are those of a bot's channels, or of all bots' (""); never nil.
	Statuses(bot string) []onereply.ChannelStatus
}

// getChannels answers with what happened on a bot's channels since this node started.
func (s *Server) getChannels(w http.ResponseWriter, r *http.Request) error {
	bot, found := r.PathValue("bot"), []onereply.ChannelStatus{}
	if s.options.Channels != nil {
		found = s.options.Channels.Statuses(bot)
	}
	return respond(w, http.StatusOK, struct {
		Channels []onereply.ChannelStatus `json:"channels"`
	}{found})
}

// channelMetrics shows the same figures of all bots. Bots and channels are those of the
// configuration, so that no request can add a label.
type channelMetrics struct{ of Channels }

var (
	channelEvents = prometheus.NewDesc("onereply_channel_events_total",
		"What came in on channels, and sends that failed: messages, reports, skipped, forged, unreadable, refused, sends_failed.", []string{"bot", "channel", "kind"}, nil)
	channelVerified = prometheus.NewDesc("onereply_channel_verified_timestamp_seconds",
		"When the platform of a channel was last heard of.", []string{"bot", "channel"}, nil)
	channelPolling = prometheus.NewDesc("onereply_channel_polling",
		"1 where this node polls the channel.", []string{"bot", "channel"}, nil)
)

// Describe implements [prometheus.Collector].
func (m channelMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- channelEvents
	out <- channelVerified
	out <- channelPolling
}

// Collect implements [prometheus.Collector].
func (m channelMetrics) Collect(out chan<- prometheus.Metric) {
	if m.of == nil {
		return
	}
	for _, c := range m.of.Statuses("") {
		for kind, count := range map[string]int64{
			"messages": c.Messages, "reports": c.Reports, "skipped": c.Skipped, "forged": c.Forged, "unreadable": c.Unreadable,
			"refused": c.Refused, "sends_failed": c.SendsFailed,
		} {
			out <- prometheus.MustNewConstMetric(channelEvents, prometheus.CounterValue, float64(count), c.Bot, c.Channel, kind)
		}
		polling := 0.0
		if c.Polling {
			polling = 1
		}
		out <- prometheus.MustNewConstMetric(channelPolling, prometheus.GaugeValue, polling, c.Bot, c.Channel)
		if !c.VerifiedAt.IsZero() {
			out <- prometheus.MustNewConstMetric(channelVerified, prometheus.GaugeValue, float64(c.VerifiedAt.UnixMilli())/1000, c.Bot, c.Channel)
		}
	}
}

// serveChannel passes a request to its channel. The answer is the same for an unknown bot
// and for an unknown channel, so that nobody can find out names of bots.
func (s *Server) serveChannel(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("kind")
	if more := r.PathValue("name"); more != "" {
		name += "/" + more
	}
	if s.options.Channels != nil && s.options.Channels.Receive(w, r, r.PathValue("bot"), name) {
		return nil
	}
	return newProblem(kindNotFound, "There is no such channel.")
}
