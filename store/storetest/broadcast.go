package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/onereply/onereply/store"
)

// broadcastTests are for stores that are a [store.Broadcaster], and that two nodes
// can have open.
var broadcastTests = []test{
	{"what one node says, all others hear, whole and in order", func(s *subject) {
		from, to, third := s.broadcaster(s.store), s.neighbour(), s.neighbour()
		heard, also, own := s.hearing(from, to), s.hearing(from, third), s.hearing(to, from)
		said := [][]byte{
			[]byte("hello"), {}, []byte("\x00\xff\n \"'%"), bytes.Repeat([]byte("0123456789abcdef"), 5000),
			[]byte("last"),
		}
		for _, payload := range said {
			s.say(from, payload)
		}
		for _, at := range []<-chan []byte{heard, also} {
			for i, want := range said {
				if got := s.next(at); !bytes.Equal(got, want) {
					s.Fatalf("payload %d: got %.40q (%d bytes), want %.40q (%d bytes)", i, got, len(got), want, len(want))
				}
			}
		}
		s.say(to, []byte("to the first"))
		if got := s.next(own); string(got) != "to the first" {
			s.Errorf("the first node heard %.40q: it must not hear itself", got)
		}
	}},
	{"a node that hears itself knows when", func(s *subject) {
		from := s.broadcaster(s.store)
		echoer, ok := from.(store.Echoer)
		if !ok {
			s.Skip("it does not tell whether it hears itself")
		}
		if at := echoer.Echoed(); !at.IsZero() {
			s.Errorf("it heard itself at %v, and nobody listened", at)
		}
		s.hearing(s.neighbour(), from)
		began := time.Now()
		s.say(from, []byte("hello"))
		for deadline := began.Add(waitLimit); echoer.Echoed().Before(began); {
			if time.Now().After(deadline) {
				s.Fatal("it does not hear itself")
			}
			<-time.After(time.Millisecond)
		}
	}},
	{"the largest arrives, a larger one is refused", func(s *subject) {
		from, to := s.broadcaster(s.store), s.neighbour()
		heard := s.hearing(from, to)
		largest := make([]byte, store.MaxBroadcast)
		for i := range largest {
			largest[i] = byte(i * 7)
		}
		if err := from.Broadcast(s.Context(), append(largest, 0)); !errors.Is(err, store.ErrTooLarge) {
			s.Errorf("Broadcast of %d bytes: got error %v, want ErrTooLarge", len(largest)+1, err)
		}
		s.say(from, largest)
		if got := s.next(heard); !bytes.Equal(got, largest) {
			s.Errorf("got %d bytes, want the %d that were sent", len(got), len(largest))
		}
	}},
	{"many that speak at once disturb nobody's order", func(s *subject) {
		to := s.neighbour()
		var nodes []store.Broadcaster
		var heard <-chan []byte
		for range 3 {
			nodes = append(nodes, s.neighbour())
		}
		heard = s.hearing(nodes[0], to)
		const count = 30
		for i := range count {
			for n, node := range nodes {
				text := binary.BigEndian.AppendUint32([]byte{byte(n)}, uint32(i))
				s.say(node, append(text, make([]byte, 1000*(i%12))...))
			}
		}
		last := map[byte]int{}
		for range count * len(nodes) {
			got := s.next(heard)
			number := int(binary.BigEndian.Uint32(got[1:]))
			if number != last[got[0]] || len(got) != 5+1000*(number%12) {
				s.Fatalf("node %d: got number %d with %d bytes, want %d", got[0], number, len(got), last[got[0]])
			}
			last[got[0]]++
		}
	}},
	{"broadcasts end with their context, and with the store", func(s *subject) {
		from := s.broadcaster(s.store)
		ctx, cancel := context.WithCancel(s.Context())
		ended := make(chan error, 2)
		go func() { ended <- from.Broadcasts(ctx, func([]byte) {}) }()
		cancel()
		s.await(ended)
		go func() { ended <- from.Broadcasts(s.Context(), func([]byte) {}) }()
		if err := s.store.Close(); err != nil {
			s.Fatalf("Close: %v", err)
		}
		if err := s.await(ended); !errors.Is(err, store.ErrClosed) {
			s.Errorf("Broadcasts: got error %v, want ErrClosed", err)
		}
		if err := from.Broadcast(s.Context(), []byte("late")); !errors.Is(err, store.ErrClosed) {
			s.Errorf("Broadcast: got error %v, want ErrClosed", err)
		}
	}},
}

// waitLimit bounds the wait for what must come.
const waitLimit = 30 * time.Second

// broadcaster is the power of a store, or skips the test.
func (s *subject) broadcaster(of store.Store) store.Broadcaster {
	s.Helper()
	b, ok := of.(store.Broadcaster)
	if !ok || s.options.Second == nil {
		s.Skip("it has no broadcasts between nodes")
	}
	if err := b.Broadcast(s.Context(), []byte("ready ?")); errors.Is(err, store.ErrNoBroadcasts) {
		s.Skip(err)
	}
	return b
}

// neighbour is one more node on the same data.
func (s *subject) neighbour() store.Broadcaster {
	s.Helper()
	s.broadcaster(s.store)
	second, err := s.options.Second(s.T, s.store)
	if err != nil {
		s.Fatalf("open it once more: %v", err)
	}
	return s.broadcaster(second)
}

// hearing is what a node hears, once it is certain that it does: from says so until
// it was heard.
func (s *subject) hearing(from, to store.Broadcaster) <-chan []byte {
	s.Helper()
	heard := make(chan []byte, 1000)
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = to.Broadcasts(ctx, func(payload []byte) { heard <- payload }) // it ends with the test
	}()
	s.Cleanup(func() { cancel(); <-ended })
	deadline := time.After(waitLimit)
	for number := 0; ; number++ {
		ready := fmt.Appendf(nil, "ready %d", number)
		s.say(from, ready)
		soon := time.After(time.Second)
		for waiting := true; waiting; {
			select {
			case got := <-heard:
				if bytes.Equal(got, ready) {
					return heard
				}
			case <-soon:
				waiting = false
			case <-deadline:
				s.Fatal("no broadcast is heard")
			}
		}
	}
}

// next is the next payload but for those that only say that a node is ready.
func (s *subject) next(heard <-chan []byte) []byte {
	s.Helper()
	for deadline := time.After(waitLimit); ; {
		select {
		case got := <-heard:
			if !bytes.HasPrefix(got, []byte("ready ")) {
				return got
			}
		case <-deadline:
			s.Fatal("nothing is heard")
		}
	}
}

func (s *subject) await(ended <-chan error) error {
	s.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(waitLimit):
		s.Fatal("it does not end")
		return nil
	}
}

func (s *subject) say(from store.Broadcaster, payload []byte) {
	s.Helper()
	if err := from.Broadcast(s.Context(), payload); err != nil {
		s.Fatalf("Broadcast of %d bytes: %v", len(payload), err)
	}
}
