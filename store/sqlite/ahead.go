package sqlite

import (
	"sync"

	"github.com/onereply/onereply/store"
)

// ahead is what was acknowledged and can't be read yet, because it is logged and not
// in the tables. Whoever reads it has the tables committed first.
type ahead struct {
	mu   sync.Mutex
	keys map[store.Key]bool // whether the transcript changed, or only the record
}

// mark is called before the writes are answered.
func (a *ahead) mark(batch []*task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keys == nil {
		a.keys = map[store.Key]bool{}
	}
	for _, t := range batch {
		w := t.write
		if !w.counts() {
			continue
		}
		a.keys[w.Key] = a.keys[w.Key] || len(w.Append)+len(w.Change)+len(w.Settle)+len(w.Mark) > 0
	}
}

func (a *ahead) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.keys)
}

func (a *ahead) any() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.keys) > 0
}

func (a *ahead) record(key store.Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, found := a.keys[key]
	return found
}

func (a *ahead) transcript(key store.Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys[key]
}
