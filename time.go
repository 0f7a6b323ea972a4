package onereply

import (
	"time"

	"github.com/onereply/onereply/turn"
)

// Time is a moment in what the API returns. As JSON it is RFC 3339 in UTC with
// milliseconds, such as "2026-01-31T12:00:00.000Z", which is all that stores
// keep. The zero value stands for a moment that is not known or does not apply;
// as JSON it is null, or the field is left out. The methods are those of
// [time.Time].
type Time struct{ time.Time }

const millisecondsUTC = `"2006-01-02T15:04:05.000Z"`

// MarshalJSON writes RFC 3339 with milliseconds in UTC, or null for the zero value.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.UTC().AppendFormat(nil, millisecondsUTC), nil
}

// timeOf is the moment of a record; zero stays zero.
func timeOf(t turn.Time) Time { return Time{t.Go()} }
