package postgres

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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
	s := openAt(b, testservers.Postgres(b)+os.Getenv("ONEREPLY_BENCH_PG"))
	ops := &ops{}
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	client, server := clientTime(b), serverTime(b, s)
	b.ResetTimer()
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() { arrivals(b, s, ops, writer, &left) })
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric(float64((clientTime(b)-client).Microseconds())/float64(b.N), "client-µs/op")
	b.ReportMetric(float64((serverTime(b, s)-server).Microseconds())/float64(b.N), "server-µs/op")
}

// clientTime is the processor time of this process.
func clientTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// serverTime is the processor time of the server's sessions, as Linux counts it.
func serverTime(b *testing.B, s *Store) (total time.Duration) {
	const tick = 10 * time.Millisecond
	for _, process := range read[[]int](b, s, `SELECT array_agg(pid) FROM pg_stat_activity`) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
		if err != nil {
			continue // it ended, or this is no Linux
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')'):]))
		for _, field := range fields[12:14] { // utime, stime
			ticks, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			total += time.Duration(ticks) * tick
		}
	}
	return total
}

// arrivals writes to conversations of its own, five messages to each.
func arrivals(b *testing.B, s *Store, ops *ops, writer int, left *atomic.Int64) {
	last := opOf(0)
	for i := int64(0); left.Add(-1) >= 0; i++ {
		op, seq := ops.Next(), i%5+1
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
