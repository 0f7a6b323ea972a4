package sqlite

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onereply/onereply/store"
)

// BenchmarkCommit measures the hot operation, an arrival: the record replaced,
// one message appended, its id claimed, the timer moved, all of it on the disk.
// Its figures are in docs/decisions/0003-sqlite-driver.md.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) { benchmarkCommit(b, writers, 10_000) })
	}
}

func benchmarkCommit(b *testing.B, writers, conversations int) {
	s := openNew(b)
	ops := &ops{}
	var left atomic.Int64
	left.Store(int64(b.N))
	before := s.writer.transactions.Load()
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() { arrivals(b, s, ops, writer, max(1, conversations/writers), &left) })
	}
	group.Wait()
	b.StopTimer()
	transactions := s.writer.transactions.Load() - before
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric(float64(b.N)/float64(transactions), "commits/fsync")
}

// arrivals writes to the conversations of one writer in turn.
func arrivals(b *testing.B, s *Store, ops *ops, writer, conversations int, left *atomic.Int64) {
	last := make([]store.Op, conversations)
	for i := 0; left.Add(-1) >= 0; i++ {
		number := i % conversations
		op := ops.Next()
		write := message(key(fmt.Sprintf("chat-%d-%d", writer, number)), last[number], op, int64(i/conversations+1))
		result, err := s.Commit(b.Context(), write)
		if err != nil || result.Status != store.OK {
			b.Errorf("Commit: %v, %v", result.Status, err)
			return
		}
		last[number] = op
	}
}

// BenchmarkLoad measures a read of one record among ten thousand.
func BenchmarkLoad(b *testing.B) {
	s := openNew(b)
	const conversations = 10_000
	var group sync.WaitGroup
	for writer := range 100 {
		group.Go(func() {
			for i := writer; i < conversations; i += 100 {
				mustCommit(b, s, message(key(fmt.Sprint(i)), store.Op{}, opOf(1), 1))
			}
		})
	}
	group.Wait()
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		if _, err := s.Load(b.Context(), key(fmt.Sprint(i%conversations))); err != nil {
			b.Fatal(err)
		}
	}
}
