package sqlite

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// filled gives each field of a value something of its own, so that one that the log
// does not carry, or takes for another, shows. The record and the bodies are JSON,
// which has tests of its own.
func filled(value reflect.Value, next *int) {
	*next++
	switch value.Interface().(type) {
	case turn.Record:
		value.Set(reflect.ValueOf(message(key("c"), store.Op{}, opOf(1), 1).Record))
		return
	case store.Body:
		value.Set(reflect.ValueOf(store.Body{Text: fmt.Sprint("text ", *next)}))
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			filled(value.Field(i), next)
		}
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range value.Len() {
			filled(value.Index(i), next)
		}
	case reflect.Int64:
		value.SetInt(int64(*next) << (*next % 40))
	case reflect.Uint8:
		value.SetUint(uint64(*next % 255))
	case reflect.String:
		value.SetString(fmt.Sprint("é ", *next))
	case reflect.Bool:
		value.SetBool(true)
	default:
		panic(fmt.Sprintf("give %v something, and see that the log carries it", value.Type()))
	}
}

func filledWrite() store.Write {
	var w store.Write
	filled(reflect.ValueOf(&w).Elem(), new(int))
	return w
}

// asLogged is a write as a payload of the log.
func asLogged(t testing.TB, w store.Write) []byte {
	t.Helper()
	p, err := encode(&w)
	if err != nil {
		t.Fatal(err)
	}
	return appendWrite(nil, p)
}

func TestTheLogCarriesAWholeWrite(t *testing.T) {
	negative := message(key(""), store.Op{}, opOf(1), -1)
	negative.At, negative.Timer = -1, 0
	for name, want := range map[string]store.Write{
		"every field": filledWrite(), "a message": message(key("c"), store.Op{}, opOf(1), 1),
		"negative": negative, "nothing": {Op: opOf(1)},
	} {
		p, rest, err := readWrite(append(asLogged(t, want), "rest"...))
		if err != nil || string(rest) != "rest" {
			t.Fatalf("%s: got error %v and %q behind it", name, err, rest)
		}
		if len(p.bodies) != len(want.Append)+len(want.Change) {
			t.Fatalf("%s: %d bodies", name, len(p.bodies))
		}
		for i, body := range p.bodies {
			entries := p.Append
			if i >= len(p.Append) {
				i, entries = i-len(p.Append), p.Change
			}
			if err := json.Unmarshal(body, &entries[i].Body); err != nil {
				t.Error(err)
			}
		}
		if !reflect.DeepEqual(*p.Write, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, *p.Write, want)
		}
	}
}

func TestACutWriteIsAnError(t *testing.T) {
	for _, w := range []store.Write{filledWrite(), message(key("c"), store.Op{}, opOf(1), 1), {Op: opOf(1)}} {
		whole := asLogged(t, w)
		for length := range whole {
			if _, _, err := readWrite(whole[:length]); err == nil {
				t.Errorf("%d of %d bytes are taken for a write", length, len(whole))
			}
		}
	}
}

func FuzzReadWrite(f *testing.F) {
	f.Add(asLogged(f, filledWrite()))
	f.Add(asLogged(f, message(key("c"), store.Op{}, opOf(1), 1)))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, from []byte) {
		p, rest, err := readWrite(from)
		if err != nil {
			if p != nil {
				t.Error("half a write is given with an error")
			}
			return
		}
		if again, _, err := readWrite(appendWrite(nil, p)); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%d bytes behind it; written again it is %+v, %v; want %+v", len(rest), again, err, p)
		}
	})
}
