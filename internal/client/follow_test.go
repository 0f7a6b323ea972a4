package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/proof/memoryhttp"
)

// stream is one connection of a scripted node.
type stream struct {
	status int
	events []string // ids
	hang   bool     // stays open without a word
}

// script serves one stream after another, and remembers how each was asked
// for.
type script struct {
	streams []stream
	asked   []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.RequestURI+" after "+r.Header.Get("Last-Event-ID"))
	now := s.streams[min(len(s.asked), len(s.streams))-1]
	if now.status != 0 {
		w.WriteHeader(now.status)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": hello\n\n")
	for _, id := range now.events {
		fmt.Fprintf(w, "id: %s\nevent: reply.sent\ndata: {\"id\":%q,\"type\":\"reply.sent\"}\n\n", id, id)
	}
	_ = http.NewResponseController(w).Flush()
	if now.hang {
		<-r.Context().Done()
	}
}

// follow reads until the event with the id last, or an error.
func follow(t *testing.T, s *script, bot, conversation, last string) ([]string, error) {
	t.Helper()
	c := &Client{base: memoryhttp.URL, http: memoryhttp.Serve(t, s)}
	enough := errors.New("enough")
	var ids []string
	err := c.Follow(t.Context(), bot, conversation, func(e Document[onereply.Event]) error {
		ids = append(ids, e.Value.ID)
		if e.Value.ID == last {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return ids, err
}

func TestFollowResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{streams: []stream{{events: []string{"1", "2"}}, {status: 503}, {}, {events: []string{"3"}}}}
		ids, err := follow(t, s, "", "", "3")
		if err != nil || !slices.Equal(ids, []string{"1", "2", "3"}) {
			t.Errorf("got %v, %v", ids, err)
		}
		want := []string{"/v1/events after ", "/v1/events after 2", "/v1/events after 2", "/v1/events after 2"}
		if !slices.Equal(s.asked, want) {
			t.Errorf("asked %q, want %q", s.asked, want)
		}
	})
}

func TestFollowLeavesASilentNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &script{streams: []stream{{events: []string{"1"}, hang: true}, {events: []string{"2"}}}}
		ids, err := follow(t, s, "b", "", "2")
		if err != nil || !slices.Equal(ids, []string{"1", "2"}) {
			t.Errorf("got %v, %v", ids, err)
		}
		if waited := time.Since(began); waited != maxSilence+firstPause {
			t.Errorf("waited %v, want %v", waited, maxSilence+firstPause)
		}
		if s.asked[1] != "/v1/events?bot=b after 1" {
			t.Errorf("asked %q", s.asked)
		}
	})
}

func TestFollowEnds(t *testing.T) {
	tests := []struct {
		name    string
		streams []stream
		want    string
	}{
		{"refused at once", []stream{{status: 401}}, "401"},
		{"out of order at first", []stream{{status: 503}}, "503"},
		{"refused later", []stream{{events: []string{"1"}}, {status: 404}}, "404"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := follow(t, &script{streams: test.streams}, "b", "c", "")
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %s", err, test.want)
				}
			})
		})
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{base: memoryhttp.URL, http: memoryhttp.Serve(t, &script{streams: []stream{{hang: true}}})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := c.Follow(ctx, "", "", func(Document[onereply.Event]) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestFollowRefusesWhatIsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "data: <html>\n\n") })
		c := &Client{base: memoryhttp.URL, http: memoryhttp.Serve(t, handler)}
		err := c.Follow(t.Context(), "", "", func(Document[onereply.Event]) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "read an event") {
			t.Errorf("got %v", err)
		}
	})
}
