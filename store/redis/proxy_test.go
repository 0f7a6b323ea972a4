package redis

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fault is what a proxy does to the next commit that passes it.
type fault int32

const (
	none        fault = iota
	dropRequest       // the server never sees it
	dropAnswer        // the server applies it, and nobody hears of that
)

// proxy passes bytes between stores and a server, and cuts the connection in
// the middle of a commit when it is told to.
type proxy struct {
	listener net.Listener
	server   string
	commit   []byte // what a commit has in it: the digest of its script
	next     atomic.Int32
	hit      chan struct{} // a value for each fault that happened
	running  sync.WaitGroup
}

// newProxy starts a proxy that ends with the test.
func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, server: server, commit: []byte(loadScripts().commit.digest), hit: make(chan struct{}, 1)}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		p.running.Wait()
	})
	return p
}

func (p *proxy) url() string { return "redis://" + p.listener.Addr().String() }

// fail arms the proxy.
func (p *proxy) fail(f fault) { p.next.Store(int32(f)) }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		link := &link{proxy: p, client: client, server: server}
		p.running.Go(link.up)
		p.running.Go(link.down)
	}
}

// link is one connection through the proxy.
type link struct {
	*proxy
	client, server net.Conn
	deaf           atomic.Bool // the answer is to be dropped
}

func (l *link) cut() {
	l.client.Close()
	l.server.Close()
}

// up passes what the client sends.
func (l *link) up() {
	defer l.cut()
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], l.commit) {
			switch fault(l.next.Swap(int32(none))) {
			case dropRequest:
				l.hit <- struct{}{}
				return
			case dropAnswer:
				l.deaf.Store(true)
			}
		}
		if _, err := l.server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// down passes what the server answers. When an answer is to be dropped, that it
// came shows that the commit was carried out.
func (l *link) down() {
	defer l.cut()
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buffer)
		if err != nil {
			return
		}
		if l.deaf.Load() {
			l.hit <- struct{}{}
			return
		}
		if _, err := l.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// isCut reports whether a connection was ended by the other side.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || strings.Contains(err.Error(), "reset") || strings.Contains(err.Error(), "clos")
}
