// Package sse reads streams of server-sent events, as the WHATWG standard defines them,
// within bounds. Its one job is parsing; it must never import anything of this module.
//
// A stream is lines of text. A line is a field ("data: …"), a comment (": …"), or
// empty, which ends an event. Lines end with a line feed, a carriage return, or both.
// The fields data, event, id and retry count; all others are ignored. A reader of model
// answers meets streams that are cut, that never end a line, or that never end an
// event, so every buffer has a bound, and a cut stream has an error of its own.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// ErrTooLarge is the error of [Reader.Next] for a line or an event of more bytes than
// the reader allows.
var ErrTooLarge = errors.New("an event of the stream is too large")

// maxRetryMilliseconds bounds the reconnection time that a stream may ask for: a day.
const maxRetryMilliseconds = 24 * 60 * 60 * 1000

// Event is one event of a stream.
type Event struct {
	Type  string        // "message" where the stream names none
	Data  string        // lines are joined with "\n"
	ID    string        // the last id that the stream named, maybe with an earlier event
	Retry time.Duration // the last reconnection time that it named, at most a day; 0: none
}

// Reader reads events. It is not safe for concurrent use.
//
// It gathers the fields of one event line by line, and hands the event out at the empty
// line that ends it. The id and the reconnection time live on from one event to the
// next; the type and the data begin anew.
type Reader struct {
	source   *bufio.Reader
	maxBytes int

	begun   bool // the byte order mark was looked for
	afterCR bool // a line feed that follows belongs to the line before

	eventType string
	data      []byte
	hasData   bool
	id        string
	retry     time.Duration
}

// NewReader reads from source. No line, and no event's data, may have more
// than maxBytes bytes.
func NewReader(source io.Reader, maxBytes int) *Reader {
	return &Reader{source: bufio.NewReader(source), maxBytes: maxBytes}
}

// Next returns the next event. It returns [io.EOF] at a clean end, and
// [io.ErrUnexpectedEOF] where the stream ends within an event, which is then dropped, as
// the standard demands. Other errors are those of the source, or [ErrTooLarge]; none of
// them can be recovered from. A clean end says only that the last event is whole. The
// events themselves must say whether more should have come.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.line()
		if err != nil && err != io.EOF {
			return Event{}, err
		}
		if err == io.EOF {
			return Event{}, r.end(line)
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Event{}, err
			}
			continue
		}
		if event, ok := r.dispatch(); ok {
			return event, nil
		}
	}
}

// end tells a clean end from one within an event. The text after the last line end
// counts as a line here, so that a stream which was cut within a line of data does not
// pass for one that ended.
func (r *Reader) end(rest []byte) error {
	if err := r.field(rest); err != nil {
		return err
	}
	if r.hasData {
		return io.ErrUnexpectedEOF
	}
	return io.EOF
}

// dispatch ends an event. One without data is none. An empty line of data is data: such
// an event has an empty text, and is handed out.
func (r *Reader) dispatch() (Event, bool) {
	event := Event{Type: r.eventType, Data: string(r.data), ID: r.id, Retry: r.retry}
	if event.Type == "" {
		event.Type = "message"
	}
	ok := r.hasData
	r.eventType, r.data, r.hasData = "", r.data[:0], false
	return event, ok
}

// field takes in one line that is not empty. An id with a NUL in it is ignored, as the
// standard demands.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		return r.addData(value)
	case "event":
		r.eventType = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = string(value)
		}
	case "retry":
		r.setRetry(string(value))
	}
	return nil // a comment has an empty name; unknown fields are ignored
}

// addData appends a data line to the event. Several lines are one text with line
// breaks. The bound counts the line breaks too. It holds for all lines of an event
// together, since each of many short lines is within the bound of a line.
func (r *Reader) addData(value []byte) error {
	if len(r.data)+len(value)+1 > r.maxBytes {
		return r.tooLarge()
	}
	if r.hasData {
		r.data = append(r.data, '\n')
	}
	r.data = append(r.data, value...)
	r.hasData = true
	return nil
}

// setRetry reads a reconnection time. The standard takes digits only, and ignores
// anything else.
func (r *Reader) setRetry(value string) {
	if strings.Trim(value, "0123456789") != "" {
		return
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		r.retry = time.Duration(min(n, maxRetryMilliseconds)) * time.Millisecond
	}
}

// line returns the next line without its end. With io.EOF it returns the rest after the
// last line end.
func (r *Reader) line() ([]byte, error) {
	if err := r.skipMark(); err != nil {
		return nil, err
	}
	var line []byte
	for {
		c, err := r.source.ReadByte()
		if err != nil {
			return line, err
		}
		// A carriage return ends its line at once: waiting for the line feed that
		// may follow would hold the event back.
		if c == '\n' && r.afterCR {
			r.afterCR = false
			continue
		}
		r.afterCR = c == '\r'
		if c == '\n' || c == '\r' {
			return line, nil
		}
		if len(line) == r.maxBytes {
			return nil, r.tooLarge()
		}
		line = append(line, c)
	}
}

// skipMark drops one byte order mark at the start of the stream. It looks at one byte
// before it asks for three: the others may come much later, and the mark is rare.
func (r *Reader) skipMark() error {
	if r.begun {
		return nil
	}
	r.begun = true
	first, err := r.source.Peek(1)
	if err != nil || first[0] != 0xEF {
		return ignoreEOF(err)
	}
	mark, err := r.source.Peek(3)
	if err == nil && string(mark) == "\uFEFF" {
		_, err = r.source.Discard(3)
	}
	return ignoreEOF(err)
}

// ignoreEOF leaves an end of the stream to the next read.
func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// tooLarge names the bound, so that a person can tell it from a fault of the network.
func (r *Reader) tooLarge() error {
	return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, r.maxBytes)
}
