package main

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections is a listener that keeps the connections of a server below a number. A new
// one that would be too many takes the place of the one that has been idle for longest: it
// costs its client a new connection. Where none is idle, the new one waits for the next
// that is, and others wait in the system's queue.
//
// Without it, clients that open connections and send nothing could use up the files that
// the process may open, and with them the store's and the listener's own.
type connections struct {
	net.Listener
	places chan struct{} // holds a value for each open connection
	closed chan struct{} // closed with the listener
	once   sync.Once

	mu      sync.Mutex
	idle    *list.List                 // connections without a request, the longest first
	at      map[net.Conn]*list.Element // where each of them is
	waiting bool                       // a new one takes the place of the next that is idle
}

// limitConnections bounds the connections of the server on the listener. The server tells
// which of them are idle.
func limitConnections(l net.Listener, most int, s *http.Server) net.Listener {
	c := &connections{
		Listener: l, places: make(chan struct{}, most), closed: make(chan struct{}),
		idle: list.New(), at: map[net.Conn]*list.Element{},
	}
	s.ConnState = c.changed
	return c
}

// Accept gives a new connection its place before anything of it is read.
func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !c.takePlace() {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	return &placed{Conn: conn, of: c}, nil
}

// takePlace reports false where the listener was closed meanwhile.
func (c *connections) takePlace() bool {
	select {
	case c.places <- struct{}{}:
		return true
	default:
	}
	c.makeRoom()
	defer c.hasRoom()
	select {
	case c.places <- struct{}{}:
		return true
	case <-c.closed:
		return false
	}
}

// makeRoom closes the connection that has been idle for longest, or else the next one that
// becomes idle.
func (c *connections) makeRoom() {
	c.mu.Lock()
	first := c.idle.Front()
	c.waiting = first == nil
	if first != nil {
		c.forget(first.Value.(net.Conn))
	}
	c.mu.Unlock()
	if first != nil {
		_ = first.Value.(net.Conn).Close()
	}
}

// hasRoom ends the wait for a connection that becomes idle.
func (c *connections) hasRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = false
}

// changed is told by the server of each change. A connection that has sent nothing yet is
// idle too.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	c.forget(conn)
	needed := state == http.StateIdle && c.waiting
	switch {
	case needed:
		c.waiting = false
	case state == http.StateNew || state == http.StateIdle:
		c.at[conn] = c.idle.PushBack(conn)
	}
	c.mu.Unlock()
	if needed {
		_ = conn.Close()
	}
}

// forget takes a connection out of the idle ones. The caller holds the lock.
func (c *connections) forget(conn net.Conn) {
	if element := c.at[conn]; element != nil {
		c.idle.Remove(element)
		delete(c.at, conn)
	}
}

// Close also ends the wait for a place.
func (c *connections) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

// placed is a connection that has a place, until it is closed.
type placed struct {
	net.Conn
	of   *connections
	once sync.Once
}

func (p *placed) Close() error {
	err := p.Conn.Close()
	p.once.Do(func() { <-p.of.places })
	return err
}

// CloseWrite lets the server end an answer before it closes, as on a plain connection: a
// client that still sends would lose the answer otherwise.
func (p *placed) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Bounds of the connections of a node.
const (
	maxConnections   = 16 << 10
	leastConnections = 16
	filesOfTheRest   = 256 // for the store, models and receivers, where there are so many
)

// connectionsFor is how many connections fit into the files that a process may open: half
// of few files, and all but those of the rest of many. 0 files stands for no limit.
func connectionsFor(files uint64) int {
	if files == 0 || files > maxConnections+filesOfTheRest {
		return maxConnections
	}
	return max(leastConnections, int(files)/2, int(files)-filesOfTheRest)
}
