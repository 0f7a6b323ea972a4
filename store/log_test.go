package store_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// TestTraceIsBounded: in steps and in bytes, whatever people send.
func TestTraceIsBounded(t *testing.T) {
	var trace store.Trace
	for i := range 1000 {
		trace = trace.Add(turn.Notice{
			Kind: turn.KindPartFailed, At: turn.Time(i + 1), Since: 1,
			Reason: strings.Repeat("ä", i), Holder: strings.Repeat("x", i), MessageID: strings.Repeat("😀", i),
		})
	}
	if len(trace.Steps) != store.MaxTrace || trace.Lost != 1000-store.MaxTrace {
		t.Errorf("%d steps are kept, %d lost", len(trace.Steps), trace.Lost)
	}
	for i, n := range trace.Steps {
		if n.At != turn.Time(1000-store.MaxTrace+i+1) || n.Since != 0 {
			t.Fatalf("step %d is %+v", i, n)
		}
		for _, text := range []string{n.Reason, n.Holder, n.MessageID} {
			if len(text) > store.MaxTraceText || len(text) < store.MaxTraceText-utf8.UTFMax || !utf8.ValidString(text) || !strings.HasSuffix(text, "…") {
				t.Fatalf("a text became %q", text)
			}
		}
	}
	if more := trace.Add(make([]turn.Notice, 300)...); len(more.Steps) != store.MaxTrace || more.Lost != 1300-store.MaxTrace {
		t.Errorf("%d steps are kept, %d lost", len(more.Steps), more.Lost)
	}
}

func TestTracesShareNothing(t *testing.T) {
	before := store.Trace{}.Add(turn.Notice{Turn: 1})
	one, other := before.Add(turn.Notice{Turn: 2}), before.Add(turn.Notice{Turn: 3})
	one.Steps[0].Turn = 4
	if before.Steps[0].Turn != 1 || one.Steps[1].Turn != 2 || other.Steps[0].Turn != 1 || other.Steps[1].Turn != 3 {
		t.Errorf("they do: %+v, %+v, %+v", before, one, other)
	}
}

func TestAuditIsBounded(t *testing.T) {
	var l store.Log
	for i := range 2 * store.AuditKept {
		before := l
		l = l.Audited(store.AuditEntry{At: turn.Time(i + 1), Action: "pause", Reason: fmt.Sprint(i)})
		if n := len(before.Audit); n > 0 && before.Audit[n-1].At != turn.Time(i) {
			t.Fatalf("the log before was changed: %+v", before.Audit)
		}
	}
	one, other := l.Audited(store.AuditEntry{At: 1}), l.Audited(store.AuditEntry{At: 2})
	if a, b := one.Audit[store.AuditKept-1].At, other.Audit[store.AuditKept-1].At; a != 1 || b != 2 {
		t.Errorf("two logs that follow one share their audit: %v, %v", a, b)
	}
	one, other = one.Audited(store.AuditEntry{At: 3}), one.Audited(store.AuditEntry{At: 4})
	if a, b := one.Audit[store.AuditKept-1].At, other.Audit[store.AuditKept-1].At; a != 3 || b != 4 {
		t.Errorf("two logs that follow one share their audit: %v, %v", a, b)
	}
	if len(l.Audit) != store.AuditKept || l.Audit[0].At != store.AuditKept+1 || l.Audit[store.AuditKept-1].At != 2*store.AuditKept {
		t.Errorf("%d entries are kept, from %v on", len(l.Audit), l.Audit[0].At)
	}
}

func TestAuditTextsAreBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 512), strings.Repeat("é", 256), "a" + strings.Repeat("é", 200), strings.Repeat("😀", 128)} {
		got := store.Log{}.Audited(store.AuditEntry{Action: text, By: text, From: text, Reason: text}).Audit[0]
		for _, short := range []string{got.Action, got.By, got.From, got.Reason} {
			if len(short) > store.AuditTextMax || len(short) < store.AuditTextMax-utf8.UTFMax || !utf8.ValidString(short) || !strings.HasSuffix(short, "…") {
				t.Errorf("%d bytes became %q", len(text), short)
			}
		}
	}
	whole := strings.Repeat("x", store.AuditTextMax)
	if got := (store.Log{}).Audited(store.AuditEntry{Reason: whole}).Audit[0].Reason; got != whole {
		t.Errorf("it became %q", got)
	}
}
