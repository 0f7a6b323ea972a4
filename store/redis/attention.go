package redis

import (
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// attentionList names the list of all conversations that need a person's
// attention, whatever their phase is. It is no phase. A conversation is in the list of
// its phase besides; commit.lua keeps both.
const attentionList turn.Phase = "attention"

// listsOf are the lists in which the conversations of a query are.
func listsOf(query store.ListQuery) []turn.Phase {
	switch {
	case query.Attention:
		return []turn.Phase{attentionList}
	case query.Phase != "":
		return []turn.Phase{query.Phase}
	}
	return shownPhases()
}

// selects reports whether a record that was found in a list belongs to the answer
// of a query. It may have changed since the list was read: list and record are read one
// after the other, so each record is compared with the query once more.
func selects(query store.ListQuery, record turn.Record) bool {
	return (query.Phase == "" || record.Shown() == query.Phase) && (!query.Attention || record.NeedsAttention())
}
