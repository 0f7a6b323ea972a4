package upstream

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads retry-after-ms and Retry-After, the latter in seconds or as a date. It
// gives 0 to [MaxRetryAfter]; 0 where the headers say nothing that can be read, or the
// time is over. The first header is finer, so it goes before the other. The bound keeps a
// wrong date from stopping a conversation for years.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	if wait, ok := parseNumber(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	value := strings.TrimSpace(header.Get("Retry-After"))
	if wait, ok := parseNumber(value, time.Second); ok {
		return wait
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	// The other side's own clock, where it tells it, so that it may be wrong.
	if theirs, err := http.ParseTime(header.Get("Date")); err == nil {
		now = theirs
	}
	return bound(date.Sub(now))
}

// parseNumber reads so many units; some providers send fractions.
func parseNumber(text string, unit time.Duration) (time.Duration, bool) {
	number, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || number != number {
		return 0, false
	}
	// Compare before converting: a float beyond int64 converts to anything.
	if number >= float64(MaxRetryAfter/unit) {
		return MaxRetryAfter, true
	}
	return bound(time.Duration(max(number, 0) * float64(unit))), true
}

func bound(wait time.Duration) time.Duration { return min(max(wait, 0), MaxRetryAfter) }
