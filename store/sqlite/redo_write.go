package sqlite

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A write in the log is its fields in the order of appendWrite: numbers as signed
// varints, texts and JSON as their length and their bytes, an Op as 16 bytes. The
// record and the bodies are the JSON that goes into the tables.

func appendWrite(to []byte, p *pending) []byte {
	to = appendText(to, p.Key.Bot)
	to = appendText(to, p.Key.Conversation)
	to = append(to, p.Expect[:]...)
	to = append(to, p.Op[:]...)
	to = binary.AppendVarint(to, int64(p.Timer))
	to = binary.AppendVarint(to, int64(p.At))
	to = appendText(to, p.record)
	to = appendEntries(to, p.Append, p.bodies)
	to = appendEntries(to, p.Change, p.bodies[len(p.Append):])
	to = binary.AppendVarint(to, int64(len(p.Settle)))
	for _, s := range p.Settle {
		to = binary.AppendVarint(to, s.AfterSeq)
		to = binary.AppendVarint(to, s.From)
		to = binary.AppendVarint(to, s.Through)
		to = appendText(to, s.Status)
		to = binary.AppendVarint(to, s.ReplySeq)
		to = appendFlag(to, s.Reopen)
	}
	to = binary.AppendVarint(to, int64(len(p.Mark)))
	for _, m := range p.Mark {
		to = binary.AppendVarint(to, m.Seq)
		to = appendText(to, m.Status)
		to = appendText(to, m.Reason)
	}
	return to
}

func appendEntries(to []byte, entries []store.Entry, bodies [][]byte) []byte {
	to = binary.AppendVarint(to, int64(len(entries)))
	for i := range entries {
		e := &entries[i]
		to = binary.AppendVarint(to, e.Seq)
		to = appendText(to, e.Kind)
		to = appendText(to, e.ID)
		to = appendText(to, e.Status)
		to = appendText(to, e.Reason)
		to = binary.AppendVarint(to, int64(e.At))
		to = binary.AppendVarint(to, e.Version)
		to = binary.AppendVarint(to, e.ReplySeq)
		to = appendText(to, bodies[i])
	}
	return to
}

func appendText[T ~string | ~[]byte](to []byte, text T) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func appendFlag(to []byte, set bool) []byte {
	if set {
		return append(to, 1)
	}
	return append(to, 0)
}

// readWrite is the inverse of appendWrite: a write that is ready to be applied, and
// what follows it. The bodies are as JSON only.
func readWrite(from []byte) (p *pending, rest []byte, err error) {
	r := fields{rest: from}
	p = &pending{Write: &store.Write{}}
	p.Key.Bot, p.Key.Conversation = r.text(), r.text()
	r.op(&p.Expect)
	r.op(&p.Op)
	p.Timer, p.At = turn.Time(r.number()), turn.Time(r.number())
	p.record = r.bytes()
	p.Append = r.entries(p)
	p.Change = r.entries(p)
	for range r.count() {
		p.Settle = append(p.Settle, turn.Settle{
			AfterSeq: r.number(), From: r.number(), Through: r.number(),
			Status: turn.Status(r.text()), ReplySeq: r.number(), Reopen: r.flag(),
		})
	}
	for range r.count() {
		p.Mark = append(p.Mark, turn.Mark{Seq: r.number(), Status: turn.Status(r.text()), Reason: r.text()})
	}
	if r.broken {
		return nil, nil, errors.New("a write in the log is cut")
	}
	if err := json.Unmarshal(p.record, &p.Record); err != nil {
		return nil, nil, fmt.Errorf("the record of %v in the log: %w", p.Key, err)
	}
	return p, r.rest, nil
}

// fields reads what appendWrite wrote. Once something is missing it gives zeros.
type fields struct {
	rest   []byte
	broken bool
}

func (r *fields) number() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.rest, r.broken = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count is a number of things of at least one byte each.
func (r *fields) count() int {
	n := r.number()
	if n < 0 || n > int64(len(r.rest)) {
		r.rest, r.broken = nil, true
		return 0
	}
	return int(n)
}

func (r *fields) take(size int) []byte {
	if size > len(r.rest) {
		r.rest, r.broken = nil, true
		return nil
	}
	taken := r.rest[:size:size]
	r.rest = r.rest[size:]
	return taken
}

func (r *fields) bytes() []byte {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)) {
		r.rest, r.broken = nil, true
		return nil
	}
	r.rest = r.rest[size:]
	return r.take(int(n))
}

func (r *fields) text() string { return string(r.bytes()) }

func (r *fields) flag() bool {
	b := r.take(1)
	return len(b) == 1 && b[0] != 0
}

func (r *fields) op(to *store.Op) { copy(to[:], r.take(len(to))) }

func (r *fields) entries(p *pending) []store.Entry {
	var all []store.Entry
	for range r.count() {
		all = append(all, store.Entry{
			Seq: r.number(), Kind: store.Kind(r.text()), ID: r.text(), Status: turn.Status(r.text()), Reason: r.text(),
			At: turn.Time(r.number()), Version: r.number(), ReplySeq: r.number(),
		})
		p.bodies = append(p.bodies, r.bytes())
	}
	return all
}
