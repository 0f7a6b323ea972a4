package e2e

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// wire is the network between one node and the store: it carries bytes, slowly
// or not at all, and loses what it is told to lose.
type wire struct {
	listener net.Listener
	server   string
	commit   []byte // what a commit has in it
	serving  sync.WaitGroup
	counter  *census // of what is asked; nil: nobody counts

	mu      sync.Mutex
	sockets map[net.Conn]bool
	delay   time.Duration
	stalled chan struct{} // closed when bytes flow again; nil: they do
	lose    loss
	hits    chan struct{} // gets a value when something was lost
}

// loss is what happens to the next commit.
type loss int

const (
	nothing     loss = iota
	itself           // the store never sees it
	theAnswerTo      // the store applies it, and the node never hears of that
)

func (l loss) String() string {
	return [...]string{"nothing was lost", "a commit was lost", "the answer to a commit was lost"}[l]
}

// newWire starts the network before a server.
func newWire(t testing.TB, server string, commit string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: listener, server: server, commit: []byte(commit), sockets: map[net.Conn]bool{}, hits: make(chan struct{}, 1)}
	w.serving.Go(w.accept)
	t.Cleanup(func() {
		_ = listener.Close() // nothing is left to do where that fails
		w.flow()
		w.cut()
		w.serving.Wait()
	})
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return // the end of the test
		}
		w.serving.Go(func() { w.serve(client) })
	}
}

func (w *wire) serve(client net.Conn) {
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		_ = client.Close() // the store is down, and that is all the node learns
		return
	}
	l := &link{wire: w, client: client, server: server}
	w.keep(l, true)
	defer w.keep(l, false)
	defer l.end()
	var both sync.WaitGroup
	both.Go(l.requests)
	both.Go(l.answers)
	both.Wait()
}

func (w *wire) keep(l *link, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, socket := range []net.Conn{l.client, l.server} {
		if open {
			w.sockets[socket] = true
		} else {
			delete(w.sockets, socket)
		}
	}
}

// cut ends all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for socket := range w.sockets {
		_ = socket.Close() // it may be closed already
	}
}

// slow delays all that passes.
func (w *wire) slow(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = by
}

// stall lets nothing pass; nobody is told.
func (w *wire) stall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stalled == nil {
		w.stalled = make(chan struct{})
	}
}

// flow ends a stall. What waited goes on.
func (w *wire) flow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stalled != nil {
		close(w.stalled)
		w.stalled = nil
	}
}

// next says what happens to the next commit, and reports whether one came by.
func (w *wire) next(l loss, within time.Duration) bool {
	w.mu.Lock()
	w.lose = l
	select {
	case <-w.hits: // of a commit that nobody waited for any more
	default:
	}
	w.mu.Unlock()
	select {
	case <-w.hits:
		return true
	case <-time.After(within):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	hit := w.lose == nothing
	w.lose = nothing
	return hit
}

func (w *wire) take() loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lose
	if w.lose = nothing; l != nothing {
		select {
		case w.hits <- struct{}{}:
		default: // nobody has taken the last one yet
		}
	}
	return l
}

// pass waits for as long as the wire holds things up.
func (w *wire) pass() {
	w.mu.Lock()
	delay, stalled := w.delay, w.stalled
	w.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
	time.Sleep(delay)
}

// link is one connection.
type link struct {
	*wire
	client, server net.Conn
	deaf           atomic.Bool // the next answer is lost
}

func (l *link) end() {
	_ = l.client.Close() // either may be closed already
	_ = l.server.Close()
}

// heard takes what the client says.
func (l *link) heard() io.WriteCloser {
	if l.counter == nil {
		return deaf{}
	}
	return l.counter.listen()
}

// deaf hears nothing.
type deaf struct{}

func (deaf) Write(p []byte) (int, error) { return len(p), nil }
func (deaf) Close() error                { return nil }

func (l *link) requests() {
	defer l.end()
	heard := l.heard()
	defer heard.Close()
	buffer := make([]byte, 256<<10)
	for {
		n, err := l.client.Read(buffer)
		_, _ = heard.Write(buffer[:n]) // who counts may have given up
		if bytes.Contains(buffer[:n], l.commit) {
			switch l.take() {
			case itself:
				return
			case theAnswerTo:
				l.deaf.Store(true)
			}
		}
		l.pass()
		if _, writeErr := l.server.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

func (l *link) answers() {
	defer l.end()
	buffer := make([]byte, 256<<10)
	for {
		n, err := l.server.Read(buffer)
		l.pass()
		if l.deaf.Load() {
			return
		}
		if _, writeErr := l.client.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}
