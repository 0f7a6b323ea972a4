package node

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A store that takes no writes makes the node unready, for as long as it was
// seen lately; and it is told once a second, not once a failure.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h health
		full := errors.New("disk full")
		h.wrote(full)
		if h.writesFail() != full {
			t.Error("a failed write does not show")
		}
		h.wrote(nil)
		if h.writesFail() != nil {
			t.Error("a failed write shows although one has succeeded since")
		}
		h.wrote(full)
		time.Sleep(10 * time.Second)
		if h.writesFail() != full {
			t.Error("it shows for less than ten seconds")
		}
		time.Sleep(time.Nanosecond)
		if h.writesFail() != nil {
			t.Error("without traffic it must be tried again")
		}

		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		for range 50 {
			h.log(log, "a write failed", "err", full)
			time.Sleep(100 * time.Millisecond)
		}
		if lines := strings.Count(out.String(), "\n"); lines != 5 {
			t.Errorf("%d lines in 5 s, want 5", lines)
		}
		if !strings.Contains(out.String(), "others_since_the_last_line=9") {
			t.Errorf("the lines do not say how many there were: %s", out.String())
		}
	})
}

// Claims that hang fail once per time-out: between two of them the node is not ready
// either. Two failures that have nothing to do with each other are nothing.
func TestClaimsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h health
		away := errors.New("timeout")
		const pollPause = time.Second // at most
		h.claimed(away)
		for i := range 5 {
			time.Sleep(storeTimeout + pollPause - time.Nanosecond)
			if i > 0 && h.claimsFail() != away {
				t.Fatal("ready between two claims that failed")
			}
			time.Sleep(time.Nanosecond)
			h.claimed(away)
		}
		time.Sleep(time.Hour) // a node without a free place does not claim
		if h.claimsFail() != nil {
			t.Error("not ready, although no claim failed for an hour")
		}
		h.claimed(away)
		if h.claimsFail() != nil {
			t.Error("not ready after a single failure, the first for an hour")
		}
		time.Sleep(claimsMayFail - time.Nanosecond)
		h.claimed(away)
		if h.claimsFail() != nil {
			t.Error("not ready although claims have failed for less than two seconds")
		}
		time.Sleep(time.Nanosecond)
		h.claimed(away)
		if h.claimsFail() != away {
			t.Error("ready although claims have failed for two seconds")
		}
	})
}
