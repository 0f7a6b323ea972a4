package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/onereply/onereply/store"
)

// errNoConnection marks a failure before anything was sent. The dialer sets it (options.go);
// a connection that breaks off later has no such mark.
var errNoConnection = errors.New("no connection to")

// refusals are the codes by which a server says that it did not begin, for example since
// its memory is full, it is a replica or is loading, its disk fails, the slot is on
// another server, another script runs too long, or the user is not allowed.
var refusals = []string{
	"OOM", "READONLY", "LOADING", "MISCONF", "NOREPLICAS", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN",
	"MOVED", "ASK", "BUSY", "NOSCRIPT", "NOAUTH", "WRONGPASS", "NOPERM",
}

// ofWrite says what a failed write has left behind: nothing, or nobody knows. Nothing is
// certain only if nothing was sent, or if the server answered that it did not begin. In
// doubt the outcome is unknown: that costs the caller a read, and the other mistake would
// cost a message.
func ofWrite(err error) error {
	if errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown) {
		return err
	}
	if errors.Is(err, store.ErrClosed) || errors.Is(err, errNoConnection) || isRefusal(err) {
		return fmt.Errorf("%w: %w", store.ErrNotApplied, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

// answered returns what the server said, where it did answer.
func answered(err error) (text string, ok bool) {
	var refused *rueidis.RedisError
	if !errors.As(err, &refused) {
		return "", false
	}
	return refused.Error(), true
}

// isRefusal reports whether the server refused a script before it ran. An error
// from within one names the script, and may carry the same code: then earlier commands of
// the script may have had their effect, so nothing is certain.
func isRefusal(err error) bool {
	text, ok := answered(err)
	code, _, _ := strings.Cut(text, " ")
	return ok && slices.Contains(refusals, code) && !strings.Contains(text, " script: ")
}

// explain adds to a failure what a person can do about it. A failure that is not here
// keeps its own words.
func (s *Store) explain(err error) error {
	advice := ""
	text, _ := answered(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		advice = fmt.Sprintf("no answer within %v, or the caller's deadline", s.timeout)
	case errors.Is(err, errNoConnection):
		advice = "the server can't be reached; check that it runs, the address and the network"
	case strings.HasPrefix(text, "OOM"):
		advice = "the server's memory is full; raise maxmemory, or shorten the retention"
	case strings.HasPrefix(text, "LOADING"):
		advice = "the server was started and is still loading its data; try again when it has"
	case strings.HasPrefix(text, "READONLY"):
		advice = "this server is a replica; connect to the primary, or through the sentinels (master_set)"
	case strings.HasPrefix(text, "MISCONF"):
		advice = "the server can't save to its disk, so it refuses writes; free some space there and read its log"
	case strings.HasPrefix(text, "NOAUTH"), strings.HasPrefix(text, "WRONGPASS"):
		advice = "the server wants another user or password; write redis://USER:PASSWORD@HOST"
	case strings.HasPrefix(text, "NOPERM"):
		advice = "this user lacks a right; give it all commands on this prefix's keys and channels"
	default:
		return err
	}
	return fmt.Errorf("%s: %w", advice, err)
}

// failed says what the store was doing. The causes stay wrapped, so callers can ask for
// the errors of package store.
func (s *Store) failed(err error, doing string, arguments ...any) error {
	return fmt.Errorf("redis: "+doing+": %w", append(arguments, s.explain(err))...)
}
