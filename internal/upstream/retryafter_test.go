package upstream_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/upstream"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	tests := map[string]struct {
		milliseconds, after, date string
		want                      time.Duration
	}{
		"nothing":                {"", "", "", 0},
		"seconds":                {"", "7", "", 7 * time.Second},
		"fraction":               {"", " 1.5 ", "", 1500 * time.Millisecond},
		"negative":               {"", "-3", "", 0},
		"too long":               {"", "99999999999999999999", "", upstream.MaxRetryAfter},
		"endless":                {"", "Inf", "", upstream.MaxRetryAfter},
		"not a number":           {"", "NaN", "", 0},
		"words":                  {"", "soon", "", 0},
		"milliseconds":           {"250", "", "", 250 * time.Millisecond},
		"milliseconds go first":  {"250", "7", "", 250 * time.Millisecond},
		"bad milliseconds":       {"x", "7", "", 7 * time.Second},
		"date":                   {"", "Fri, 02 Jan 2026 12:00:30 GMT", "", 30 * time.Second},
		"date that is over":      {"", "Fri, 02 Jan 2026 11:00:00 GMT", "", 0},
		"date far away":          {"", "Fri, 02 Jan 2099 11:00:00 GMT", "", upstream.MaxRetryAfter},
		"date by a wrong clock":  {"", "Fri, 02 Jan 2026 18:00:30 GMT", "Fri, 02 Jan 2026 18:00:00 GMT", 30 * time.Second},
		"date by an unread date": {"", "Fri, 02 Jan 2026 12:00:30 GMT", "?", 30 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			header.Set("retry-after-ms", test.milliseconds)
			header.Set("retry-after", test.after)
			header.Set("date", test.date)
			if got := upstream.RetryAfter(header, noon); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("", "7", "")
	f.Add("1e308", "-1e308", "Fri, 02 Jan 2026 18:00:00 GMT")
	f.Add("", "Fri, 02 Jan 0001 18:00:00 GMT", "Fri, 02 Jan 9999 18:00:00 GMT")
	f.Fuzz(func(t *testing.T, milliseconds, after, date string) {
		header := http.Header{"Retry-After-Ms": {milliseconds}, "Retry-After": {after}, "Date": {date}}
		if got := upstream.RetryAfter(header, noon); got < 0 || got > upstream.MaxRetryAfter {
			t.Errorf("%q gives %v", header, got)
		}
	})
}
