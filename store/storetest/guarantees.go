package storetest

import "github.com/onereply/onereply/turn"

var guaranteeTests = []test{
	{"the store has a name and a clock", func(s *subject) {
		guarantees := s.store.Guarantees()
		if guarantees.Name == "" {
			s.Errorf("Guarantees: %+v has no name", guarantees)
		}
		before := s.now()
		if after := s.now(); before <= 0 || after < before {
			s.Errorf("Now: %d, then %d", before, after)
		}
	}},
}

func (s *subject) now() turn.Time {
	s.Helper()
	now, err := s.store.Now(s.Context())
	if err != nil {
		s.Fatalf("Now: %v", err)
	}
	return now
}
