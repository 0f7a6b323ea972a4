package onereply_test

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

// A policy that is changed holds for the next message, and for no other bot's
// window that is open.
func TestSetPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: 2 * time.Second, MaxWait: 9 * time.Second}})
		defer w.close()
		app := w.nodes[0]
		due := func(id string) time.Duration {
			t.Helper()
			got, err := app.Receive(t.Context(), "bot", id, onereply.Message{ID: id, Text: id})
			if err != nil {
				t.Fatal(err)
			}
			return time.Until(got.DueAt.Time)
		}
		if got := due("before"); got != 2*time.Second {
			t.Errorf("due in %v before", got)
		}
		if got, err := app.Policy(t.Context(), "bot"); err != nil || got != (onereply.Policy{Debounce: 2 * time.Second, MaxWait: 9 * time.Second}) {
			t.Errorf("the policy is %+v, %v", got, err)
		}
		want := onereply.Policy{Debounce: 500 * time.Millisecond, MaxWait: 500 * time.Millisecond}
		if err := app.SetPolicy(t.Context(), "bot", want); err != nil {
			t.Fatal(err)
		}
		if got, err := app.Policy(t.Context(), "bot"); err != nil || got != want {
			t.Errorf("the policy is %+v, %v", got, err)
		}
		if got := due("after"); got != 500*time.Millisecond {
			t.Errorf("due in %v after", got)
		}
		if err := app.SetPolicy(t.Context(), "bot", onereply.Policy{}); err != nil {
			t.Fatal(err)
		}
		if got := due("at once"); got != 0 {
			t.Errorf("due in %v, want none", got)
		}
	})
}

func TestSetPolicyIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		app := w.nodes[0]
		for _, test := range []struct {
			bot   string
			p     onereply.Policy
			code  onereply.Code
			field string
		}{
			{"bot", onereply.Policy{Debounce: -1}, onereply.CodeInvalid, "debounce"},
			{"bot", onereply.Policy{Debounce: 2, MaxWait: 1}, onereply.CodeInvalid, "max_wait"},
			{"other", onereply.Policy{}, onereply.CodeNotFound, "bot"},
		} {
			var got *onereply.Error
			if err := app.SetPolicy(t.Context(), test.bot, test.p); !errors.As(err, &got) || got.Code != test.code || got.Field != test.field {
				t.Errorf("%+v: %v", test, err)
			}
		}
		w.close()
		var got *onereply.Error
		if _, err := app.Policy(t.Context(), "bot"); !errors.As(err, &got) || got.Code != onereply.CodeUnavailable {
			t.Errorf("closed: %v", err)
		}
	})
}

// A bot that sets nothing has each of the defaults.
func TestEachDefaultIsFilledIn(t *testing.T) {
	want := onereply.DefaultBot()
	want.Name, want.Responder = "bot", onereply.ResponderFunc(nil)
	got, err := onereply.WithDefaults(onereply.Bot{Name: want.Name, Responder: want.Responder})
	if err != nil {
		t.Fatal(err)
	}
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range w.NumField() {
		if name := w.Type().Field(i).Name; name != "Responder" && !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s is %v, want %v", name, g.Field(i), w.Field(i))
		}
	}
}
