package storetest

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

var valueTests = []test{
	{"every field of a record and its log comes back", func(s *subject) {
		write := s.write(key, none)
		write.Record, write.Log = filledRecord(), filledLog()
		s.ok(write)
		s.expectFilledRecord("Load", s.load(key))
	}},
	{"every field of an entry comes back", func(s *subject) {
		s.ok(s.write(key, none, filledEntry()))
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), []store.Entry{filledEntry()})
	}},
	{"a change replaces every field of an entry", func(s *subject) {
		op := s.ok(s.write(key, none, filledEntry()))
		plain := message(filledEntry().Seq, filledEntry().ID)
		write := s.write(key, op)
		write.Change = []store.Entry{plain}
		s.ok(write)
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), []store.Entry{plain})
	}},
	{"texts come back as they were", func(s *subject) {
		texts := []string{
			"", " leading and trailing ", "nul \x00 inside", "line\r\none\n", "\t\u2028\u2029", `"quoted" \ 'single' ; -- %s $1 ?`,
			"<b>&amp;</b>", "👩‍👩‍👧 e\u0301 é 漢字 \U0010FFFF", strings.Repeat("long 漢 ", 32<<10),
		}
		var entries []store.Entry
		for i, text := range texts {
			e := message(int64(i+1), "m"+strconv.Itoa(i))
			e.Text = text
			entries = append(entries, e)
		}
		s.ok(s.write(key, none, entries...))
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), entries)
	}},
	{"what the caller gave is the caller's", func(s *subject) {
		write := s.write(key, none, filledEntry())
		write.Record, write.Log = filledRecord(), filledLog()
		s.ok(write)
		scribble(reflect.ValueOf(&write).Elem())
		s.expectFilled()
	}},
	{"the store leaves the write as it was", func(s *subject) {
		op := s.ok(s.write(key, none, message(1, "a"), reply(2, "r")))
		write, same := s.everything(op), s.everything(op)
		same.Op = write.Op
		s.ok(write)
		equal(s, "the write", write, same)
	}},
	{"what the store returned is the caller's", func(s *subject) {
		write := s.write(key, none, filledEntry())
		write.Record, write.Log = filledRecord(), filledLog()
		s.ok(write)
		snapshot, entries := s.load(key), s.entries(key, store.EntryQuery{})
		items, found := s.listAll(store.ListQuery{}), s.sweepAll(10)
		for _, returned := range []any{&snapshot, &entries, &items, &found} {
			scribble(reflect.ValueOf(returned).Elem())
		}
		s.expectFilled()
	}},
}

func (s *subject) expectFilled() {
	s.Helper()
	s.expectFilledRecord("Load", s.load(key))
	equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), []store.Entry{filledEntry()})
	for _, item := range s.listAll(store.ListQuery{}) {
		s.expectFilledRecord("List", item.Snapshot)
	}
	for _, found := range s.sweepAll(10) {
		s.expectFilledRecord("Sweep", found.Snapshot)
	}
}

// filledRecord is a record in which no field is zero, those that are added
// later included.
func filledRecord() turn.Record {
	var r turn.Record
	fill(reflect.ValueOf(&r).Elem(), new(int64))
	r.Schema, r.Phase = turn.Schema, turn.Sending
	return r
}

// filledLog is a log in which no field is zero.
func filledLog() store.Log {
	var l store.Log
	fill(reflect.ValueOf(&l).Elem(), new(int64))
	return l
}

func (s *subject) expectFilledRecord(what string, got store.Snapshot) {
	s.Helper()
	equal(s, what, got.Record, filledRecord())
	equal(s, what+", log", got.Log, filledLog())
}

// filledEntry is a message in which no field is zero.
func filledEntry() store.Entry {
	var e store.Entry
	fill(reflect.ValueOf(&e).Elem(), new(int64))
	e.Kind = store.Message
	return e
}

// fill sets everything within v to values that all differ.
func fill(v reflect.Value, last *int64) {
	*last++
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(`{"b":[1,2.50,null],"a":"<é>"}`))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, last)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), last)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), last)
		fill(v.Index(1), last)
	case reflect.String:
		v.SetString("value " + strconv.FormatInt(*last, 10))
	case reflect.Int, reflect.Int64:
		v.SetInt(*last)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("storetest: fill knows no " + v.Type().String())
	}
}

// scribble overwrites all that can be reached from v, in place.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			scribble(field)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.String:
		v.SetString("scribbled")
	case reflect.Int, reflect.Int64:
		v.SetInt(-1)
	case reflect.Uint8:
		v.SetUint('!')
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Interface: // an error, which nobody can change
		v.SetZero()
	default:
		panic("storetest: scribble knows no " + v.Type().String())
	}
}
