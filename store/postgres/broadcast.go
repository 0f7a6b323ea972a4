package postgres

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/onereply/onereply/store"
)

// A broadcast is cut into parts that each fit a NOTIFY, and its receivers put them
// together again. Parts are sent together with the hints, so they take the lock of
// NOTIFY no more often. At 16 parts each 50 ms a node sends at most 1.8 MB a second, so a
// broadcast of the greatest size takes about 0.6 s, and four of that size may wait.
const (
	broadcastChannel = "onereply_broadcasts"
	partBytes        = 5_800 // of a payload; in base64, with what tells the parts, less than maxPayload
	maxParts         = (store.MaxBroadcast + partBytes - 1) / partBytes
	maxOutbox        = 4 * maxParts // parts that wait; more broadcasts are refused
	maxUnfinished    = 16           // broadcasts that are put together at once
)

var errHintsOff = fmt.Errorf("hints are turned off: %w", store.ErrNoBroadcasts)

// Broadcast implements [store.Broadcaster]. It only queues the payload: all that
// gathers within 50 ms is sent together, and is lost if the server is out of reach.
func (s *Store) Broadcast(ctx context.Context, payload []byte) error {
	if err := s.usable(ctx); err != nil {
		return s.failed(err, "broadcast")
	}
	if err := s.hints.broadcast(payload); err != nil {
		return s.failed(err, "broadcast")
	}
	return nil
}

// Broadcasts implements [store.Broadcaster]. It shares one connection with Hints,
// and ends as that does.
func (s *Store) Broadcasts(ctx context.Context, f func(payload []byte)) error {
	heard := newInbox(s.hints.from)
	return s.listen(ctx, "broadcasts", func(n notice) {
		if n.channel != broadcastChannel {
			return
		}
		if strings.HasPrefix(n.payload, s.hints.from+" ") {
			now := time.Now()
			s.hints.echoed.Store(&now)
		}
		if payload, ok := heard.take(n.payload); ok {
			f(payload)
		}
	})
}

// Echoed implements [store.Echoer].
func (s *Store) Echoed() time.Time {
	if at := s.hints.echoed.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// broadcast queues a payload whole or not at all: half of one would be of no use to its
// receivers, and would take the place of others.
func (h *hints) broadcast(payload []byte) error {
	switch {
	case !h.on:
		return errHintsOff
	case len(payload) > store.MaxBroadcast:
		return store.ErrTooLarge
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.outbox.add(h.from, payload) {
		return store.ErrCrowded
	}
	h.wakeSender()
	return nil
}

// outbox is the parts that wait to be sent.
type outbox struct {
	number uint64 // of the last broadcast
	parts  []string
}

// add cuts a payload into parts, unless too much waits.
func (o *outbox) add(from string, payload []byte) bool {
	count := max(1, (len(payload)+partBytes-1)/partBytes)
	if len(o.parts)+count > maxOutbox {
		return false
	}
	o.number++
	for i := range count {
		rest := payload[i*partBytes:]
		p := part{from: from, number: o.number, index: i, count: count, data: rest[:min(len(rest), partBytes)]}
		o.parts = append(o.parts, p.String())
	}
	return true
}

// take removes the parts that were queued first, at most so many.
func (o *outbox) take(most int) []string {
	taken := o.parts[:max(0, min(most, len(o.parts)))]
	if o.parts = o.parts[len(taken):]; len(o.parts) == 0 {
		o.parts = nil // its memory
	}
	return taken
}

// part is what one NOTIFY holds of a broadcast.
type part struct {
	from         string
	number       uint64 // of the broadcast, among those of its sender
	index, count int
	data         []byte
}

// String is the part as text, which is all that a NOTIFY carries.
func (p part) String() string {
	return strings.Join([]string{p.from, strconv.FormatUint(p.number, 10), strconv.Itoa(p.index), strconv.Itoa(p.count),
		base64.RawStdEncoding.EncodeToString(p.data)}, " ")
}

// parsePart is the inverse of String. Anybody who may connect to the database may
// send one, so anything may be in it.
func parsePart(text string) (p part, ok bool) {
	fields := strings.Split(text, " ")
	if len(fields) != 5 || fields[0] == "" {
		return p, false
	}
	var errs [4]error
	p.from = fields[0]
	p.number, errs[0] = strconv.ParseUint(fields[1], 10, 64)
	p.index, errs[1] = strconv.Atoi(fields[2])
	p.count, errs[2] = strconv.Atoi(fields[3])
	p.data, errs[3] = base64.RawStdEncoding.DecodeString(fields[4])
	return p, errors.Join(errs[:]...) == nil && 0 <= p.index && p.index < p.count && p.count <= maxParts && len(p.data) <= partBytes
}

// inbox puts parts together. The parts of one sender come in order, with those of
// others between them; where one is missing, the broadcast is lost. Anybody may send
// parts, so what is unfinished is bounded: at most 16 broadcasts of about 1 MB each.
// Where one more begins, all that are unfinished are dropped.
type inbox struct {
	own        string
	unfinished map[string]*part // by sender: the last part, with the data of all before it
}

func newInbox(own string) *inbox { return &inbox{own: own, unfinished: map[string]*part{}} }

// take takes a part in, and returns the broadcast that it completes.
func (b *inbox) take(text string) (payload []byte, complete bool) {
	p, ok := parsePart(text)
	if !ok || p.from == b.own {
		return nil, false
	}
	before := b.unfinished[p.from]
	delete(b.unfinished, p.from)
	switch {
	case p.index == 0:
	case before == nil || before.number != p.number || before.count != p.count || before.index+1 != p.index:
		return nil, false
	default:
		p.data = append(before.data, p.data...)
	}
	if p.index+1 == p.count {
		return p.data, true
	}
	if len(b.unfinished) >= maxUnfinished {
		clear(b.unfinished)
	}
	b.unfinished[p.from] = &p
	return nil, false
}
