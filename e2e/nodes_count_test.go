package e2e

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// census counts the questions that nodes ask a store, as they pass on the
// wire: each is one answer to wait for.
type census struct {
	read func(questions *bufio.Reader, asked func(string)) error // one connection's

	mu    sync.Mutex
	asked map[string]int
}

// questions are how each engine is asked.
var questions = map[string]func(*bufio.Reader, func(string)) error{"postgres": askedOfPostgres, "redis": askedOfRedis}

func newCensus(e engine) *census { return &census{read: questions[e.kind], asked: map[string]int{}} }

// listen gives where a connection's bytes go, to be closed with it.
func (c *census) listen() io.WriteCloser {
	heard, said := io.Pipe()
	go func() {
		err := c.read(bufio.NewReader(heard), c.ask)
		_ = heard.CloseWithError(err) // nobody must wait for who does not listen any more
	}()
	return said
}

func (c *census) ask(question string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[question]++
}

// start forgets what was asked so far.
func (c *census) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.asked)
}

// per is how many questions there were for each of so many turns, and what they
// were, most often first.
func (c *census) per(turns int) (float64, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := 0
	var kinds []string
	for kind, count := range c.asked {
		total += count
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int { return c.asked[b] - c.asked[a] })
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%8.4f %s", float64(c.asked[kind])/float64(turns), kind)
	}
	return float64(total) / float64(turns), strings.Join(kinds, "\n")
}

// askedOfPostgres reads what a client sends: a startup message, then messages of
// a type and a length. A statement is parsed, bound, run, and ends with a Sync;
// or it is a text by itself.
func askedOfPostgres(from *bufio.Reader, asked func(string)) error {
	statement := ""
	for kind := byte(0); ; {
		var length uint32
		if err := binary.Read(from, binary.BigEndian, &length); err != nil {
			return err
		}
		body := make([]byte, max(length, 4)-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return err
		}
		switch kind {
		case 'P':
			_, after, _ := bytes.Cut(body, []byte{0}) // the name
			query, _, _ := bytes.Cut(after, []byte{0})
			statement = brief(query)
		case 'S':
			asked(statement)
		case 'Q':
			asked(brief(bytes.TrimRight(body, "\x00")))
		}
		var err error
		if kind, err = from.ReadByte(); err != nil {
			return err
		}
	}
}

// brief is the beginning of a statement in one line.
func brief(statement []byte) string {
	text := strings.Join(strings.Fields(string(statement)), " ")
	return text[:min(len(text), 70)]
}

// askedOfRedis reads what a client sends: lists of strings, each with its
// length before it. Of a script the digest is shown, not the arguments.
func askedOfRedis(from *bufio.Reader, asked func(string)) error {
	for {
		count, err := number(from, '*')
		if err != nil {
			return err
		}
		var words []string
		for range count {
			length, err := number(from, '$')
			if err != nil {
				return err
			}
			word := make([]byte, length+len("\r\n"))
			if _, err := io.ReadFull(from, word); err != nil {
				return err
			}
			words = append(words, string(word[:length]))
		}
		if len(words) > 1 && strings.EqualFold(words[0], "EVALSHA") {
			words[0] += " " + words[1][:min(len(words[1]), 8)]
		}
		if len(words) > 0 {
			asked(words[0])
		}
	}
}

// number reads a line such as *3.
func number(from *bufio.Reader, kind byte) (int, error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%q is no line of type %c", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

func TestQuestionsAreCounted(t *testing.T) {
	message := func(kind string, body string) string {
		return kind + string(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))) + body
	}
	tests := map[string]struct {
		bytes string
		want  map[string]int
	}{
		"postgres": {
			message("", "\x00\x03\x00\x00user\x00me\x00\x00") + message("P", "\x00SELECT\n 1\x00\x00\x00") + message("B", "\x00") +
				message("E", "\x00") + message("S", "") + message("Q", "BEGIN\x00") + message("P", "\x00SELECT 1\x00\x00\x00") + message("S", ""),
			map[string]int{"SELECT 1": 2, "BEGIN": 1},
		},
		"redis": {
			"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*3\r\n$7\r\nEVALSHA\r\n$10\r\n0123456789\r\n$2\r\n\r\n\r\n*1\r\n$3\r\nGET\r\n",
			map[string]int{"GET": 2, "EVALSHA 01234567": 1},
		},
	}
	for kind, test := range tests {
		got := map[string]int{}
		err := questions[kind](bufio.NewReader(strings.NewReader(test.bytes)), func(q string) { got[q]++ })
		if err != io.EOF || fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: got %v, %v; want %v", kind, got, err, test.want)
		}
	}
}
