package scenario

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// network carries HTTP between the nodes, the fakes and the people, over
// pipes: a socket would keep the bubble's time from going on.
type network struct {
	mu    sync.Mutex
	hosts map[string]*listener
}

func newNetwork() *network { return &network{hosts: map[string]*listener{}} }

// listen makes a host. gate is the process that serves it, nil for fakes.
func (n *network) listen(host string, gate *gate) *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &listener{host: host, gate: gate, connections: make(chan net.Conn), closed: make(chan struct{})}
	n.hosts[host] = l
	return l
}

func (n *network) host(name string) *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hosts[name]
}

// client is an HTTP client of a process; gate is nil for people.
func (n *network) client(from string, gate *gate) *http.Client {
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if err := gate.enter(); err != nil {
			return nil, err
		}
		l := n.host(host)
		if l == nil {
			return nil, fmt.Errorf("connection refused: there is no host %q", host)
		}
		return l.dial(ctx, from, gate)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 64}}
}

// listener hands one end of each pipe to its server.
type listener struct {
	host        string
	gate        *gate
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (l *listener) dial(ctx context.Context, from string, gate *gate) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.connections <- l.gate.guard(&arrived{Conn: there, from: from}):
		return gate.guard(here), nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
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

func (l *listener) Addr() net.Addr { return hostName(l.host) }

type hostName string

func (hostName) Network() string  { return "pipe" }
func (h hostName) String() string { return string(h) }

// arrived is a connection whose server can tell who called.
type arrived struct {
	net.Conn
	from string
}

type callerKey struct{}

// connContext is for [http.Server]: [caller] finds what it notes.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if a, ok := c.(*arrived); ok {
		return context.WithValue(ctx, callerKey{}, a.from)
	}
	return ctx
}

// caller is the process that sent a request, "" for people.
func caller(r *http.Request) string {
	from, _ := r.Context().Value(callerKey{}).(string)
	return from
}
