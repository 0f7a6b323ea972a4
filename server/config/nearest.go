package config

import "strconv"

// didYouMean is the end of a problem with a word: a hint at the candidate that is near, or
// nothing.
func didYouMean(word string, candidates []string) string {
	if near, ok := nearest(word, candidates); ok {
		return "; did you mean " + strconv.Quote(near) + "?"
	}
	return ""
}

// nearest is the candidate that a misspelt word most likely means; it reports false where
// none is near. At most one byte, and one more for each three bytes of the word, may
// differ.
func nearest(word string, candidates []string) (string, bool) {
	best, least := "", 1+len(word)/3
	for _, candidate := range candidates {
		if d := distance(word, candidate, least); d <= least && (best == "" || d < least) {
			best, least = candidate, d
		}
	}
	return best, best != ""
}

// distance is the number of bytes to insert, remove or replace to get from a to b. If the
// lengths alone differ by more than most, it returns some greater number at once: words
// of any length are cheap to refuse. It keeps one row of the usual table, which is enough
// for the number alone.
func distance(a, b string, most int) int {
	if max(len(a)-len(b), len(b)-len(a)) > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
