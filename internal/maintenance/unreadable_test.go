package maintenance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// plantNewer leaves a record of a newer program among those of seed.
func plantNewer(t *testing.T, s store.Store) {
	t.Helper()
	seed(t, s)
	w := waiting("newer", 1)
	w.Record.Schema = turn.Schema + 1
	if result, err := s.Commit(t.Context(), w); err != nil || result.Status != store.OK {
		t.Fatal(result, err)
	}
}

func TestARecordThatCantBeReadIsAFinding(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			plantNewer(t, s)
			for _, repair := range []bool{false, true} {
				sums, findings := checkup(t, s, repair)
				if sums.Conversations != 7 || sums.Remaining != 1 || len(findings) != 1 {
					t.Fatalf("got %+v with %+v, want all examined and one finding", sums, findings)
				}
				f := findings[0]
				if f.Rule != Record || f.Conversation != "newer" || f.Repaired || repair != (f.Left != "") ||
					!strings.Contains(f.Problem, "newer version") {
					t.Errorf("got %+v", f)
				}
			}
		})
	}
}

// brokenEntries has a transcript that can't be read.
type brokenEntries struct {
	store.Store
	of string
}

func (s brokenEntries) Entries(ctx context.Context, key store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
	if key.Conversation == s.of {
		return nil, false, errors.Join(errors.New("an entry"), store.ErrCorrupt)
	}
	return s.Store.Entries(ctx, key, q)
}

func TestATranscriptThatCantBeReadIsAFinding(t *testing.T) {
	s := memory.New()
	seed(t, s)
	found, _, err := s.Sweep(t.Context(), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	of := found[0].Key.Conversation
	sums, findings := checkup(t, brokenEntries{s, of}, true)
	if sums.Conversations != 6 || len(findings) != 1 || findings[0].Rule != Record || findings[0].Conversation != of {
		t.Errorf("got %+v with %+v", sums, findings)
	}
	copyWithout(t, brokenEntries{s, of}, of)
}

func TestARecordThatCantBeReadIsNotCopied(t *testing.T) {
	s := memory.New()
	plantNewer(t, s)
	copyWithout(t, s, "newer")
}

// copyWithout copies all but one conversation, which is named.
func copyWithout(t *testing.T, from store.Store, unread string) {
	t.Helper()
	to := memory.New()
	job := Copy{From: from, To: to, Progress: func(Progress) {}}
	done, err := job.Run(t.Context())
	if err != nil || done.Unread != 1 || done.Copied < 5 {
		t.Fatalf("copied %+v, %v", done, err)
	}
	var differ []string
	source, target, err := Verify(t.Context(), from, to, func(f Finding) { differ = append(differ, f.Conversation) })
	if err != nil || !slices.Equal(differ, []string{unread}) || source.Conversations != target.Conversations+1 {
		t.Errorf("verified: %v, %v: %+v and %+v", differ, err, source, target)
	}
}
