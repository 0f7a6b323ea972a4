package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/sse"
)

// Reconnecting after a stream broke. The node sends a comment after 15 seconds without
// an event, so maxSilence leaves room for five that are lost or late.
const (
	firstPause = 250 * time.Millisecond
	maxPause   = 5 * time.Second
	maxSilence = 90 * time.Second // the node sends a comment far more often
)

// errSilent ends a stream whose node is gone without a word.
var errSilent = errors.New("the stream was silent for too long")

// Follow calls each for every event of a conversation, of a bot (conversation ""), or of
// all bots (bot "" too). It goes on until ctx ends or each returns an error, which
// Follow then returns. When a stream breaks, Follow connects again and goes on after the
// last event. A node that can't be reached at first, or that refuses, is an error at
// once.
//
// A node keeps its last events, in its memory only. If it does not know the event to go
// on after, because it was restarted or is another one, each gets an event of the type
// events.lost, and then what is new. The transcript has all messages and replies.
func (c *Client) Follow(ctx context.Context, bot, conversation string, each func(Document[onereply.Event]) error) error {
	f := &follower{client: c, path: "/v1/events", each: each}
	switch {
	case conversation != "":
		f.path = path(bot, conversation, "/events")
	case bot != "":
		f.path += "?" + url.Values{"bot": {bot}}.Encode()
	}
	return f.run(ctx)
}

// follower is one stream of events, over as many connections as it takes. Its last and
// pause outlive a connection: last is where the next one goes on, and pause is how long
// to wait before it. connected tells a wrong address from a node that restarts.
type follower struct {
	client    *Client
	path      string
	each      func(Document[onereply.Event]) error
	last      string // id of the last event
	connected bool   // once
	pause     time.Duration
}

// refused is an error that a new connection would meet again, such as a missing key, or
// an error of the caller's function. It ends the stream; any other error is tried again.
type refused struct{ err error }

func (r refused) Error() string { return r.err.Error() }
func (r refused) Unwrap() error { return r.err }

// run connects again and again. The pause doubles with each failure and starts anew once
// a connection was made. Only a first connection that fails is an error: a person has
// most likely given a wrong address.
func (f *follower) run(ctx context.Context) error {
	f.pause = firstPause
	for {
		err := f.connect(ctx)
		var final refused
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &final):
			return final.err
		case !f.connected:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(f.pause):
		}
		f.pause = min(2*f.pause, maxPause)
	}
}

// connect opens the stream and reads it until it breaks.
//
// Status 429 and those from 500 on pass with time, and are tried again; any other that
// is not 200 is final. The connection that was made resets the pause. From then on the
// timer watches: a node that loses power closes nothing, so without the timer a reader
// would wait for ever.
func (f *follower) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := f.client.request(ctx, http.MethodGet, f.path, nil)
	if err != nil {
		return refused{err}
	}
	request.Header.Set("Accept", "text/event-stream")
	if f.last != "" {
		request.Header.Set("Last-Event-ID", f.last)
	}
	response, err := f.client.http.Do(request)
	if err != nil {
		return f.client.unreachable(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests:
		return problem(response)
	case response.StatusCode != http.StatusOK:
		return refused{problem(response)}
	}
	f.connected, f.pause = true, firstPause
	silence := time.AfterFunc(maxSilence, func() { cancel(errSilent) })
	defer silence.Stop()
	return f.read(sse.NewReader(watched{response.Body, silence}, maxEventBytes))
}

// read hands the events of one connection to the caller, and remembers the last one,
// after which the next connection goes on. It remembers an event only once the caller
// has handled it, so that none is skipped when the connection breaks.
func (f *follower) read(stream *sse.Reader) error {
	for {
		received, err := stream.Next()
		if err != nil {
			return err
		}
		var event Document[onereply.Event]
		if err := json.Unmarshal([]byte(received.Data), &event); err != nil {
			return refused{fmt.Errorf("read an event: %w (is the server a onereply node?)", err)}
		}
		if err := f.each(event); err != nil {
			return refused{err}
		}
		f.last = received.ID
	}
}
