package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

func fullEvent(t *testing.T) onereply.Event {
	return onereply.Event{
		ID: "n1-7", Type: "reply.committed", At: at(t, "2026-01-02T03:04:05Z"), Node: "n1", Bot: "support", Conversation: "c1",
		Turn: 1, Token: 2, Attempt: 1, Version: 3, Through: 3, DueAt: at(t, "2026-01-02T03:04:06Z"), MessageID: "m", ReplyID: "c1/1",
		Covers: []string{"m1"}, Text: "two\nlines\r\u2028", Part: 1, Parts: 2, LateInput: true, Reason: "r",
	}
}

func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		s := newWatched(app, Options{})
		c := serveInMemory(t, s).dial(t)
		c.send(t, "GET "+here+"/events", "Last-Event-ID: n1-6\r\n", "")
		stream := c.receive(t)
		if stream.StatusCode != http.StatusOK || stream.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("status %d, header %v", stream.StatusCode, stream.Header)
		}
		if got := readUntil(t, stream.Body, "\n\n"); got != "retry: 1000\n\n" {
			t.Errorf("greeting = %q", got)
		}
		if want := (call{"subscribe", "support", "c1", "n1-6"}); app.lastCall() != want {
			t.Errorf("asked %+v, want %+v", app.lastCall(), want)
		}

		app.events <- fullEvent(t)
		lines := strings.Split(readUntil(t, stream.Body, "\n\n"), "\n")
		if len(lines) != 5 || lines[0] != "id: n1-7" || lines[1] != "event: reply.committed" {
			t.Fatalf("event = %q", lines)
		}
		data := strings.TrimPrefix(lines[2], "data: ")
		conformJSON(t, describedAPI(t).Components.Schemas["Event"].Value, answer{body: data})
		if !strings.Contains(data, `"due_at":"2026-01-02T03:04:06.000Z"`) || !strings.Contains(data, `two\nlines`) {
			t.Errorf("data = %s", data)
		}

		began := time.Now()
		for range 3 {
			if got := readUntil(t, stream.Body, "\n\n"); got != ": \n\n" {
				t.Errorf("heartbeat = %q", got)
			}
		}
		if took := time.Since(began); took != 45*time.Second {
			t.Errorf("three heartbeats took %v", took)
		}

		s.EndStreams()
		s.EndStreams()
		if rest, err := io.ReadAll(stream.Body); err != nil || len(rest) > 0 {
			t.Errorf("at the end: %q, %v", rest, err)
		}
		c.send(t, "GET /v1/events", "", "")
		c.receiveAll(t).wantProblem(t, kindUnavailable, "")
	})
}

func TestStreamLivesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		c := serveInMemory(t, newWatched(app, Options{})).dial(t)
		c.send(t, "GET /v1/events", "", "")
		stream := c.receive(t)
		go func() {
			time.Sleep(time.Hour)
			app.events <- fullEvent(t)
		}()
		readUntil(t, stream.Body, "id: n1-7\n")
	})
}

// TestStreamWhoseReaderIsSlow: a client that takes nothing is cut off, and its
// place is free again.
func TestStreamWhoseReaderIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		s := newWatched(app, Options{})
		c := serveInMemory(t, s).dial(t)
		c.send(t, "GET /v1/events", "", "")
		readUntil(t, c.receive(t).Body, "\n\n")
		for range cap(app.events) {
			app.events <- fullEvent(t)
		}
		time.Sleep(14 * time.Second)
		if s.streams.count() != 1 {
			t.Error("it was cut off too early")
		}
		time.Sleep(2 * time.Second)
		if s.streams.count() != 0 {
			t.Error("it was not cut off")
		}
	})
}

func TestStreamThatTheAppCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		c := serveInMemory(t, newWatched(app, Options{})).dial(t)
		c.send(t, "GET /v1/events", "", "")
		stream := c.receive(t)
		app.events <- fullEvent(t)
		close(app.events)
		if got, err := io.ReadAll(stream.Body); err != nil || !strings.Contains(string(got), "id: n1-7\n") {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestStreamWhoseClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		s := newWatched(app, Options{})
		c := serveInMemory(t, s).dial(t)
		c.send(t, "GET /v1/events", "", "")
		readUntil(t, c.receive(t).Body, "\n\n")
		_ = c.Close()
		synctest.Wait()
		if s.streams.count() != 0 || app.watching.Load() != 0 {
			t.Error("the stream goes on")
		}
	})
}

func TestStreamLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := serveInMemory(t, newWatched(newFakeApp(), Options{MaxStreams: 1}))
		first, second := l.dial(t), l.dial(t)
		first.send(t, "GET /v1/events", "", "")
		readUntil(t, first.receive(t).Body, "\n\n")
		second.send(t, "GET "+here+"/events", "", "")
		got := second.receiveAll(t)
		got.wantProblem(t, kindUnavailable, "")
		if got.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		_ = first.Close()
		synctest.Wait()
		second.send(t, "GET /v1/events", "", "")
		if again := second.receive(t); again.StatusCode != http.StatusOK {
			t.Errorf("after the first left: status %d", again.StatusCode)
		}
	})
}

func TestStreamHead(t *testing.T) {
	app := newFakeApp()
	got := ask(t, newWatched(app, Options{}), "HEAD", "/v1/events", "")
	if got.status != http.StatusOK || app.calls() > 0 {
		t.Errorf("status %d, asked %+v", got.status, app.lastCall())
	}
}

func TestWhereAStreamGoesOn(t *testing.T) {
	for _, test := range []struct{ query, header, want string }{
		{"", "", ""},
		{"", "h", "h"},
		{"?after=a", "", "a"},
		{"?last_event_id=l", "", "l"},
		{"?after=a&last_event_id=l", "", "l"},
		{"?after=a", "h", "h"},
	} {
		r := httptest.NewRequest("GET", "/v1/events"+test.query, nil)
		r.Header.Set("Last-Event-ID", test.header)
		if got, err := readAfter(r); got != test.want || err != nil {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
}

func TestStreamFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		c := serveInMemory(t, newWatched(app, Options{})).dial(t)
		c.send(t, "GET /v1/events?bot=support&conversation=a%2Fb&after=n1-2", "", "")
		readUntil(t, c.receive(t).Body, "\n\n")
		if want := (call{"subscribe", "support", "a/b", "n1-2"}); app.lastCall() != want {
			t.Errorf("asked %+v, want %+v", app.lastCall(), want)
		}
	})
}

func FuzzLastEventID(f *testing.F) {
	for _, id := range []string{"n1-7", "", "a\nb", "\xff", "\u2028", strings.Repeat("x", 300), "0", "é"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		r := httptest.NewRequest("GET", "/v1/events", nil)
		r.Header["Last-Event-Id"] = []string{id}
		got, err := readAfter(r)
		if err == nil && (got != id || len(got) > maxEventIDBytes || strings.ContainsAny(got, "\r\n\x00")) {
			t.Errorf("%q became %q", id, got)
		}
		asked := httptest.NewRequest("GET", "/v1/events?after="+url.QueryEscape(id), nil)
		if again, err2 := readAfter(asked); again != got || (err2 == nil) != (err == nil) {
			t.Errorf("%q as a parameter became %q: %v", id, again, err2)
		}
	})
}

func FuzzQuery(f *testing.F) {
	for _, query := range []string{"after=1&limit=2", "phase=failed&cursor=x", "limit=-1", "%zz", ";", "after=9999999999999999999", "limit=1&limit=2"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := &http.Request{URL: &url.URL{RawQuery: query}}
		if p, err := readPage(r); err == nil && (p.after < 0 || p.limit < 1 || p.limit > maxPage) {
			t.Errorf("%q: %+v", query, p)
		}
		list, err := readList(r)
		if err == nil && (list.Limit < 1 || list.Limit > maxPage || list.Phase != "" && !isPhase(list.Phase)) {
			t.Errorf("%q: %+v", query, list)
		}
	})
}

func isPhase(p onereply.Phase) bool {
	return strings.Contains(" idle collecting generating sending paused failed ", " "+string(p)+" ")
}
