package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

// Broadcasts are parts of less than 8000 bytes, few in one interval, and never more
// than some megabytes wait.
func TestPartsOfBroadcastsAreBounded(t *testing.T) {
	h := newHints(&Store{}, false)
	defer h.close()
	h.on = true // but nothing sends
	payload := bytes.Repeat([]byte{0xff, 0, '"'}, store.MaxBroadcast/3)
	sent := 0
	for h.broadcast(payload) == nil {
		if sent++; sent > 100 {
			t.Fatal("what waits has no bound")
		}
	}
	if err := h.broadcast(payload); !errors.Is(err, store.ErrCrowded) || sent < 2 {
		t.Errorf("after %d broadcasts: %v, want ErrCrowded", sent, err)
	}
	heard, whole := newInbox("another"), 0
	for notices := h.take(); len(notices) > 0; notices = h.take() {
		if len(notices) > maxPayloads {
			t.Errorf("%d payloads at once", len(notices))
		}
		for _, n := range notices {
			if len(n.payload) >= 8000 {
				t.Errorf("a payload of %d bytes", len(n.payload))
			}
			if got, ok := heard.take(n.payload); ok {
				whole++
				if !bytes.Equal(got, payload) {
					t.Errorf("%d bytes arrived, want the %d that were sent", len(got), len(payload))
				}
			}
		}
	}
	if whole != sent {
		t.Errorf("%d of %d broadcasts arrived", whole, sent)
	}
}

// A hint does not wait behind broadcasts.
func TestHintsGoBeforeBroadcasts(t *testing.T) {
	h := newHints(&Store{}, false)
	defer h.close()
	h.on = true
	if err := h.broadcast(make([]byte, store.MaxBroadcast)); err != nil {
		t.Fatal(err)
	}
	h.take()
	h.add([]store.Key{key("c")})
	if first := h.take()[0]; first.channel != hintChannel {
		t.Errorf("the first is on %s", first.channel)
	}
}

// Where a part is missing, or comes twice, the broadcast is lost, and only that.
func TestBroadcastsWithMissingParts(t *testing.T) {
	var o outbox
	o.add("a", bytes.Repeat([]byte("1"), 3*partBytes))
	o.add("a", []byte("whole"))
	parts := o.take(10)
	for name, order := range map[string][]int{
		"the first is missing": {1, 2, 3}, "one between": {0, 2, 3}, "the last": {0, 1, 3}, "one comes twice": {0, 1, 1, 2, 3},
	} {
		heard := newInbox("b")
		var got []string
		for _, i := range order {
			if payload, ok := heard.take(parts[i]); ok {
				got = append(got, string(payload))
			}
		}
		if fmt.Sprint(got) != "[whole]" {
			t.Errorf("%s: %d broadcasts arrived, want the next one only", name, len(got))
		}
	}
}

// Broadcasts share the connection of the hints.
func TestBroadcastsTakeNoConnection(t *testing.T) {
	url := testservers.Postgres(t)
	a, b := openAt(t, url), openAt(t, url)
	listening(t, b, a)
	got := make(chan []byte, 1000)
	go func() { _ = b.Broadcasts(t.Context(), func(payload []byte) { got <- payload }) }()
	poll(t, "a broadcast is heard", func() bool {
		if err := a.Broadcast(t.Context(), []byte("x")); err != nil {
			t.Fatal(err)
		}
		return len(got) > 0
	})
	if n := read[int](t, a, `SELECT count(*) FROM pg_stat_activity WHERE query = $1 AND datname = current_database()`, listen); n != 1 {
		t.Errorf("%d sessions listen, want one", n)
	}
	off := openAt(t, url+"&hints=off")
	if err := off.Broadcast(t.Context(), []byte("x")); !errors.Is(err, errHintsOff) {
		t.Errorf("without hints: %v", err)
	}
}

func FuzzPart(f *testing.F) {
	f.Add("")
	f.Add(part{from: "x", number: 1, index: 0, count: 2, data: []byte("hello")}.String())
	f.Add("x 1 5 3 ")
	f.Add("x 1 0 99999999 aGk")
	f.Fuzz(func(t *testing.T, text string) {
		heard := newInbox("own")
		if payload, ok := heard.take(text); ok && len(payload) > partBytes {
			t.Errorf("%d bytes in one part", len(payload))
		}
	})
}
