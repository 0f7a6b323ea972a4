package main

import (
	"fmt"
	"io"
	"path"
	"time"
)

// result is what came of one package.
type result struct {
	name       string
	seed       uint64
	possible   int // changes in the whole package
	equivalent int // of the sample
	caught     int
	late       []*change // of these, because a check did not end
	uncompiled int
	untried    int
	survivors  []survivor
	stale      []string
	took       time.Duration
	cost       cost
}

type survivor struct {
	*change
	reached bool
}

func (r *result) note(c *change, o outcome) {
	switch o {
	case caught:
		r.caught++
	case caughtLate:
		r.caught++
		r.late = append(r.late, c)
	case survived:
		r.survivors = append(r.survivors, survivor{c, true})
	case notReached:
		r.survivors = append(r.survivors, survivor{c, false})
	case notCompiled:
		r.uncompiled++
	case notTried:
		r.untried++
	}
}

// share is the part of the changes tried that were caught, in percent.
func (r *result) share() float64 {
	tried := r.caught + len(r.survivors)
	if tried == 0 {
		return 0
	}
	return 100 * float64(r.caught) / float64(tried)
}

func (r *result) passed() bool { return r.share() >= passMark && len(r.stale) == 0 }

// print lists the survivors, and what was caught only because a check did not end, and
// sums up. The line below the place of a change is its key for equivalent.txt.
func (r *result) print(w io.Writer) {
	for _, s := range r.survivors {
		note := ""
		if !s.reached {
			note = " (no check runs this line)"
		}
		fmt.Fprintf(w, "survived: %s/%s:%d: %s%s\n\t%s\n", path.Clean(r.name), path.Base(s.file.name), s.line, s.kind, note, s.key)
	}
	for _, c := range r.late {
		fmt.Fprintf(w, "caught, because a check did not end: %s/%s:%d: %s\n\t%s\n", path.Clean(r.name), path.Base(c.file.name), c.line, c.kind, c.key)
	}
	for _, key := range r.stale {
		fmt.Fprintf(w, "equivalent.txt names no change any more: %s\n", key)
	}
	verdict := "passed"
	if !r.passed() {
		verdict = "FAILED"
	}
	fmt.Fprintf(w, "%s: %s: %.1f%% of %d changes caught, at least %d%% must be (seed %d; %d changes possible, %d of the sample equivalent, %d did not compile, %d not tried for lack of time)\n",
		path.Clean(r.name), verdict, r.share(), r.caught+len(r.survivors), passMark, r.seed, r.possible, r.equivalent, r.uncompiled, r.untried)
	tried := time.Duration(max(1, r.caught+len(r.survivors)+r.uncompiled))
	fmt.Fprintf(w, "%s: %d of those caught because a check did not end; %v in all; processor time of a change: %v to compile, %v to check\n",
		path.Clean(r.name), len(r.late), r.took.Round(time.Second), rounded(r.cost.compile/tried), rounded(r.cost.run/tried))
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
