package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onereply/onereply/turn"
)

func TestAuditIsBounded(t *testing.T) {
	var r turn.Record
	for i := range 2 * turn.AuditKept {
		before := r
		r = r.Audited(turn.AuditEntry{At: turn.Time(i + 1), Action: "pause", Reason: fmt.Sprint(i)})
		if n := len(before.Audit); n > 0 && before.Audit[n-1].At != turn.Time(i) {
			t.Fatalf("the record before was changed: %+v", before.Audit)
		}
	}
	one, other := r.Audited(turn.AuditEntry{At: 1}), r.Audited(turn.AuditEntry{At: 2})
	if a, b := one.Audit[turn.AuditKept-1].At, other.Audit[turn.AuditKept-1].At; a != 1 || b != 2 {
		t.Errorf("two records that follow one share their audit: %v, %v", a, b)
	}
	one, other = one.Audited(turn.AuditEntry{At: 3}), one.Audited(turn.AuditEntry{At: 4})
	if a, b := one.Audit[turn.AuditKept-1].At, other.Audit[turn.AuditKept-1].At; a != 3 || b != 4 {
		t.Errorf("two records that follow one share their audit: %v, %v", a, b)
	}
	if len(r.Audit) != turn.AuditKept || r.Audit[0].At != turn.AuditKept+1 || r.Audit[turn.AuditKept-1].At != 2*turn.AuditKept {
		t.Errorf("%d entries are kept, from %v on", len(r.Audit), r.Audit[0].At)
	}
}

func TestAuditTextsAreBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 512), strings.Repeat("é", 256), "a" + strings.Repeat("é", 200), strings.Repeat("😀", 128)} {
		got := turn.Record{}.Audited(turn.AuditEntry{Action: text, By: text, From: text, Reason: text}).Audit[0]
		for _, short := range []string{got.Action, got.By, got.From, got.Reason} {
			if len(short) > turn.AuditTextMax || len(short) < turn.AuditTextMax-utf8.UTFMax || !utf8.ValidString(short) || !strings.HasSuffix(short, "…") {
				t.Errorf("%d bytes became %q", len(text), short)
			}
		}
	}
	whole := strings.Repeat("x", turn.AuditTextMax)
	if got := (turn.Record{}).Audited(turn.AuditEntry{Reason: whole}).Audit[0].Reason; got != whole {
		t.Errorf("it became %q", got)
	}
}
