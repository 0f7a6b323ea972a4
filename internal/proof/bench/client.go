package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// poster is a client that keeps one connection open.
type poster interface {
	// post sends a message and waits for its acknowledgement.
	post(conversation, id string) error
	close() error
}

// usual is Go's own client. It takes more time than the handlers here.
type usual struct {
	http    http.Client
	address string
}

func dialUsual(address string) (poster, error) {
	return &usual{http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}, address}, nil
}

func (u *usual) close() error {
	u.http.CloseIdleConnections()
	return nil
}

func (u *usual) post(conversation, id string) error {
	var body bytes.Buffer
	writeMessage(&body, id)
	url := "http://" + u.address + "/v1/bots/" + botName + "/conversations/" + conversation + "/messages"
	answer, err := u.http.Post(url, "application/json", &body)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && answer.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("the server answered %s", answer.Status)
	}
	return err
}

// writeMessage writes the body of a request.
func writeMessage(to *bytes.Buffer, id string) {
	fmt.Fprintf(to, `{"id":%q,"text":%q,"sender":{"id":"u1","name":"Ann"},"sent_at":%q}`,
		id, text, time.Now().UTC().Format(time.RFC3339Nano))
}

// connection is a client that does as little as HTTP/1.1 allows, so that what is
// measured is the server.
type connection struct {
	conn    net.Conn
	in      *bufio.Reader
	request bytes.Buffer
	body    bytes.Buffer
}

func dialBare(address string) (poster, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, in: bufio.NewReader(conn)}, nil
}

func (c *connection) close() error { return c.conn.Close() }

func (c *connection) post(conversation, id string) error {
	c.body.Reset()
	writeMessage(&c.body, id)
	c.request.Reset()
	fmt.Fprintf(&c.request, "POST /v1/bots/%s/conversations/%s/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		botName, conversation, c.body.Len())
	c.request.Write(c.body.Bytes())
	if _, err := c.conn.Write(c.request.Bytes()); err != nil {
		return err
	}
	return c.accepted()
}

// accepted reads one answer and expects the status 202.
func (c *connection) accepted() error {
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(status) < 12 || string(status[9:12]) != "202" {
		return fmt.Errorf("the server answered %q", bytes.TrimSpace(status))
	}
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return errors.New("the answer has no length")
	}
	_, err = c.in.Discard(length)
	return err
}

// listen serves a handler on loopback until stop is called.
func listen(handler http.Handler) (address string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(listener) }()
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err := s.Shutdown(ctx)
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}
	return listener.Addr().String(), stop, nil
}
