package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// limited serves with at most so many connections. A request for /slow tells that it has
// begun, and ends when it is let go.
type limited struct {
	listener net.Listener
	server   *http.Server
	idle     chan struct{} // the server knows of another connection that it is idle
	began    chan struct{}
	release  chan struct{}
	ended    chan error
}

func serveLimited(t *testing.T, most int) *limited {
	t.Helper()
	l := &limited{
		idle: make(chan struct{}, 16), began: make(chan struct{}, 16),
		release: make(chan struct{}), ended: make(chan error, 1),
	}
	l.server = &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			l.began <- struct{}{}
			<-l.release
		}
	})}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.listener = limitConnections(plain, most, l.server)
	changed := l.server.ConnState
	l.server.ConnState = func(conn net.Conn, state http.ConnState) {
		changed(conn, state)
		if state == http.StateIdle {
			l.idle <- struct{}{}
		}
	}
	go func() { l.ended <- l.server.Serve(l.listener) }()
	t.Cleanup(func() { _ = l.server.Close() })
	return l
}

// dialed is a connection to it.
type dialed struct {
	net.Conn
	reader *bufio.Reader
}

func (l *limited) dial(t *testing.T) dialed {
	t.Helper()
	conn, err := net.Dial("tcp", l.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return dialed{conn, bufio.NewReader(conn)}
}

// served is a connection that has had an answer, and is idle. The client has the answer
// before the server takes the connection for idle, so it waits for that too.
func (l *limited) served(t *testing.T) dialed {
	t.Helper()
	d := l.dial(t)
	d.ask("/")
	if err := d.answered(waitLimit); err != nil {
		t.Fatal(err)
	}
	await(t, l.idle, "the server takes the connection for idle")
	return d
}

// await is what comes next, and fails the test where nothing does.
func await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(waitLimit):
		t.Fatalf("%s: not within %s", what, waitLimit)
		panic("unreachable")
	}
}

func (d dialed) ask(path string) { fmt.Fprintf(d, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path) }

func (d dialed) answered(within time.Duration) error {
	_ = d.SetReadDeadline(time.Now().Add(within))
	response, err := http.ReadResponse(d.reader, nil)
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
	}
	return err
}

// TestConnectionsAreBounded: a new one takes the place of the one that is idle for
// longest, and never that of a request; it waits where there are only those.
func TestConnectionsAreBounded(t *testing.T) {
	l := serveLimited(t, 3)
	slow := l.dial(t)
	slow.ask("/slow")
	await(t, l.began, "the slow request begins")
	silent := l.dial(t) // it never sends anything
	idle := l.served(t)
	first := l.served(t)
	if err := silent.answered(waitLimit); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after the next connection the silent one: %v", err)
	}
	second := l.served(t)
	if err := idle.answered(waitLimit); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after two more connections the idle one: %v", err)
	}
	for _, busy := range []dialed{first, second} {
		busy.ask("/slow")
		await(t, l.began, "the slow request begins")
	}
	waiting := l.dial(t)
	waiting.ask("/")
	if err := waiting.answered(100 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("with three requests under way a fourth connection gets %v", err)
	}
	close(l.release)
	for _, one := range []dialed{waiting, slow, first, second} {
		if err := one.answered(waitLimit); err != nil {
			t.Errorf("once the requests may end: %v", err)
		}
	}
}

// TestTheListenerClosesWhileAConnectionWaits: a node that stops waits for no place.
func TestTheListenerClosesWhileAConnectionWaits(t *testing.T) {
	l := serveLimited(t, 1)
	slow := l.dial(t)
	slow.ask("/slow")
	await(t, l.began, "the slow request begins")
	waiting := l.dial(t)
	waiting.ask("/")
	_ = l.listener.Close()
	await(t, l.ended, "the server ends")
	close(l.release)
	if err := slow.answered(waitLimit); err != nil {
		t.Errorf("the request under way: %v", err)
	}
}

// TestConnectionsFor leaves files to the rest of the program.
func TestConnectionsFor(t *testing.T) {
	for files, want := range map[uint64]int{0: 16384, 1: 16, 200: 100, 512: 256, 1024: 768, 16640: 16384, 1 << 20: 16384, 1 << 63: 16384} {
		if got := connectionsFor(files); got != want {
			t.Errorf("of %d files %d are for connections, want %d", files, got, want)
		}
	}
}

// TestIdleConnectionsBlockNobody: a node that may open 200 files serves while somebody
// holds 300 connections open and sends nothing.
func TestIdleConnectionsBlockNobody(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no limit of open files")
	}
	t.Chdir(t.TempDir())
	few := exec.Command("sh", "-c", `ulimit -n 200 && exec "$0" "$@"`, os.Args[0], "demo", "--listen", "127.0.0.1:0")
	p := spawnCommand(t, few)
	address := strings.TrimPrefix(p.url, "http://")
	for range 300 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	impatient := http.Client{Timeout: waitLimit, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 5 {
		response, err := impatient.Get(p.url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	p.signal(t)
	p.ends(t, success)
}
