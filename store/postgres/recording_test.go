package postgres

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/storetest"
)

var recordProgram = flag.Bool("record", false, "record what this program sends to its database, for programs to come")

// recording is all that a program of some schema version sent to its database in
// the differential test, to the byte, with what it was answered. It is that
// program, as far as a database of a newer schema can tell: there is no need to
// build it again.
type recording struct {
	Exchanges []exchange
	Contents  contents // in the end
}

// exchange is one statement with its arguments.
type exchange struct {
	Sent []byte   // the messages of the protocol, up to a Sync
	Rows [][]byte // of the answer
	Code string   // of an error
}

// contents are all that a store holds.
type contents struct {
	Found   []store.Found
	Items   []store.Item
	Entries map[string][]store.Entry // by key
}

func recordingOf(version int) string {
	return filepath.Join("testdata", fmt.Sprintf("program_v%d.json.gz", version))
}

// Every program that may still work on the newest schema does all that it did,
// and this program finds what that one wrote, and goes on with it.
func TestThePreviousProgramWorksOnTheNewestSchema(t *testing.T) {
	steps := migrations()
	newest := len(steps)
	if *recordProgram {
		record(t, recordingOf(newest))
	}
	for version := steps[newest-1].oldest; version <= newest; version++ {
		t.Run(fmt.Sprintf("program of schema %d", version), func(t *testing.T) {
			played := readRecording(t, version)
			address := testservers.Postgres(t)
			mustMigrate(t, address, steps[:version]) // it made this schema itself
			s := openAt(t, address)                  // and this program the newest
			compared := replay(t, address, played.Exchanges)
			t.Logf("%d statements of a program of schema %d on schema %d", compared, version, newest)
			if compared < 300 {
				t.Errorf("only %d statements were compared: that is no whole program", compared)
			}
			if got := contentsOf(t, s); !reflect.DeepEqual(got, played.Contents) {
				t.Errorf("this program finds\n%+v\nand that one had written\n%+v", got, played.Contents)
			}
			goOn(t, s, played.Contents)
		})
	}
}

func mustMigrate(t *testing.T, address string, steps []migration) {
	t.Helper()
	s, err := open(t.Context(), address, Options{}, steps)
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
}

// goOn writes one more message into each conversation.
func goOn(t *testing.T, s *Store, there contents) {
	t.Helper()
	for i, f := range there.Found {
		seq := max(f.Snapshot.Record.Seq, 100)
		mustCommit(t, s, message(f.Key, f.Snapshot.Op, opOf(uint64(1_000_000+i)), seq+1))
		if got := len(mustEntries(t, s, f.Key)); got != len(there.Entries[f.Key.String()])+1 {
			t.Errorf("%v has %d entries after one more", f.Key, got)
		}
	}
}

