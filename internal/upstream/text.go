package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/standardwebhooks"
)

// Listener hears of a reply while it is made. A [*onereply.Turn] is one.
type Listener interface {
	Delta(text string)
	Spend(usage onereply.Usage)
}

var (
	errTooLong = fmt.Errorf("the reply has more than %d bytes", onereply.MaxReplyBytes)
	errEmpty   = errors.New("empty answer")
)

// Text collects the pieces of a reply and shows each to the listener. The listener gets
// each piece before the reply is known to be whole: a page shows it as a reply that is
// being written. It becomes the reply only by the commit.
type Text struct {
	Listener Listener
	text     strings.Builder
}

// Add appends a piece. The text is at most [onereply.MaxReplyBytes] long. More is an
// error and is not cut off: nobody could see that a reply lacks its end.
func (t *Text) Add(piece string) error {
	if piece == "" {
		return nil
	}
	if t.text.Len()+len(piece) > onereply.MaxReplyBytes {
		return errTooLong
	}
	t.text.WriteString(piece)
	t.Listener.Delta(piece)
	return nil
}

// Blank reports whether there is nothing to see yet.
func (t *Text) Blank() bool { return strings.TrimSpace(t.text.String()) == "" }

// String is all of it.
func (t *Text) String() string { return t.text.String() }

// Reply is the text as a reply to the turn; a blank one is an error.
func (t *Text) Reply() (onereply.Reply, error) {
	if t.Blank() {
		return onereply.Reply{}, errEmpty
	}
	return onereply.Reply{Text: t.String()}, nil
}

// AttemptID names one attempt: bot, conversation, turn and attempt, with a slash between
// them. Characters that a header can't carry are percent-encoded. So is a slash within a
// name: no two attempts share an id. The other program can recognise a repeat of the same
// request by it.
func AttemptID(t *onereply.Turn) string {
	name := func(text string) string {
		return strings.ReplaceAll(standardwebhooks.EncodeID(text), "/", "%2F")
	}
	return name(t.Bot) + "/" + name(t.Conversation) + "/" + strconv.FormatInt(t.Number, 10) + "/" + strconv.Itoa(t.Attempt)
}

// Idempotent are headers with an Idempotency-Key for the attempt. The name is
// in lower case, which is the same to HTTP, because net/http repeats a request
// with the usual spelling on its own when a connection is lost: a second run
// of the model that nobody asked for.
func Idempotent(t *onereply.Turn) http.Header {
	return http.Header{"idempotency-key": {AttemptID(t)}}
}
