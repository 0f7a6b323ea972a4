package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// pipes is a listener whose connections are pipes: they have deadlines, and
// within a synctest bubble these keep to virtual time.
type pipes struct {
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipes) Addr() net.Addr { return &net.IPAddr{} }

// serveInMemory runs s under a real http.Server until the test ends.
func serveInMemory(t *testing.T, s *Server) *pipes {
	t.Helper()
	l := &pipes{incoming: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: s}
	ended := make(chan struct{})
	go func() { _ = server.Serve(l); close(ended) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return l
}

// client is one raw connection.
type client struct {
	net.Conn
	reader *bufio.Reader
}

func (l *pipes) dial(t *testing.T) *client {
	t.Helper()
	here, there := net.Pipe()
	l.incoming <- there
	t.Cleanup(func() { _ = here.Close() })
	return &client{here, bufio.NewReader(here)}
}

// send writes a request: a line, header lines, and what there is of the body.
func (c *client) send(t *testing.T, line, header, body string) {
	t.Helper()
	_, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s", line, header, body)
	if err != nil {
		t.Fatal(err)
	}
}

// receive reads the answer's header; the body stays in the connection.
func (c *client) receive(t *testing.T) *http.Response {
	t.Helper()
	r, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (c *client) receiveAll(t *testing.T) answer {
	t.Helper()
	r := c.receive(t)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{r.StatusCode, r.Header, string(body)}
}

// wantClosed checks that the server has hung up.
func (c *client) wantClosed(t *testing.T) {
	t.Helper()
	rest, err := io.ReadAll(c.reader)
	if err != nil || len(rest) > 0 {
		t.Errorf("the connection is open: %q, %v", rest, err)
	}
}

// readUntil reads a stream up to and with the text.
func readUntil(t *testing.T, r io.Reader, text string) string {
	t.Helper()
	var got strings.Builder
	one := make([]byte, 1)
	for !strings.HasSuffix(got.String(), text) {
		if _, err := r.Read(one); err != nil {
			t.Fatalf("after %q: %v", got.String(), err)
		}
		got.Write(one)
	}
	return got.String()
}

// readToEnd reads until the server ends the stream.
func readToEnd(t *testing.T, r io.Reader) {
	t.Helper()
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Errorf("the stream breaks: %v", err)
	}
}
