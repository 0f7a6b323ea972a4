package memory

import (
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// The copies below share nothing with the original, so that neither the caller
// nor the store can change what the other holds. A new field that is a pointer,
// a slice or a map needs a line here; the suite fails without it.

func copyRecord(r turn.Record) turn.Record {
	if r.Reply = copyPointer(r.Reply); r.Reply != nil {
		r.Reply.Receipts = slices.Clone(r.Reply.Receipts)
		r.Reply.Stopped = slices.Clone(r.Reply.Stopped)
	}
	r.Queue = slices.Clone(r.Queue)
	for i := range r.Queue {
		r.Queue[i].Receipts = slices.Clone(r.Queue[i].Receipts)
		r.Queue[i].Stopped = slices.Clone(r.Queue[i].Stopped)
	}
	r.Unconfirmed, r.SentParts = slices.Clone(r.Unconfirmed), slices.Clone(r.SentParts)
	r.SetAside = copyPointer(r.SetAside)
	r.Names.Aliases, r.Names.Dropped = slices.Clone(r.Names.Aliases), slices.Clone(r.Names.Dropped)
	r.Early = slices.Clone(r.Early)
	return r
}

func copyLog(l store.Log) store.Log {
	l.Trace.Steps, l.Audit = slices.Clone(l.Trace.Steps), slices.Clone(l.Audit)
	return l
}

func copyEntry(e store.Entry) store.Entry {
	e.Attachments = slices.Clone(e.Attachments)
	e.Metadata = slices.Clone(e.Metadata)
	e.Parts = slices.Clone(e.Parts)
	e.Covers = slices.Clone(e.Covers)
	e.Receipts = slices.Clone(e.Receipts)
	e.Trace.Steps = slices.Clone(e.Trace.Steps)
	e.ReplyTo = copyPointer(e.ReplyTo)
	if e.Was = copyPointer(e.Was); e.Was != nil {
		e.Was.Attachments = slices.Clone(e.Was.Attachments)
	}
	if e.Edit = copyPointer(e.Edit); e.Edit != nil {
		e.Edit.Text = copyPointer(e.Edit.Text)
		if e.Edit.Attachments = copyPointer(e.Edit.Attachments); e.Edit.Attachments != nil {
			*e.Edit.Attachments = slices.Clone(*e.Edit.Attachments)
		}
	}
	return e
}

// copyPointer copies the value behind a pointer. Its fields must be plain values; the
// slices behind one are copied by its caller.
func copyPointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
