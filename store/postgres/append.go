package postgres

import "github.com/onereply/onereply/store"

// columns are the entries that a write appends, and the ids that it claims, one
// array a column. Arrays cost the server half of what JSON does, and most writes
// append. All arrays of entries have the same length, one element an entry, and the two
// arrays of claims have one element a message.
type columns struct {
	seqs                          []int64
	kinds, ids, statuses, reasons []string
	ats, versions, replySeqs      []int64
	bodies                        []string
	claims                        []string // ids of messages
	claimSeqs                     []int64
	twice                         bool // an id occurs twice among them
}

// columnsOf makes the columns of new entries, in the order of the write, which check has
// found to be the order of their sequences. Messages claim their ids, replies do not.
func columnsOf(entries []store.Entry) (c columns, err error) {
	for i := range entries {
		e := &entries[i]
		c.seqs = append(c.seqs, e.Seq)
		c.kinds = append(c.kinds, string(e.Kind))
		c.ids = append(c.ids, e.ID)
		c.statuses = append(c.statuses, string(e.Status))
		c.reasons = append(c.reasons, printable(e.Reason))
		c.ats = append(c.ats, int64(e.At))
		c.versions = append(c.versions, e.Version)
		c.replySeqs = append(c.replySeqs, e.ReplySeq)
		if e.Kind == store.Message {
			c.claims = append(c.claims, e.ID)
			c.claimSeqs = append(c.claimSeqs, e.Seq)
		}
	}
	c.twice = len(duplicates(entries, nil)) > 0
	c.bodies, err = encodeBodies(entries)
	return c, err
}

// arguments are those of commit_v1; a nil slice is NULL.
func (c columns) arguments() []any {
	return []any{
		c.seqs, c.kinds, c.ids, c.statuses, c.reasons, c.ats, c.versions, c.replySeqs, c.bodies,
		c.claims, c.claimSeqs, c.twice,
	}
}

// lastSeq is the greatest sequence, 0 if nothing is appended.
func (c columns) lastSeq() int64 {
	if len(c.seqs) == 0 {
		return 0
	}
	return c.seqs[len(c.seqs)-1]
}

// duplicates returns the ids of messages that were claimed before, or occur
// earlier in the same write, in its order. The server tells only which ids were claimed
// before, as a set; the order, and ids that the write itself repeats, come from here.
func duplicates(entries []store.Entry, claimed []string) []string {
	var repeated []string
	seen := make(map[string]bool)
	for _, id := range claimed {
		seen[id] = true
	}
	for i := range entries {
		if entries[i].Kind != store.Message {
			continue
		}
		if seen[entries[i].ID] {
			repeated = append(repeated, entries[i].ID)
		}
		seen[entries[i].ID] = true
	}
	return repeated
}
