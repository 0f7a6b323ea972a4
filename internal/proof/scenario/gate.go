package scenario

import (
	"errors"
	"net"
	"sync"
)

// errDead is what a crashed process gets for whatever it still tries.
var errDead = errors.New("this process is dead")

// gate is the edge of a process: all its reads, writes, sends and calls of the
// store pass it. While the process is frozen they wait, whatever their
// deadlines; once it is dead they fail. A nil gate is always open.
type gate struct {
	mu     sync.Mutex
	frozen chan struct{} // closed by thaw; nil: it runs
	dead   bool
	links  map[net.Conn]struct{}
}

// enter waits until the process runs, and fails where it is dead.
func (g *gate) enter() error {
	if g == nil {
		return nil
	}
	for {
		g.mu.Lock()
		frozen, dead := g.frozen, g.dead
		g.mu.Unlock()
		switch {
		case dead:
			return errDead
		case frozen == nil:
			return nil
		}
		<-frozen
	}
}

func (g *gate) freeze() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.frozen == nil && !g.dead {
		g.frozen = make(chan struct{})
	}
}

func (g *gate) thaw() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.frozen != nil {
		close(g.frozen)
		g.frozen = nil
	}
}

// kill cuts the process off from everything, at once.
func (g *gate) kill() {
	g.mu.Lock()
	g.dead = true
	links := g.links
	g.links = nil
	g.mu.Unlock()
	g.thaw()
	for c := range links {
		_ = c.Close()
	}
}

// guard puts the process's end of a connection behind the gate.
func (g *gate) guard(c net.Conn) net.Conn {
	if g == nil {
		return c
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		_ = c.Close()
		return c
	}
	if g.links == nil {
		g.links = map[net.Conn]struct{}{}
	}
	g.links[c] = struct{}{}
	return &guarded{Conn: c, gate: g}
}

type guarded struct {
	net.Conn
	gate *gate
}

func (c *guarded) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if dead := c.gate.enter(); dead != nil {
		return 0, dead
	}
	return n, err
}

func (c *guarded) Write(b []byte) (int, error) {
	if err := c.gate.enter(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Close returns at once, because its caller may hold a lock. A frozen process
// closes nothing until it wakes.
func (c *guarded) Close() error {
	if c.gate.asleep() {
		go c.close() // the bubble waits for it
		return nil
	}
	return c.close()
}

func (c *guarded) close() error {
	_ = c.gate.enter()
	c.gate.forget(c.Conn)
	return c.Conn.Close()
}

func (g *gate) asleep() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.frozen != nil
}

func (g *gate) forget(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.links, c)
}
