package server

import (
	"testing"

	"github.com/onereply/onereply"
)

func TestOverview(t *testing.T) {
	app := newFakeApp()
	when := at(t, "2026-01-02T03:04:05+01:00")
	tally := onereply.Tally{Inputs: 9, Duplicates: 1, Ignored: 2, Replies: 3, MessagesAnswered: 7, Discards: 4, ModelCalls: 8, EarlyStarts: 6, Replaced: 2, Failed: 1, TokensDiscarded: 1200, LeasesLost: 5}
	app.overview = onereply.Overview{
		Now: when,
		Nodes: []onereply.NodeInfo{{
			Node: "node1", Version: "1.2", StartedAt: when, SeenAt: when, State: "ready", Generating: 2, Waiting: 5, Store: "redis",
		}},
		Minutes:     []onereply.MinuteTally{{At: when, Tally: tally}},
		Totals:      tally,
		TimeToReply: onereply.Histogram{Bounds: []float64{1, 2.5}, Counts: []uint64{1, 3}, Count: 4, Sum: 9.5},
	}
	s := New(app, Options{})
	const counted = `"inputs":9,"duplicates":1,"ignored":2,"replies":3,"messages_answered":7,"discards":4,"model_calls":8,"early_starts":6,"replaced":2,"failed":1,"tokens_discarded":1200,"leases_lost":5`
	wantJSON(t, ask(t, s, "GET", "/v1/overview", "").body, `{"now":"2026-01-02T02:04:05.000Z",
		"nodes":[{"node":"node1","version":"1.2","started_at":"2026-01-02T02:04:05.000Z","seen_at":"2026-01-02T02:04:05.000Z","state":"ready","generating":2,"waiting":5,"store":"redis"}],
		"minutes":[{"at":"2026-01-02T02:04:05.000Z",`+counted+`}],"totals":{`+counted+`},
		"time_to_reply":{"bounds":[1,2.5],"counts":[1,3],"count":4,"sum":9.5}}`)
	app.overview = onereply.Overview{Now: when, Nodes: []onereply.NodeInfo{}, Minutes: []onereply.MinuteTally{}, TimeToReply: onereply.Histogram{Bounds: []float64{}, Counts: []uint64{}}}
	wantJSON(t, ask(t, s, "GET", "/v1/overview", "").body, `{"now":"2026-01-02T02:04:05.000Z","nodes":[],"minutes":[],
		"totals":{"inputs":0,"duplicates":0,"ignored":0,"replies":0,"messages_answered":0,"discards":0,"model_calls":0,"early_starts":0,"replaced":0,"failed":0,"tokens_discarded":0,"leases_lost":0},
		"time_to_reply":{"bounds":[],"counts":[],"count":0,"sum":0}}`)
}
