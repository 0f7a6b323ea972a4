package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

// TestBodyThatNeverEnds: the client gets 408 and loses its connection, which
// frees the goroutine.
func TestBodyThatNeverEnds(t *testing.T) {
	for name, test := range map[string]struct{ header, body string }{
		"declared length": {"Content-Length: 100\r\n", `{"text":`},
		"nothing at all":  {"Content-Length: 100\r\n", ""},
		"chunked":         {"Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := newFakeApp()
				c := serveInMemory(t, New(app, Options{})).dial(t)
				began := time.Now()
				c.send(t, "POST "+here+"/messages", test.header, test.body)
				c.receiveAll(t).wantProblem(t, kindBodyTimeout, "")
				if took := time.Since(began); took != 15*time.Second {
					t.Errorf("it took %v", took)
				}
				c.wantClosed(t)
				if app.calls() > 0 {
					t.Errorf("the App was asked: %+v", app.lastCall())
				}
			})
		})
	}
}

// TestBodyThatTrickles: the limit is for the whole body, not for each byte.
func TestBodyThatTrickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveInMemory(t, New(newFakeApp(), Options{})).dial(t)
		c.send(t, "POST "+here+"/messages", "Content-Length: 1000\r\n", "{")
		var trickle sync.WaitGroup
		trickle.Go(func() {
			for {
				if _, err := c.Write([]byte(" ")); err != nil {
					return
				}
				time.Sleep(700 * time.Millisecond)
			}
		})
		c.receiveAll(t).wantProblem(t, kindBodyTimeout, "")
		_ = c.Close()
		trickle.Wait()
	})
}

// TestBodyThatNobodyReads: a call without a body is no way to keep a
// goroutine either.
func TestBodyThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveInMemory(t, New(newFakeApp(), Options{})).dial(t)
		began := time.Now()
		c.send(t, "DELETE "+here, "Content-Length: 100\r\n", "")
		c.receive(t)
		c.wantClosed(t)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestSlowCallIsNoSlowClient: the body's deadline must not end the work on a
// request whose body came in time, nor the next request on the connection.
func TestSlowCallIsNoSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		app.hook = func(ctx context.Context) {
			select {
			case <-ctx.Done():
				app.err = fmt.Errorf("ended early: %w", context.Cause(ctx))
			case <-time.After(20 * time.Second):
			}
		}
		c := serveInMemory(t, New(app, Options{})).dial(t)
		for range 2 {
			c.send(t, "POST "+here+"/messages", "Content-Length: 13\r\n", `{"text":"hi"}`)
			if got := c.receiveAll(t); got.status != http.StatusAccepted {
				t.Errorf("status %d\n%s", got.status, got.body)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestCallThatHangs: a store that never answers becomes a 503.
func TestCallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		app.hook = func(ctx context.Context) {
			<-ctx.Done()
			app.err = &onereply.Error{Code: onereply.CodeUnavailable, Err: ctx.Err()}
		}
		c := serveInMemory(t, New(app, Options{})).dial(t)
		for range 3 { // requests that come about the same time share what bounds them
			began := time.Now()
			c.send(t, "POST "+here+"/messages", "Content-Length: 13\r\n", `{"text":"hi"}`)
			c.receiveAll(t).wantProblem(t, kindUnavailable, "")
			if took := time.Since(began); took < 30*time.Second || took > 32*time.Second {
				t.Errorf("it took %v", took)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestAnswerThatNobodyTakes: a client that does not read is cut off.
func TestAnswerThatNobodyTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(newFakeApp(), Options{})
		c := serveInMemory(t, s).dial(t)
		c.send(t, "GET /openapi.json", "", "")
		time.Sleep(2 * time.Minute)
		if _, err := c.reader.Peek(1); err == nil {
			t.Error("the answer is still there")
		}
	})
}

// TestTooLargeWithoutReading: what is declared too large is refused before it
// is sent.
func TestTooLargeWithoutReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveInMemory(t, New(newFakeApp(), Options{})).dial(t)
		c.send(t, "POST "+here+"/messages", "Content-Length: 6000000\r\nExpect: 100-continue\r\n", "")
		got := c.receiveAll(t)
		got.wantProblem(t, kindBodyTooLarge, "")
		c.wantClosed(t)
	})
}
