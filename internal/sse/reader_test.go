package sse_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/onereply/onereply/internal/sse"
)

// readAll returns all events and the error that ended the stream.
func readAll(source io.Reader, maxBytes int) ([]sse.Event, error) {
	reader := sse.NewReader(source, maxBytes)
	var events []sse.Event
	for {
		event, err := reader.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event)
	}
}

func message(data string) sse.Event { return sse.Event{Type: "message", Data: data} }

func TestReader(t *testing.T) {
	tests := map[string]struct {
		stream string
		want   []sse.Event
		end    error
	}{
		"nothing":                   {"", nil, io.EOF},
		"line feeds":                {"data: a\n\ndata: b\n\n", []sse.Event{message("a"), message("b")}, io.EOF},
		"carriage returns":          {"data: a\r\rdata: b\r\r", []sse.Event{message("a"), message("b")}, io.EOF},
		"both":                      {"data: a\r\n\r\ndata: b\r\n\r\n", []sse.Event{message("a"), message("b")}, io.EOF},
		"several lines with both":   {"data: a\r\ndata: b\r\n\r\n", []sse.Event{message("a\nb")}, io.EOF},
		"mixed":                     {"data: a\r\n\ndata: b\n\r", []sse.Event{message("a"), message("b")}, io.EOF},
		"byte order mark":           {"\uFEFFdata: a\n\n", []sse.Event{message("a")}, io.EOF},
		"only one mark is dropped":  {"\uFEFF\uFEFFdata: a\n\n", nil, io.EOF},
		"half a mark":               {"\xEF", nil, io.EOF},
		"several lines":             {"data: a\ndata\ndata:b\n\n", []sse.Event{message("a\n\nb")}, io.EOF},
		"one space is dropped":      {"data:  a\n\n", []sse.Event{message(" a")}, io.EOF},
		"colons in the value":       {"data:a:b\n\n", []sse.Event{message("a:b")}, io.EOF},
		"comments":                  {": hello\n:\ndata: a\n: more\n\n", []sse.Event{message("a")}, io.EOF},
		"unknown fields":            {"Data: no\nfoo: bar\ndata: a\n\n", []sse.Event{message("a")}, io.EOF},
		"empty data is an event":    {"data\n\n", []sse.Event{message("")}, io.EOF},
		"without data is none":      {"event: x\n\ndata: a\n\n", []sse.Event{message("a")}, io.EOF},
		"type":                      {"event: x\ndata: a\n\n", []sse.Event{{Type: "x", Data: "a"}}, io.EOF},
		"ids stay":                  {"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []sse.Event{{Type: "message", Data: "a", ID: "1"}, {Type: "message", Data: "b", ID: "1"}, message("c")}, io.EOF},
		"an id with NUL is ignored": {"id: 1\x00\ndata: a\n\n", []sse.Event{message("a")}, io.EOF},
		"retry":                     {"retry: 1500\ndata: a\n\n", []sse.Event{{Type: "message", Data: "a", Retry: 1500 * time.Millisecond}}, io.EOF},
		"retry must be digits":      {"retry: -5\nretry: 1.5\nretry: \ndata: a\n\n", []sse.Event{message("a")}, io.EOF},
		"retry is bounded":          {"retry: 99999999999999\ndata: a\n\n", []sse.Event{{Type: "message", Data: "a", Retry: 24 * time.Hour}}, io.EOF},
		"ends within an event":      {"data: a\n\ndata: b\n", []sse.Event{message("a")}, io.ErrUnexpectedEOF},
		"ends within a line":        {"data: a\n\ndata: b", []sse.Event{message("a")}, io.ErrUnexpectedEOF},
		"ends within a comment":     {"data: a\n\n: bye", []sse.Event{message("a")}, io.EOF},
		"line too long":             {"data: " + strings.Repeat("x", 100) + "\n\n", nil, sse.ErrTooLarge},
		"comment too long":          {": " + strings.Repeat("x", 100), nil, sse.ErrTooLarge},
		"event too large":           {strings.Repeat("data: xxxxxxxxx\n", 10) + "\n", nil, sse.ErrTooLarge},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, source := range []io.Reader{strings.NewReader(test.stream), iotest.OneByteReader(strings.NewReader(test.stream))} {
				got, err := readAll(source, 64)
				if !reflect.DeepEqual(got, test.want) || !errors.Is(err, test.end) {
					t.Errorf("got %q and %v, want %q and %v", got, err, test.want, test.end)
				}
			}
		})
	}
}

// An event that ends with carriage returns must not wait for what follows.
func TestReaderDoesNotWaitForALineFeed(t *testing.T) {
	source, stream := io.Pipe()
	go func() { _, _ = stream.Write([]byte("data: a\r\r")) }()
	reader := sse.NewReader(source, 64)
	if event, err := reader.Next(); err != nil || event.Data != "a" {
		t.Fatalf("got %q, %v", event.Data, err)
	}
}

func TestReaderPassesErrorsOn(t *testing.T) {
	broken := errors.New("connection reset")
	events, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), 64)
	if len(events) != 1 || !errors.Is(err, broken) {
		t.Fatalf("got %d events and %v", len(events), err)
	}
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{"", "data: a\n\n", "\uFEFFdata: a\r\n\r\n", "id: 1\nevent: x\nretry: 5\ndata: a\ndata: b\r\r", ": c", "data", "\xEF\xBB", "data: \x00\n\n"} {
		f.Add(seed)
	}
	const limit = 32
	f.Fuzz(func(t *testing.T, stream string) {
		whole, wholeErr := readAll(strings.NewReader(stream), limit)
		bytewise, bytewiseErr := readAll(iotest.OneByteReader(strings.NewReader(stream)), limit)
		if !reflect.DeepEqual(whole, bytewise) || fmt.Sprint(wholeErr) != fmt.Sprint(bytewiseErr) {
			t.Fatalf("%q: reading byte by byte differs: %q, %v and %q, %v", stream, whole, wholeErr, bytewise, bytewiseErr)
		}
		for _, event := range whole {
			if len(event.Data) > limit || event.Retry < 0 || strings.ContainsAny(event.Data, "\r") || event.Type == "" {
				t.Fatalf("%q: bad event %q", stream, event)
			}
		}
		if wholeErr == io.EOF {
			checkEndless(t, stream, whole, limit)
		}
	})
}

// checkEndless: what follows a clean end in the source does not change the
// events before it.
func checkEndless(t *testing.T, stream string, want []sse.Event, limit int) {
	got, _ := readAll(io.MultiReader(strings.NewReader(stream), iotest.ErrReader(io.ErrClosedPipe)), limit)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: got %q, want %q", stream, got, want)
	}
}

func ExampleReader() {
	reader := sse.NewReader(strings.NewReader("event: greeting\ndata: hello\n\n"), 1<<10)
	event, err := reader.Next()
	fmt.Println(event.Type, event.Data, err)
	_, err = reader.Next()
	fmt.Println(err)
	// Output:
	// greeting hello <nil>
	// EOF
}
