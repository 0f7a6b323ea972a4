package storejson

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/onereply/onereply/store"
)

// TestADocumentIsReadAsItWasWritten fills each field of a record and of the log beside
// it, so that two fields of one name, or one that is not kept, are noticed.
func TestADocumentIsReadAsItWasWritten(t *testing.T) {
	var w store.Write
	fill(reflect.ValueOf(&w.Record).Elem())
	fill(reflect.ValueOf(&w.Log).Elem())
	text, err := EncodeDocument(&w)
	if err != nil {
		t.Fatal(err)
	}
	var got store.Snapshot
	if err := ReadDocument(text, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Record, w.Record) || !reflect.DeepEqual(got.Log, w.Log) {
		t.Errorf("read %+v\nof %s", got, text)
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

func TestTextsStayReadable(t *testing.T) {
	text, err := Encode(store.Body{Text: "<a href='&'>\n"})
	if want := `{"text":"<a href='&'>\n"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}
}

func TestMetadataThatIsNoJSON(t *testing.T) {
	if text, err := Encode(&store.Body{Metadata: json.RawMessage("{")}); err == nil {
		t.Errorf("got %s, want an error", text)
	}
}

func TestADocumentThatIsNoJSON(t *testing.T) {
	if err := ReadDocument([]byte("{broken"), new(store.Snapshot)); err == nil {
		t.Error("it was read")
	}
}
