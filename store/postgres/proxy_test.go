package postgres

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// fault is what a proxy does to the next commit.
type fault int32

const (
	noFault     fault = iota
	dropRequest       // cut the connection before the server sees the commit
	dropAnswer        // cut it when the server has answered
	keepAnswer        // never pass the answer on
)

// proxy stands between a store and its server.
type proxy struct {
	server  atomic.Value // its address, a string
	fault   atomic.Int32
	hits    atomic.Int32
	group   sync.WaitGroup
	mu      sync.Mutex
	sockets []net.Conn
}

// newProxy starts a proxy before the server of a URL, and returns the URL that
// leads through it.
func newProxy(t *testing.T, address string) (*proxy, string) {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	p.server.Store(parsed.Host)
	p.group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // the end of the test
			}
			p.group.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		p.cut()
		p.group.Wait()
	})
	parsed.Host = listener.Addr().String()
	parameters := parsed.Query()
	parameters.Set("default_query_exec_mode", "exec") // so that each commit names its function
	parsed.RawQuery = parameters.Encode()
	return p, parsed.String()
}

// next sets the fault of the next commit.
func (p *proxy) next(f fault) { p.fault.Store(int32(f)) }

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, socket := range p.sockets {
		_ = socket.Close() // it may be closed already
	}
	p.sockets = nil
}

// serve carries one connection.
func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server.Load().(string))
	if err != nil {
		_ = client.Close() // the server is down, and that is all the client learns
		return
	}
	p.mu.Lock()
	p.sockets = append(p.sockets, client, server)
	p.mu.Unlock()
	var hit atomic.Int32 // what to do with the answer
	var both sync.WaitGroup
	both.Go(func() { p.requests(client, server, &hit) })
	both.Go(func() { p.answers(client, server, &hit) })
	both.Wait()
}

func (p *proxy) requests(client, server net.Conn, hit *atomic.Int32) {
	defer func() { _ = errors.Join(client.Close(), server.Close()) }() // one of them is closed already
	buffer := make([]byte, 1<<20)
	for {
		n, err := client.Read(buffer)
		if n > 0 && bytes.Contains(buffer[:n], []byte("commit_v1")) {
			if f := p.fault.Swap(int32(noFault)); f != int32(noFault) {
				p.hits.Add(1)
				if f == int32(dropRequest) {
					return
				}
				hit.Store(f)
			}
		}
		if _, writeErr := server.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

func (p *proxy) answers(client, server net.Conn, hit *atomic.Int32) {
	defer func() { _ = errors.Join(client.Close(), server.Close()) }() // one of them is closed already
	buffer := make([]byte, 1<<20)
	for {
		n, err := server.Read(buffer)
		switch fault(hit.Load()) {
		case dropAnswer:
			return
		case keepAnswer:
			_, _ = io.Copy(io.Discard, server) // until the client gives up
			return
		}
		if _, writeErr := client.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}
