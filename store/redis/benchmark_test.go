package redis

import (
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

// BenchmarkCommit measures the hot operation, an arrival, with and without a
// log that is synced before the answer. Server and client share the machine.
func BenchmarkCommit(b *testing.B) {
	for name, settings := range map[string][]string{"memory": nil, "always": durable} {
		for _, writers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/writers=%d", name, writers), func(b *testing.B) {
				benchmarkCommit(b, openNew(b, testservers.NewRedis(b, settings...)), writers, 10_000)
			})
		}
	}
}

func benchmarkCommit(b *testing.B, s *Store, writers, conversations int) {
	ops := &ops{}
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	client, server := clientTime(b), serverTime(b, s)
	b.ResetTimer()
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() { arrivals(b, s, ops, writer, max(1, conversations/writers), &left) })
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

// serverTime is the processor time of the server.
func serverTime(b *testing.B, s *Store) (total time.Duration) {
	text, err := s.client.Do(b.Context(), s.client.B().Info().Section("cpu").Build()).ToString()
	if err != nil {
		b.Fatal(err)
	}
	for _, part := range regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`).FindAllStringSubmatch(text, -1) {
		seconds, err := time.ParseDuration(part[1] + "s")
		if err != nil {
			b.Fatal(err)
		}
		total += seconds
	}
	return total
}

// arrivals writes to the conversations of one writer in turn.
func arrivals(b *testing.B, s *Store, ops *ops, writer, conversations int, left *atomic.Int64) {
	last := make([]store.Op, conversations)
	for i := 0; left.Add(-1) >= 0; i++ {
		number := i % conversations
		write := message(key(fmt.Sprintf("chat-%d-%d", writer, number)), last[number], ops.Next(), int64(i/conversations+1))
		result, err := s.Commit(b.Context(), write)
		if err != nil || result.Status != store.OK {
			b.Errorf("Commit: %v, %v", result.Status, err)
			return
		}
		last[number] = write.Op
	}
}

// BenchmarkClaim measures a look at the timers of all shards when none is due,
// and the claim of a hundred.
func BenchmarkClaim(b *testing.B) {
	s := openNew(b, testservers.NewRedis(b))
	var ops ops
	for i := range 10_000 {
		mustCommit(b, s, message(key(fmt.Sprint(i)), store.Op{}, ops.Next(), 1))
	}
	b.Run("nothing due", func(b *testing.B) {
		for b.Loop() {
			if timers, err := s.Claim(b.Context(), start, 100, 0); err != nil || len(timers) != 0 {
				b.Fatal(len(timers), err)
			}
		}
	})
	b.Run("a hundred", func(b *testing.B) {
		for b.Loop() {
			if timers, err := s.Claim(b.Context(), forever, 100, 0); err != nil || len(timers) != 100 {
				b.Fatal(len(timers), err)
			}
		}
	})
}
