package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// TestSettlingLargeMessagesReadsNoTexts: a script that reads and writes the texts of a
// whole turn holds up the server for seconds, and needs more memory than the
// conversation itself. So long texts cost no more than short ones.
func TestSettlingLargeMessagesReadsNoTexts(t *testing.T) {
	const count = 1000
	settle := func(text string) time.Duration {
		s := openNew(t, testservers.NewRedis(t))
		var ops ops
		var op store.Op
		for seq := int64(1); seq <= count; {
			write := message(key("c"), op, ops.Next(), seq)
			entry := write.Append[0]
			write.Append = nil
			for range 50 {
				entry.Seq, entry.Version, entry.ID, entry.Text = seq, seq, fmt.Sprint("m", seq), text
				write.Append = append(write.Append, entry)
				seq++
			}
			op = mustCommit(t, s, write)
		}
		write := message(key("c"), op, ops.Next(), count+1)
		write.Append = nil
		write.Settle = []turn.Settle{{Through: count, Status: turn.InputAnswered, ReplySeq: count + 1}}
		begun := time.Now()
		mustCommit(t, s, write)
		took := time.Since(begun)
		last := mustEntries(t, s, key("c"), store.EntryQuery{Backward: true, Limit: 1})
		if len(last) != 1 || last[0].Status != turn.InputAnswered || last[0].Text != text {
			t.Error("the last message is not answered, or not what was sent")
		}
		return took
	}
	short, long := settle("x"), settle(strings.Repeat("x", 64<<10))
	if most := 10*short + 200*time.Millisecond; long > most {
		t.Errorf("a settle of %d messages of 64 KiB took %v, and of 1 byte %v: it reads the texts", count, long, short)
	}
}
