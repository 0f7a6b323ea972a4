package bench

import (
	"slices"
	"time"
)

// Spread is a figure over several rounds.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

func spreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{Median: quantile(sorted, 0.5), Least: sorted[0], Most: sorted[len(sorted)-1]}
}

// quantile of sorted values: the least one that a share q of them does not
// exceed; 0 of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	place := int(q*float64(len(sorted)) + 0.999999)
	return sorted[min(max(place, 1), len(sorted))-1]
}

// times are latencies.
type times []time.Duration

// milliseconds at the quantiles.
func (t times) milliseconds(quantiles ...float64) []float64 {
	values := make([]float64, len(t))
	for i, d := range t {
		values[i] = milliseconds(d)
	}
	slices.Sort(values)
	out := make([]float64, len(quantiles))
	for i, q := range quantiles {
		out[i] = quantile(values, q)
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
