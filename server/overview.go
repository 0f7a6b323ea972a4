package server

import (
	"net/http"

	"github.com/onereply/onereply"
)

type overview struct {
	onereply.Overview
	Now     instant    `json:"now"`
	Nodes   []nodeInfo `json:"nodes"`
	Minutes []minute   `json:"minutes"`
}

type nodeInfo struct {
	onereply.NodeInfo
	StartedAt instant `json:"started_at"`
	SeenAt    instant `json:"seen_at"`
}

type minute struct {
	onereply.MinuteTally
	At instant `json:"at"`
}

func overviewOf(o onereply.Overview) overview {
	out := overview{Overview: o, Now: instant(o.Now), Nodes: make([]nodeInfo, 0, len(o.Nodes)), Minutes: make([]minute, 0, len(o.Minutes))}
	for _, n := range o.Nodes {
		out.Nodes = append(out.Nodes, nodeInfo{NodeInfo: n, StartedAt: instant(n.StartedAt), SeenAt: instant(n.SeenAt)})
	}
	for _, m := range o.Minutes {
		out.Minutes = append(out.Minutes, minute{MinuteTally: m, At: instant(m.At)})
	}
	if o.TimeToReply.Bounds == nil {
		out.TimeToReply.Bounds, out.TimeToReply.Counts = []float64{}, []uint64{}
	}
	return out
}

func (s *Server) getOverview(w http.ResponseWriter, r *http.Request) error {
	now, err := s.app.Overview(r.Context())
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, overviewOf(now))
}
