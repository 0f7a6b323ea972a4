package server

import "sync"

// streams counts the open event streams, and ends all of them at once when the server
// shuts down. Each stream holds a connection and a goroutine for as long as the client
// likes, so their number has a limit. Other requests end by themselves and have none. It
// may be used by many goroutines at once.
type streams struct {
	ended chan struct{} // closed when the streams must end

	mu     sync.Mutex
	limit  int
	active int
	over   bool
}

func newStreams(limit int) *streams { return &streams{ended: make(chan struct{}), limit: limit} }

// enter reports whether one more stream may open. It must then be left. It never waits: a
// client that is refused is told so, and tries again later.
func (s *streams) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.active >= s.limit {
		return false
	}
	s.active++
	return true
}

// leave gives the place back. It must be called once for each place, also where the
// client broke off.
func (s *streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
}

// count is for the metrics.
func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// end closes all streams, and opens none any more. It may be called more than once.
// Streams that are open see the closed channel, and leave.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.ended)
	}
}
