package sqlite

import (
	"fmt"
	"sync"
	"testing"

	"github.com/onereply/onereply/store"
)

// answer is what a commit was told.
type answer struct {
	result store.Result
	err    error
}

func (a answer) ok() bool { return a.err == nil && a.result.Status == store.OK }

// together has writes share a batch, and returns their answers. Each is also given
// to told, where that is not nil, before the writer goes on.
func together(t testing.TB, s *Store, told func(i int, a answer), writes ...store.Write) []answer {
	t.Helper()
	answers := make([]answer, len(writes))
	tasks := make([]*task, len(writes))
	var group sync.WaitGroup
	group.Add(len(writes))
	for i := range writes {
		var err error
		tasks[i], err = s.later(&writes[i], func(result store.Result, err error) {
			if answers[i] = (answer{result, err}); told != nil {
				told(i, answers[i])
			}
			group.Done()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	queueAll(s, tasks)
	group.Wait()
	return answers
}

func queueAll(s *Store, tasks []*task) {
	s.writer.queue.mu.Lock()
	defer s.writer.queue.mu.Unlock()
	s.writer.queue.waiting = append(s.writer.queue.waiting, tasks...)
	s.writer.queue.signal()
}

func mustTogether(t testing.TB, s *Store, writes ...store.Write) {
	t.Helper()
	for i, a := range together(t, s, nil, writes...) {
		if !a.ok() {
			t.Fatalf("write %d of %d: got %v, %v; want ok", i+1, len(writes), a.result.Status, a.err)
		}
	}
}

// failing has a write share a batch with one that makes it fail, and returns what the
// first is told.
func failing(t *testing.T, s *Store, write store.Write, cause error) error {
	t.Helper()
	told := make(chan error, 1)
	first, err := s.later(&write, func(_ store.Result, err error) { told <- err })
	if err != nil {
		t.Fatal(err)
	}
	queueAll(s, []*task{
		first,
		{apply: func(*connection) error { return cause }, done: func(error) {}},
	})
	return <-told
}

// numbered are the names of so many conversations.
func numbered(count int) (names []string) {
	for i := range count {
		names = append(names, fmt.Sprint(i))
	}
	return names
}
