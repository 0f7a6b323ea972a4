package storejson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// standard is what encoding/json writes.
func standard(t testing.TB, value any) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
}

func checkDocument(t testing.TB, d Document) {
	t.Helper()
	if got, want := string(AppendDocument(nil, &d.Record, &d.Log)), standard(t, d); got != want {
		t.Errorf("AppendDocument:\ngot  %s\nwant %s", got, want)
	}
}

func checkBody(t testing.TB, b store.Body) {
	t.Helper()
	got, err := AppendBody(nil, &b)
	if want := standard(t, b); string(got) != want || err != nil {
		t.Errorf("AppendBody:\ngot  %s, %v\nwant %s", got, err, want)
	}
}

// TestEveryField sets each field alone, and then all of them, so that a field
// that is added to a record and forgotten here is noticed.
func TestEveryField(t *testing.T) {
	var document Document
	checkDocument(t, document)
	eachField(reflect.ValueOf(&document).Elem(), func() { checkDocument(t, document) })
	fill(reflect.ValueOf(&document).Elem())
	checkDocument(t, document)
	document.Queue = append(document.Queue, turn.Reply{})
	document.Trace.Steps = append(document.Trace.Steps, turn.Notice{})
	checkDocument(t, document)

	var body store.Body
	checkBody(t, body)
	eachField(reflect.ValueOf(&body).Elem(), func() { checkBody(t, body) })
	body.Parts, body.Covers = []string{"a", "b"}, []string{"m1", "m2"}
	body.Attachments = []store.Attachment{{Kind: "image"}, {Pending: true}}
	checkBody(t, body)
	fill(reflect.ValueOf(&body).Elem())
	checkBody(t, body)
}

// eachField calls check with each field set that a value has, one after the
// other, also within structs and lists of structs.
func eachField(v reflect.Value, check func()) {
	for i := range v.NumField() {
		f := v.Field(i)
		if inner := f.Type(); inner.Kind() == reflect.Pointer && inner.Elem().Kind() == reflect.Struct {
			f.Set(reflect.New(inner.Elem()))
			check()
			eachField(f.Elem(), check)
		} else if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct {
			f.Set(reflect.MakeSlice(inner, 1, 1))
			check()
			eachField(f.Index(0), check)
		} else if inner.Kind() == reflect.Struct {
			eachField(f, check)
		} else {
			fill(f)
			check()
		}
		f.SetZero()
	}
}

// fill sets a value, and all that is within it, to something that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{ "a": [1, "<"] }`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.String:
		v.SetString("what \"she\" said")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(-4711)
	}
}

func TestMetadataThatIsNoJSON(t *testing.T) {
	before := []byte("x")
	got, err := AppendBody(before, &store.Body{Metadata: json.RawMessage("{")})
	if err == nil || string(got) != "x" {
		t.Errorf("got %q, %v; want what was there, and an error", got, err)
	}
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{
		"", "plain", `"quoted" \ `, "\x00\x01\x1f\x7f\b\f\n\r\t", "Grüße, 你好 🎉", "a\u2028b\u2029c", "\xff\xc3\x28 \xe2\x80", "<a href='&'>", "\ufffd",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := string(AppendString(nil, text)), standard(t, text); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// arrival is the record and the body of an arrival.
func arrival() (turn.Record, store.Body) {
	const now = 1_750_000_000_000
	return turn.Record{
			Schema: turn.Schema, Phase: turn.Collecting, Version: 3, Answered: 1, Pending: 2, Turn: 2, WaitingSince: now,
			WindowStart: now, QuietUntil: now + 1500, Due: now + 1500, Token: 1, Through: 1, ThroughSeq: 2, Seq: 4, AfterSeq: 2,
		}, store.Body{
			Text:   "Hello, where is my order 4711? It should have come on Monday.",
			Sender: store.Sender{ID: "u1", Name: "Ann"}, SentAt: now,
			Trace: store.Trace{Steps: []turn.Notice{
				{Kind: turn.MessageAccepted, At: now, Turn: 2, Version: 3, Through: 1, Seq: 4},
				{Kind: turn.TurnScheduled, At: now, Turn: 2, Version: 3, Through: 1, Due: now + 1500},
			}},
		}
}

func BenchmarkAppend(b *testing.B) {
	record, body := arrival()
	b.ReportAllocs()
	for b.Loop() {
		to := AppendDocument(make([]byte, 0, 512), &record, &store.Log{})
		if _, err := AppendBody(to, &body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStandard(b *testing.B) {
	record, body := arrival()
	b.ReportAllocs()
	for b.Loop() {
		standard(b, record)
		standard(b, body)
	}
}
