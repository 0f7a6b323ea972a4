package scenario

import "slices"

// missing is what no story can be played with yet, and why.
var missing = []struct {
	needs  func(Scenario) bool
	reason string
}{
	{func(s Scenario) bool { return s.Config.Store == "nats" }, `config store "nats": there is no such store in this build`},
	{func(s Scenario) bool { return s.Config.Mode == "long_poll" }, `config mode "long_poll": there is no channel that polls in this build`},
	{func(s Scenario) bool { return s.Config.Delivery == "channel_edit" }, `config delivery "channel_edit": there is no channel with drafts in this build`},
	{func(s Scenario) bool { return s.Config.MaxBodyBytes != 0 && s.Config.MaxBodyBytes != bodyLimit }, `config max_body_bytes: the limit of a body is 1 MiB and can't be set`},
	{func(s Scenario) bool { return s.Config.IdleEvictMS != 0 && s.Config.IdleEvictMS < idleEvictMS }, `config idle_evict_ms: conversations are forgotten after a minute, which can't be set`},
	{func(s Scenario) bool { return s.has("second_poller") }, `event "second_poller": there is no channel that polls in this build`},
	{func(s Scenario) bool { return s.has("wakeup_redelivered") }, `event "wakeup_redelivered": no store in this build wakes nodes by messages`},
}

// What the program has fixed.
const (
	bodyLimit   = 1 << 20 // bytes of a request's body
	idleEvictMS = 60_000  // how long idle conversations are remembered
)

// NotApplicable says why a story can't be played yet, "" where it can.
func (s Scenario) NotApplicable() string {
	for _, feature := range missing {
		if feature.needs(s) {
			return feature.reason
		}
	}
	return ""
}

func (s Scenario) has(types ...string) bool {
	return slices.ContainsFunc(s.Events, func(e Event) bool { return slices.Contains(types, e.Type) })
}

// Stage is what a story is played on.
type Stage struct {
	Store string // "memory", "sqlite", "postgres" or "redis"
	Nodes int
}

// On is the stage on a store that several processes share: as many nodes as the story
// wants.
func (s Scenario) On(store string) []Stage {
	return []Stage{{Store: store, Nodes: max(s.Config.Workers, 1)}}
}

// Stages are those in this process: one store in memory that all nodes share, and one
// node over SQLite. A file of SQLite belongs to one process, so a story in which one
// worker takes over from another that is lost or frozen can't be played there.
func (s Scenario) Stages() []Stage {
	stages := s.On("memory")
	if s.Config.Workers <= 1 || !s.needsSeveral() {
		stages = append(stages, Stage{Store: "sqlite", Nodes: 1})
	}
	return stages
}

// needsSeveral reports whether the story speaks of one worker among several. Where it only
// says which of them takes a request, a worker that is alone takes all of them.
func (s Scenario) needsSeveral() bool {
	return slices.ContainsFunc(s.Events, func(e Event) bool {
		switch e.Type {
		case "start_worker":
			return e.Worker != firstWorker
		case "crash_worker", "drain_worker", "pause_worker", "resume_worker", "store_partition":
			return true
		case "message", "edit", "delete", "redelivery", "call", "typing", "handoff", "handback", "human_reply":
			return false
		}
		return e.Worker != "" && e.Worker != firstWorker
	})
}

const firstWorker = "w1"
