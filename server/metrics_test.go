package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onereply/onereply"
)

func TestMetrics(t *testing.T) {
	app := newFakeApp()
	app.stats = onereply.Stats{
		Accepted: 5, Duplicates: 2, Ignored: 1, Discards: 3, DiscardedTokens: 400, LeasesLost: 1, Generating: 2, Waiting: 9,
		Turns:       map[string]uint64{"sent": 4, "failed": 1},
		Deliveries:  map[string]uint64{"sent": 4, "unknown": 1},
		BurstSize:   onereply.Histogram{Bounds: []float64{1, 2}, Counts: []uint64{1, 3}, Count: 4, Sum: 9},
		DueToStart:  onereply.Histogram{Bounds: []float64{.01}, Counts: []uint64{4}, Count: 4, Sum: .02},
		TimeToReply: onereply.Histogram{Bounds: []float64{1}, Counts: []uint64{0}, Count: 4, Sum: 12},
	}
	s := New(app, Options{Version: "v1.2.3"})
	ask(t, s, "POST", here+"/messages", `{"kind":"reaction"}`)
	ask(t, s, "POST", here+"/messages", `{`)
	ask(t, s, "HEAD", "/v1/events", "")
	ask(t, s, "GET", "/nowhere", "")
	ask(t, s, "BREW", "/nowhere", "")
	got := ask(t, s, "GET", "/metrics", "")
	if got.status != http.StatusOK {
		t.Fatalf("status %d\n%s", got.status, got.body)
	}
	for _, want := range []string{
		`onereply_inputs_total{outcome="accepted"} 5`,
		`onereply_inputs_total{outcome="duplicate"} 2`,
		`onereply_inputs_total{outcome="ignored"} 2`, // one of them by the server
		`onereply_turns_total{outcome="failed"} 1`,
		`onereply_turns_total{outcome="sent"} 4`,
		`onereply_discards_total 3`,
		`onereply_discarded_tokens_total 400`,
		`onereply_burst_messages_bucket{le="2"} 3`,
		`onereply_burst_messages_bucket{le="+Inf"} 4`,
		`onereply_burst_messages_sum 9`,
		`onereply_due_to_start_seconds_count 4`,
		`onereply_time_to_reply_seconds_sum 12`,
		`onereply_leases_lost_total 1`,
		`onereply_deliveries_total{outcome="unknown"} 1`,
		`onereply_generating 2`,
		`onereply_waiting_conversations 9`,
		`onereply_event_streams 0`,
		`version="v1.2.3"`,
		`onereply_http_requests_total{code="202",method="POST",route="/v1/bots/{bot}/conversations/{conversation}/messages"} 1`,
		`onereply_http_requests_total{code="400",method="POST",route="/v1/bots/{bot}/conversations/{conversation}/messages"} 1`,
		`onereply_http_requests_total{code="404",method="GET",route="none"} 1`,
		`onereply_http_requests_total{code="404",method="other",route="none"} 1`,
		`onereply_http_request_duration_seconds_count{method="POST",route="/v1/bots/{bot}/conversations/{conversation}/messages"} 2`,
		`go_goroutines`,
		`process_open_fds`,
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(got.body, `duration_seconds_count{method="HEAD",route="/v1/events"}`) {
		t.Error("how long a stream was open counts as the time of an answer")
	}
}

// TestMetricsAtTheStart: nothing was counted yet, and that is no error.
func TestMetricsAtTheStart(t *testing.T) {
	if got := ask(t, New(newFakeApp(), Options{}), "GET", "/metrics", ""); got.status != http.StatusOK || !strings.Contains(got.body, "onereply_burst_messages_count 0") {
		t.Errorf("status %d\n%s", got.status, got.body)
	}
}
