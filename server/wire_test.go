package server

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/onereply/onereply"
)

// TestAReceiptIsTheJSONOfItsFields compares what is written by hand with what
// encoding/json makes of it, without escapes for HTML.
func TestAReceiptIsTheJSONOfItsFields(t *testing.T) {
	due := time.Date(2026, 1, 31, 13, 0, 0, 120_999_999, time.FixedZone("", 3600))
	for _, r := range []onereply.Receipt{
		{},
		{MessageID: "m1", Version: 7, DueAt: due, Outcome: onereply.OutcomeQueued},
		{MessageID: "m1", Version: -1, Duplicate: true, Outcome: onereply.OutcomeDuplicate, DueAt: due.UTC()},
		{MessageID: "\"\\\n\x00ü\u2028\xff", Outcome: onereply.OutcomeIgnored, Reason: "no\teffect"},
		{MessageID: "<a href=\"?b&c\">", Outcome: onereply.OutcomeIgnored, Reason: "<&>"},
	} {
		written := receiptOf(r)
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(written); err != nil {
			t.Fatal(err)
		}
		if got := written.append(nil); string(got)+"\n" != want.String() {
			t.Errorf("got  %s\nwant %s", got, want.String())
		}
	}
}
