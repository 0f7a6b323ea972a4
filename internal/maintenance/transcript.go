package maintenance

import (
	"context"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// transcript is what the rules need of a conversation's entries. It holds no
// text, so that the doctor can keep those of a whole page, 100 of them, in memory.
type transcript struct {
	size        int
	seqs        []int64                // of all entries, rising
	lastVersion int64                  // the greatest of any entry
	pending     []place                // of messages that wait
	messages    map[string]messageFact // by id
	replies     []replyFact            // by rising sequence
	bySeq       map[int64]int          // reply by sequence
}

// place is where a message stands, in the transcript and among the inputs.
type place struct{ seq, version int64 }

// messageFact is what the rules need of a message.
type messageFact struct {
	seq      int64
	status   turn.Status
	editedAt turn.Time
	replySeq int64
}

// replyFact is what the rules need of a reply. late: it was committed for what it saw,
// although newer input existed.
type replyFact struct {
	seq    int64
	id     string
	status turn.Status
	at     turn.Time
	late   bool
	covers []string
}

// readTranscript reads all entries of a conversation, a page at a time. A write between
// two pages can make the result one that never was; the doctor finds that by the Op.
func readTranscript(ctx context.Context, from store.Store, key store.Key) (transcript, error) {
	t := transcript{messages: map[string]messageFact{}, bySeq: map[int64]int{}}
	for page, err := range store.Pages(ctx, from, key, store.EntryQuery{}) {
		if err != nil {
			return t, err
		}
		for i := range page {
			t.add(&page[i])
		}
	}
	return t, nil
}

// add takes in the next entry. Entries come by rising sequence.
func (t *transcript) add(e *store.Entry) {
	t.size++
	t.seqs = append(t.seqs, e.Seq)
	t.lastVersion = max(t.lastVersion, e.Version)
	switch e.Kind {
	case store.Reset, store.Name:
		return
	case store.Reply:
		t.bySeq[e.Seq] = len(t.replies)
		t.replies = append(t.replies, replyFact{e.Seq, e.ID, e.Status, e.At, e.Late, e.Covers})
		return
	}
	t.messages[e.ID] = messageFact{e.Seq, e.Status, e.EditedAt, e.ReplySeq}
	if e.Status == turn.InputPending {
		t.pending = append(t.pending, place{e.Seq, e.Version})
	}
}

// lastSeq is the greatest sequence, 0 if there is no entry.
func (t *transcript) lastSeq() int64 {
	if len(t.seqs) == 0 {
		return 0
	}
	return t.seqs[len(t.seqs)-1]
}

// waiting counts the messages that the next prompt has to hold: those that wait and are
// newer than what the record takes for answered.
func (t *transcript) waiting(r turn.Record) int {
	count := 0
	for _, p := range t.pending {
		if p.version > r.Answered {
			count++
		}
	}
	return count
}

// stranded reports whether a message waits that no prompt would ever hold. There are two
// ways to that: the record takes it for settled, or its sequence is not greater than
// AfterSeq, where prompts begin to read.
func (t *transcript) stranded(r turn.Record) bool {
	for _, p := range t.pending {
		if p.version <= r.Answered || p.seq <= r.AfterSeq {
			return true
		}
	}
	return false
}

// gone is how many entries before the n-th reply retention has removed: every
// sequence was given to one entry.
func (t *transcript) gone(n int) int {
	here := 0
	for _, seq := range t.seqs {
		if seq < t.replies[n].seq {
			here++
		}
	}
	return int(t.replies[n].seq) - 1 - here
}

// covered is the message that a reply covers under an id. One that came after
// the reply is another one, with an id that was forgotten meanwhile.
func (t *transcript) covered(r replyFact, id string) (messageFact, bool) {
	m, found := t.messages[id]
	return m, found && m.seq < r.seq
}
