package channeltest

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply"
)

// check is one thing that a channel must do.
type check struct {
	name  string
	needs func(Platform) bool // nil: every platform has it
	check func(w *world)
}

var checks = []check{
	{"a message is answered once, in its chat", nil, func(w *world) {
		w.comes(w.Message("42", 1, "hello"))
		w.comes(w.Message("43", 1, "good day"))
		w.rest(time.Minute)
		w.wantShown("42", "re: hello")
		w.wantShown("43", "re: good day")
	}},
	{"a burst is answered once", nil, func(w *world) {
		w.comes(w.Message("42", 1, "hello"))
		w.rest(debounce / 2)
		w.comes(w.Message("42", 2, "are you there"))
		w.rest(debounce + model/2) // the model writes
		w.comes(w.Message("42", 3, "please"))
		w.rest(time.Minute)
		w.wantShown("42", "re: hello | are you there | please")
	}},
	{"a request that comes again changes nothing", nil, func(w *world) {
		for range 3 {
			w.comes(w.Message("42", 1, "hello"))
		}
		w.rest(time.Minute)
		w.comes(w.Message("42", 1, "hello")) // long answered
		w.rest(time.Minute)
		w.wantShown("42", "re: hello")
		if got := w.state("42").Version; got != 1 {
			w.Errorf("version %d, want 1", got)
		}
	}},
	{"several messages of one request are one turn", func(p Platform) bool { return p.Batch != nil }, func(w *world) {
		w.comes(w.Batch("42", 1, 2, 3))
		w.comes(w.Batch("42", 1, 2, 3))
		w.rest(time.Minute)
		if got := w.Fake.Shown("42"); len(got) != 1 || w.state("42").Version != 3 {
			w.Errorf("shown %q, version %d", got, w.state("42").Version)
		}
	}},
	{"an edit is answered as it reads then", func(p Platform) bool { return p.Edit != nil }, func(w *world) {
		w.comes(w.Message("42", 1, "by monday"))
		w.rest(debounce + model/2)
		w.comes(w.Edit("42", 1, "by tuesday"))
		w.rest(time.Minute)
		w.wantShown("42", "re: by tuesday")
		w.comes(w.Edit("42", 1, "by friday")) // it is answered
		w.rest(time.Minute)
		w.wantShown("42", "re: by tuesday")
	}},
	{"an edit may come before its message", func(p Platform) bool { return p.Edit != nil }, func(w *world) {
		w.comes(w.Edit("42", 1, "by tuesday"))
		w.comes(w.Message("42", 1, "by monday"))
		w.rest(time.Minute)
		w.wantShown("42", "re: by tuesday")
	}},
	{"a deleted message is not answered", func(p Platform) bool { return p.Delete != nil }, func(w *world) {
		w.comes(w.Message("42", 1, "forget it"))
		w.rest(debounce + model/2)
		w.comes(w.Delete("42", 1))
		w.rest(time.Minute)
		w.wantShown("42")
	}},
	{"the bot's own message is no input", func(p Platform) bool { return p.Echo != nil }, func(w *world) {
		w.comes(w.Message("42", 1, "hello"))
		w.rest(time.Minute)
		w.comes(w.Echo("42", 99, "re: hello"))
		w.rest(time.Minute)
		w.wantShown("42", "re: hello")
		if s := w.state("42"); s.Version != 1 || s.Phase != "idle" {
			w.Errorf("version %d, %s: the echo was taken for a message, or for a person", s.Version, s.Phase)
		}
	}},
	{"an event that is not for the bot is answered with success", func(p Platform) bool { return len(p.NotMine) > 0 }, func(w *world) {
		for _, request := range w.NotMine {
			w.comes(request())
		}
		w.rest(time.Minute)
		w.wantShown("42")
		if s := w.Account.Status(); s.Skipped == 0 || s.Messages > 0 {
			w.Errorf("status %+v", s)
		}
	}},
	{"a wrong signature is refused", nil, func(w *world) {
		r := w.Message("42", 1, "hello")
		w.Forge(r)
		w.isRefused(r, http.StatusUnauthorized)
		if s := w.Account.Status(); s.Forged != 1 || !s.VerifiedAt.IsZero() {
			w.Errorf("status %+v", s)
		}
	}},
	{"a missing signature is refused", nil, func(w *world) {
		r := w.Message("42", 1, "hello")
		w.Unsign(r)
		w.isRefused(r, http.StatusUnauthorized)
	}},
	{"an old signature is refused", func(p Platform) bool { return p.Age != nil }, func(w *world) {
		w.isRefused(w.Age(time.Hour), http.StatusUnauthorized)
		w.isRefused(w.Age(-time.Hour), http.StatusUnauthorized)
	}},
	{"a body that was cut off is refused, and comes again", nil, func(w *world) {
		r := w.Message("42", 1, "hello")
		whole, err := io.ReadAll(r.Body)
		if err != nil {
			w.Fatal(err)
		}
		for _, length := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
			cut := w.Message("42", 1, "hello")
			cut.Body = io.NopCloser(strings.NewReader(string(whole[:length])))
			w.isRefused(cut, 0)
		}
		w.comes(w.Message("42", 1, "hello"))
		w.rest(time.Minute)
		w.wantShown("42", "re: hello")
	}},
	{"a long reply is cut in the platform's own unit, and its parts keep their order", nil, func(w *world) {
		long := longText(3 * w.Limit)
		w.reply = func([]string) string { return long }
		w.comes(w.Message("42", 1, "tell me all"))
		w.rest(5 * time.Minute)
		shown := w.Fake.Shown("42")
		for i, part := range shown {
			if n := w.Length(part); n > w.Limit {
				w.Errorf("part %d has %d, more than %d", i, n, w.Limit)
			}
		}
		if got := strings.Join(strings.Fields(strings.Join(shown, " ")), " "); got != strings.Join(strings.Fields(long), " ") {
			w.Errorf("the parts, %d of them, do not make the text", len(shown))
		}
		if most := 3*w.Length(long)/w.Limit + 2; len(shown) < 2 || len(shown) > most {
			w.Errorf("there are %d parts", len(shown))
		}
	}},
	{"a pause that the platform names is kept", nil, func(w *world) {
		w.Fake.Next(Fault{Limited: 90 * time.Second})
		w.comes(w.Message("42", 1, "hello"))
		w.rest(90 * time.Second) // it was asked for after that
		w.wantShown("42")
		w.rest(time.Minute)
		w.wantShown("42", "re: hello")
	}},
	{"newer input during such a pause is answered with the rest", nil, func(w *world) {
		w.Fake.Next(Fault{Limited: 90 * time.Second})
		w.comes(w.Message("42", 1, "hello"))
		w.rest(30 * time.Second)
		w.comes(w.Message("42", 2, "never mind"))
		w.rest(5 * time.Minute)
		w.wantShown("42", "re: hello | never mind")
	}},
	{"an answer that is lost leaves no second message, or is told", nil, func(w *world) {
		w.Fake.Next(Fault{Lost: true})
		w.comes(w.Message("42", 1, "hello"))
		w.rest(2 * time.Hour)
		w.wantShown("42", "re: hello")
		page, err := w.App.Attention(w.Context(), onereply.AttentionQuery{})
		if err != nil {
			w.Fatal(err)
		}
		if recognises := w.Account.Capabilities().RecognisesRepeats; (len(page.Items) == 0) != recognises {
			w.Errorf("attention has %d items; the platform recognises repeats: %v", len(page.Items), recognises)
		}
	}},
	{"an echo settles a send whose answer was lost", func(p Platform) bool { return p.Echo != nil && p.EchoHasText }, func(w *world) {
		w.Fake.Next(Fault{Lost: true})
		w.comes(w.Message("42", 1, "hello"))
		w.rest(time.Minute)
		w.comes(w.Echo("42", 99, "re: hello"))
		w.rest(time.Minute)
		w.wantShown("42", "re: hello")
		page, err := w.App.Attention(w.Context(), onereply.AttentionQuery{})
		if err != nil || len(page.Items) > 0 {
			w.Errorf("attention has %d items, %v", len(page.Items), err)
		}
	}},
	{"a refusal for good is not tried again", nil, func(w *world) {
		w.Fake.Next(Fault{Refused: true})
		w.comes(w.Message("42", 1, "hello"))
		w.rest(2 * time.Hour)
		w.wantShown("42")
		if s := w.Account.Status(); s.SendsFailed != 1 {
			w.Errorf("%d sends failed, want 1", s.SendsFailed)
		}
		w.comes(w.Message("42", 2, "hello?"))
		w.rest(time.Minute)
		if got := w.Fake.Shown("42"); len(got) != 1 {
			w.Errorf("shown %q: the conversation must go on", got)
		}
	}},
	{"a restart in the middle loses nothing and repeats nothing", nil, func(w *world) {
		moments := []time.Duration{0, debounce / 2, debounce + model/2, debounce + model + time.Second}
		for i, at := range moments {
			w.comes(w.Message("42", i+1, "hello"))
			w.rest(at)
			w.Stop()
			w.up()
			w.comes(w.Message("42", i+1, "hello")) // its answer may have been lost
			w.rest(2 * time.Minute)
			w.wantShown("42", slices.Repeat([]string{"re: hello"}, i+1)...)
		}
	}},
	{"a message that is refused holds up no other", nil, func(w *world) {
		w.comes(w.Message("42", 1, strings.Repeat("x", onereply.MaxTextBytes+1)))
		w.comes(w.Message("43", 1, "hello"))
		w.rest(time.Minute)
		w.wantShown("43", "re: hello")
		if s := w.Account.Status(); s.Refused != 1 {
			w.Errorf("status %+v", s)
		}
	}},
}

// longText has words of letters that take one, two and four bytes, and at least so many
// characters.
func longText(length int) string {
	words := []string{"word", "wörter", "слово", "語彙", "🙂🙂🙂", "👩‍👩‍👧"}
	var b strings.Builder
	for i := 0; b.Len() < 3*length; i++ {
		if i > 0 {
			b.WriteString([]string{" ", " ", " ", "\n"}[i%4])
		}
		b.WriteString(words[i%len(words)])
	}
	return b.String()
}
