package server

import "sync"

// streams counts the open event streams, and ends all of them at once when the server
// shuts down.
type streams struct {
	ended chan struct{} // closed when the streams must end

	mu     sync.Mutex
	limit  int
	active int
	over   bool
}

func newStreams(limit int) *streams { return &streams{ended: make(chan struct{}), limit: limit} }

// enter reports whether one more stream may open. It must then be left.
func (s *streams) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.active >= s.limit {
		return false
	}
	s.active++
	return true
}

// leave gives the place back.
func (s *streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
}

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// end closes all streams, and opens none any more. It may be called more than once.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.ended)
	}
}
