package fleet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onereply/onereply/turn"
)

// TestMemoryOfRevocationsIsBounded: those that have ended anyway make room, then those that
// end first; and a report holds the ones that end last.
func TestMemoryOfRevocationsIsBounded(t *testing.T) {
	var r revocations
	const now = turn.Time(1_800_000_000_000)
	for i := range 2 * maxRevoked {
		r.add(now, fmt.Sprint(i), now+1000+turn.Time(i))
		if _, kept := r.until[fmt.Sprint(i)]; !kept {
			t.Fatalf("the last one is not kept")
		}
	}
	if n := len(r.until); n > maxRevoked || n < maxRevoked/2 {
		t.Errorf("%d are kept", n)
	}
	told := r.told(now)
	if _, last := told[fmt.Sprint(2*maxRevoked-1)]; len(told) != maxRevokedTold || !last {
		t.Errorf("%d are told", len(told))
	}
	if told := r.told(now + 1000 + 2*maxRevoked); told != nil || len(r.until) != 0 {
		t.Errorf("%d are told after their end", len(told))
	}
}

// TestWhatOthersRevokeIsChecked: a broadcast may come from anybody.
func TestWhatOthersRevokeIsChecked(t *testing.T) {
	var r revocations
	const now = turn.Time(1_800_000_000_000)
	r.add(now, "over", now)
	r.add(now, strings.Repeat("x", maxRevokedBytes+1), now+1)
	r.add(now, "for ever", 1<<62)
	r.add(now, "twice", now+5)
	r.add(now, "twice", now+9)
	if len(r.until) != 2 || r.until["for ever"] > now+maxRevokedHours*3_600_000 || r.until["twice"] != now+5 {
		t.Errorf("kept are %v", r.until)
	}
}
