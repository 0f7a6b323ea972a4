package simulate

import "time"

// dice draws numbers for one purpose. Two dice for the same seed and purpose
// give the same numbers, whatever else was drawn in between.
type dice struct{ state uint64 }

const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

// roll makes dice for a purpose: its name, and the numbers that tell it from
// others of that name.
func roll(seed uint64, purpose string, numbers ...int64) *dice {
	h := mix(seed) ^ hashStart
	for i := range len(purpose) {
		h = (h ^ uint64(purpose[i])) * hashPrime
	}
	for _, n := range numbers {
		h = mix(h ^ uint64(n))
	}
	return &dice{h}
}

// mix is the output function of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	return mix(d.state)
}

// below is a number from 0 to n-1.
func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

// between is a number from low to high.
func (d *dice) between(low, high int) int { return low + d.below(high-low+1) }

// chance is true in percent of a hundred cases.
func (d *dice) chance(percent int) bool { return d.below(100) < percent }

// span is a duration from low to high, in whole milliseconds.
func (d *dice) span(low, high time.Duration) time.Duration {
	return time.Duration(d.between(int(low.Milliseconds()), int(high.Milliseconds()))) * time.Millisecond
}

// pick is one of the choices.
func pick[T any](d *dice, choices ...T) T { return choices[d.below(len(choices))] }
