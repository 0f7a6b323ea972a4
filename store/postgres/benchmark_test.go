package postgres

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
)

// BenchmarkCommit measures the hot operation, an arrival: the record replaced,
// one message appended, its id claimed, the timer moved, all of it on the
// server's disk.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) { benchmarkCommit(b, writers) })
	}
}

func benchmarkCommit(b *testing.B, writers int) {
	s := openAt(b, testservers.Postgres(b))
	ops := &ops{}
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() { arrivals(b, s, ops, writer, &left) })
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// arrivals writes to conversations of its own, five messages to each.
func arrivals(b *testing.B, s *Store, ops *ops, writer int, left *atomic.Int64) {
	last := opOf(0)
	for i := int64(0); left.Add(-1) >= 0; i++ {
		op, seq := ops.next(), i%5+1
		if seq == 1 {
			last = opOf(0)
		}
		result, err := s.Commit(b.Context(), message(key(fmt.Sprintf("chat-%d-%d", writer, i/5)), last, op, seq))
		if err != nil || result.Status != 0 {
			b.Errorf("Commit: %v, %v", result.Status, err)
			return
		}
		last = op
	}
}

// BenchmarkLoad measures a read of one record among ten thousand.
func BenchmarkLoad(b *testing.B) {
	s := openAt(b, testservers.Postgres(b))
	plantIdle(b, s, 10_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := s.Load(b.Context(), key(fmt.Sprintf("idle-%d", i%10_000+1))); err != nil {
			b.Fatal(err)
		}
	}
}