// contentsOf reads all that a store holds.
func contentsOf(t *testing.T, s store.Store) contents {
	t.Helper()
	c := contents{Entries: map[string][]store.Entry{}}
	found, next, err := s.Sweep(t.Context(), "", 1000)
	if err != nil || next != "" {
		t.Fatalf("Sweep: %q, %v", next, err)
	}
	page, err := s.List(t.Context(), store.ListQuery{Limit: 1000})
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	c.Found, c.Items = found, page.Items
	for _, f := range found {
		c.Entries[f.Key.String()] = mustEntries(t, s, f.Key)
	}
	text, err := json.Marshal(c) // as a recording has been through
	if err != nil {
		t.Fatal(err)
	}
	c = contents{}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func readRecording(t *testing.T, version int) (played recording) {
	t.Helper()
	file, err := os.Open(recordingOf(version))
	if err != nil {
		t.Fatalf("%v: with the program that made this schema, run: go test ./store/postgres -run ThePreviousProgram -record", err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err == nil {
		err = json.NewDecoder(unzipped).Decode(&played)
	}
	if err != nil {
		t.Fatal(err)
	}
	return played
}

// replay sends what was recorded, on one connection, and compares the answers to
// what concerns conversations. It returns how many those were.
func replay(t *testing.T, address string, exchanges []exchange) (compared int) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := db.PgConn().Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Conn.Close()
	answers := bufio.NewReader(connection.Conn)
	for i, e := range exchanges {
		if !e.ofConversations() {
			continue
		}
		if _, err := connection.Conn.Write(e.Sent); err != nil {
			t.Fatal(err)
		}
		got := exchange{Sent: e.Sent}
		if _, err := got.readAnswer(answers); err != nil {
			t.Fatalf("statement %d: %v", i, err)
		}
		if got.Code != e.Code || !reflect.DeepEqual(got.sorted(), e.sorted()) {
			t.Fatalf("statement %d, %q:\n got %q %q\nwant %q %q", i, e.Sent, got.Code, got.Rows, e.Code, e.Rows)
		}
		compared++
	}
	return compared
}

// ofConversations tells statements that a conversation depends on from those
// that ask the server about itself, whose answers change.
func (e exchange) ofConversations() bool {
	return bytes.Contains(e.Sent, []byte("onereply.")) && !bytes.Contains(e.Sent, []byte("onereply.schema"))
}

// sorted are the rows in an order of their own: not every statement promises one.
func (e exchange) sorted() []string {
	var rows []string
	for _, row := range e.Rows {
		rows = append(rows, string(row))
	}
	slices.Sort(rows)
	return rows
}

// readAnswer reads up to where the server is ready for more, and returns all of
// it as it came.
func (e *exchange) readAnswer(from *bufio.Reader) (raw []byte, err error) {
	for {
		kind, body, whole, err := readMessage(from)
		if err != nil {
			return nil, err
		}
		raw = append(raw, whole...)
		switch kind {
		case 'D':
			e.Rows = append(e.Rows, body)
		case 'E':
			for field := range strings.SplitSeq(string(body), "\x00") {
				if code, ok := strings.CutPrefix(field, "C"); ok {
					e.Code = code
				}
			}
		case 'Z':
			return raw, nil
		}
	}
}

// readMessage reads a type, a length, and a body.
func readMessage(from *bufio.Reader) (kind byte, body, whole []byte, err error) {
	whole = make([]byte, 5)
	if _, err := io.ReadFull(from, whole); err != nil {
		return 0, nil, nil, err
	}
	body = make([]byte, max(binary.BigEndian.Uint32(whole[1:]), 4)-4)
	if _, err := io.ReadFull(from, body); err != nil {
		return 0, nil, nil, err
	}
	return whole[0], body, append(whole, body...), nil
}

// record runs the differential test through a recorder, and writes the file.
func record(t *testing.T, path string) {
	t.Helper()
	address := testservers.Postgres(t)
	direct := openAt(t, address)
	r := &recorder{}
	through := r.listen(t, address)
	storetest.Differential(t, func(t *testing.T) store.Store {
		return openWith(t, through, Options{Connections: 1, NoHints: true})
	}, storetest.Effort{Seed: 1, Runs: 1, Steps: 250})
	var file bytes.Buffer
	zipped := gzip.NewWriter(&file)
	err := json.NewEncoder(zipped).Encode(recording{r.exchanges, contentsOf(t, direct)})
	if err := errors.Join(err, zipped.Close(), os.WriteFile(path, file.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// recorder stands between a store of one connection and its server.
type recorder struct{ exchanges []exchange }

func (r *recorder) listen(t *testing.T, address string) string {
	t.Helper()
	there, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended, server := make(chan struct{}), there.Host
	go func() {
		defer close(ended)
		client, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer client.Close()
		if err := r.carry(client, server); err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close() // it has had its one client
		<-ended
	})
	there.Host = listener.Addr().String()
	return there.String()
}

// carry passes one question on, and then its answer, until the client goes.
func (r *recorder) carry(client net.Conn, address string) error {
	server, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer server.Close()
	questions, answers := bufio.NewReader(client), bufio.NewReader(server)
	length, err := questions.Peek(4) // the first message has no type
	if err != nil {
		return err
	}
	e := exchange{Sent: make([]byte, binary.BigEndian.Uint32(length))}
	if _, err := io.ReadFull(questions, e.Sent); err != nil {
		return err
	}
	for {
		if _, err := server.Write(e.Sent); err != nil {
			return err
		}
		raw, err := e.readAnswer(answers)
		if err != nil {
			return err
		}
		r.exchanges = append(r.exchanges, e)
		if _, err := client.Write(raw); err != nil {
			return err
		}
		if e, err = nextQuestion(questions); err != nil {
			return err
		}
	}
}

// nextQuestion reads what the client sends before it waits.
func nextQuestion(from *bufio.Reader) (e exchange, err error) {
	for {
		kind, _, whole, err := readMessage(from)
		if err != nil {
			return e, err
		}
		e.Sent = append(e.Sent, whole...)
		switch kind {
		case 'S', 'Q':
			return e, nil
		case 'X':
			return e, io.EOF
		}
	}
}
