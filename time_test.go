package onereply_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/onereply/onereply"
)

// A time is written in UTC with milliseconds, cut and not rounded; the zero value
// is null, or left out where the field says so; and it is read back.
func TestTimeAsJSON(t *testing.T) {
	type both struct {
		At    onereply.Time `json:"at"`
		Maybe onereply.Time `json:"maybe,omitzero"`
	}
	moment := time.Date(2026, 1, 31, 13, 0, 0, 120_999_999, time.FixedZone("", 3600))
	for _, test := range []struct {
		value both
		want  string
	}{
		{both{}, `{"at":null}`},
		{both{onereply.Time{Time: moment}, onereply.Time{Time: moment.UTC()}}, `{"at":"2026-01-31T12:00:00.120Z","maybe":"2026-01-31T12:00:00.120Z"}`},
		{both{At: onereply.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}, `{"at":"2026-01-02T03:04:05.000Z"}`},
	} {
		written, err := json.Marshal(test.value)
		if err != nil || string(written) != test.want {
			t.Errorf("%+v is %s, %v, not %s", test.value, written, err, test.want)
		}
		var read both
		if err := json.Unmarshal(written, &read); err != nil || !read.At.Equal(test.value.At.Truncate(time.Millisecond)) || read.Maybe.IsZero() != test.value.Maybe.IsZero() {
			t.Errorf("%s is read as %+v, %v", written, read, err)
		}
	}
}
