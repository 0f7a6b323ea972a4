package config

import (
	"reflect"
	"testing"
	"time"
)

// TestEachPartOfAKey sets all that a key may say: each field must get its value.
func TestEachPartOfAKey(t *testing.T) {
	const file = `
api_keys:
  - "${KEY}"
  - {name: a desk, key: 0123456789abcdefg, bots: [b, a], can: [read, write, operate, seal, admin], expires: 2027-01-31T12:00:00+01:00, rate: {messages_per_second: 2, burst: 3}}
  - key: 0123456789abcdefh
bots:
  a: {responder: {kind: echo}}
  b: {responder: {kind: echo}}
`
	c, err := Parse("x", []byte(file), environment, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	expires := time.Date(2027, 1, 31, 11, 0, 0, 0, time.UTC)
	if !c.APIKeys[1].Expires.Equal(expires) {
		t.Errorf("it expires at %v", c.APIKeys[1].Expires)
	}
	c.APIKeys[1].Expires = expires
	want := []Key{
		{Key: "0123456789abcdef"},
		{Name: "a desk", Key: "0123456789abcdefg", Bots: []string{"b", "a"}, Can: Rights(), Expires: expires, Rate: Rate{2, 3}},
		{Key: "0123456789abcdefh"},
	}
	if !reflect.DeepEqual(c.APIKeys, want) {
		t.Errorf("got %+v, want %+v", c.APIKeys, want)
	}
	full := reflect.ValueOf(want[1])
	for i := range full.NumField() {
		if full.Field(i).IsZero() {
			t.Errorf("%s is not filled by this test", full.Type().Field(i).Name)
		}
	}
}

// TestTheSameKeyTwice is no mistake where both entries say nothing else.
func TestTheSameKeyTwice(t *testing.T) {
	if _, err := Parse("x", []byte("api_keys: [0123456789abcdef, 0123456789abcdef]\n"+minimal), environment, Overrides{}); err != nil {
		t.Error(err)
	}
}
