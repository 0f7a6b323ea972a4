// Package memoryhttp serves HTTP over connections in memory, for tests whose
// time is virtual: a socket would keep a testing/synctest bubble from being
// idle. It is for tests only, and must never be imported by anything else.
package memoryhttp

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// URL is the address of whatever [Serve] serves.
const URL = "http://memory.test"

// Serve starts a server for the handler and returns a client whose every
// request reaches it. Both end with the test.
func Serve(t testing.TB, handler http.Handler) *http.Client {
	t.Helper()
	listener := &listener{connections: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	transport := &http.Transport{DialContext: listener.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-done
	})
	return &http.Client{Transport: transport}
}

// listener hands one end of each pipe to the server.
type listener struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.connections <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "memory.test" }
