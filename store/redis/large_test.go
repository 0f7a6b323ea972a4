package redis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// TestSettlingLargeMessagesReadsNoTexts: a script that reads and writes the texts of a
// whole turn holds up the server for seconds, and needs more memory than the
// conversation itself. So long texts cost no more than short ones: the server tells what
// it needs of the processor, which does not depend on what else this machine does.
func TestSettlingLargeMessagesReadsNoTexts(t *testing.T) {
	const count = 1000
	settle := func(text string) float64 {
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
		before := processorSeconds(t, s)
		mustCommit(t, s, write)
		took := processorSeconds(t, s) - before
		last := mustEntries(t, s, key("c"), store.EntryQuery{Backward: true, Limit: 1})
		if len(last) != 1 || last[0].Status != turn.InputAnswered || last[0].Text != text {
			t.Error("the last message is not answered, or not what was sent")
		}
		return took
	}
	short, long := settle("x"), settle(strings.Repeat("x", 64<<10))
	t.Logf("a settle of %d messages of 64 KiB takes %.3f s, and of 1 byte %.3f s", count, long, short)
	if long > 10*short+0.2 {
		t.Errorf("a settle of %d messages of 64 KiB takes %.3f s, and of 1 byte %.3f s: it reads the texts", count, long, short)
	}
}

// processorSeconds is what the server has used of the processor.
func processorSeconds(t *testing.T, s *Store) (sum float64) {
	t.Helper()
	text, err := s.client.Do(t.Context(), s.client.B().Info().Section("cpu").Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "used_cpu_user" && name != "used_cpu_sys" {
			continue
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += seconds
	}
	return sum
}
