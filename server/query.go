package server

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/onereply/onereply"
)

// Limits of pages. A page has 100 items where the client names no limit, and 1000 at
// most: more would hold the store and the client's memory for one call. A value out of
// its bounds is refused and not cut to fit, since a client that asked for 5000 would take
// 1000 for the whole.
const (
	defaultPage = 100
	maxPage     = 1000
)

// page selects entries of a transcript: the first ones after a sequence number, the last
// ones before a sequence number, or the last ones of all. The console reads backwards
// from the end, and programs read forwards.
type page struct {
	after, before int64 // before 0: no bound
	limit         int
	last          bool
}

// readPage reads after or before, and limit. The word end stands for the last entries,
// whose numbers the client does not know yet.
func readPage(r *http.Request) (page, error) {
	query, err := readQuery(r)
	if err != nil {
		return page{}, err
	}
	after, err := number(query, "after", 0, 0, 1<<63-1)
	if err != nil {
		return page{}, err
	}
	p := page{after: after, last: query.Get("before") != ""}
	switch {
	case p.last && query.Get("after") != "":
		return page{}, errField("before", "It can't be given together with after.")
	case query.Get("before") != "end":
		if p.before, err = number(query, "before", 0, 1, 1<<63-1); err != nil {
			return page{}, errField("before", "It must be end, or a whole number of 1 or more.")
		}
	}
	limit, err := number(query, "limit", defaultPage, 1, maxPage)
	p.limit = int(limit)
	return p, err
}

// readTimeline reads which turns are wanted: one by its number, or the last so many.
func readTimeline(r *http.Request) (onereply.TimelineQuery, error) {
	query, err := readQuery(r)
	if err != nil {
		return onereply.TimelineQuery{}, err
	}
	turns, err := number(query, "turns", 0, 1, onereply.MaxTimelineTurns)
	if err != nil {
		return onereply.TimelineQuery{}, err
	}
	turn, err := number(query, "turn", 0, 1, 1<<63-1)
	return onereply.TimelineQuery{Turns: int(turns), Turn: turn}, err
}

// readList reads a query for conversations. The bot comes from the path, if the path has
// one. An unknown phase is refused: an empty list would look like good news.
func readList(r *http.Request) (onereply.ConversationQuery, error) {
	query, err := readQuery(r)
	if err != nil {
		return onereply.ConversationQuery{}, err
	}
	phase := onereply.Phase(query.Get("phase"))
	switch phase {
	case "", onereply.PhaseIdle, onereply.PhaseCollecting, onereply.PhaseGenerating, onereply.PhaseSending, onereply.PhasePaused, onereply.PhaseFailed:
	default:
		return onereply.ConversationQuery{}, errField("phase", "It must be idle, collecting, generating, sending, paused or failed.")
	}
	preview, err := flag(query, "preview")
	if err != nil {
		return onereply.ConversationQuery{}, err
	}
	limit, err := number(query, "limit", defaultPage, 1, maxPage)
	bot, some := callerOf(r).bots(r.PathValue("bot"))
	return onereply.ConversationQuery{
		Bot:     bot,
		Bots:    some,
		Phase:   phase,
		Cursor:  query.Get("cursor"),
		Limit:   int(limit),
		Search:  query.Get("q"),
		Preview: preview,
	}, err
}

// flag reads true or false; absent is false.
func flag(query url.Values, name string) (bool, error) {
	switch query.Get(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, errField(name, "It must be true or false.")
}

// readQuery parses the query strictly. r.URL.Query would drop the parts that it can't
// read, and a filter that was dropped shows more than was asked for.
func readQuery(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, newProblem(kindMalformedQuery, "Write it as name=value&name=value, with what is special as %%XX.")
	}
	return query, nil
}

// number reads a whole number from low to high. Absent and empty are the same, and give
// the fallback, which need not be within the bounds.
func number(query url.Values, name string, fallback, low, high int64) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, errField(name, "It must be a whole number from %d to %d.", low, high)
	}
	return n, nil
}
