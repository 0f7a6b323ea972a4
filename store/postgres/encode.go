package postgres

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// check finds writes that no correct caller makes. The server would refuse some of them
// as well, and with each of them the whole group that it is sent in (see groups). Only the
// server knows whether the first new sequence is greater than those of earlier writes.
func check(w store.Write) error {
	if w.Op.IsZero() {
		return errors.New("the write has no Op")
	}
	if err := checkName(w.Key.Bot, w.Key.Conversation); err != nil {
		return err
	}
	last := int64(0)
	for i := range w.Append {
		e := &w.Append[i]
		if e.Seq <= last {
			return fmt.Errorf("entry %q has sequence %d, which is not greater than %d", e.ID, e.Seq, last)
		}
		last = e.Seq
	}
	for _, entries := range [][]store.Entry{w.Append, w.Change} {
		for i := range entries {
			if err := checkName(entries[i].ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkName refuses what a text of PostgreSQL can't be. Names and ids are compared and
// indexed, so they are never changed to fit, other than a reason (see printable).
func checkName(names ...string) error {
	for _, name := range names {
		if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
			return fmt.Errorf("the name or id %q is not UTF-8 without NUL: choose another", name)
		}
	}
	return nil
}

// encodeSteps returns the arguments for what is applied after the new entries. They are
// JSON, since their order matters and the server works through them one by one; each is
// NULL where there is nothing to do, as in most writes.
func encodeSteps(w store.Write) ([]any, error) {
	bodies, err := encodeBodies(w.Change)
	if err != nil {
		return nil, err
	}
	changes, err := encodeRows(w.Change, changeRowOf)
	if err != nil {
		return nil, err
	}
	settles, err := encodeRows(w.Settle, settleRowOf)
	if err != nil {
		return nil, err
	}
	marks, err := encodeRows(w.Mark, markRowOf)
	return []any{changes, bodies, settles, marks}, err
}

// changeRow is an entry that is changed, without its body.
type changeRow struct {
	Seq      int64       `json:"seq"`
	Kind     store.Kind  `json:"kind"`
	ID       string      `json:"id"`
	Status   turn.Status `json:"status"`
	Reason   string      `json:"reason"`
	At       int64       `json:"at_ms"`
	Version  int64       `json:"version"`
	ReplySeq int64       `json:"reply_seq"`
}

func changeRowOf(e store.Entry) changeRow {
	return changeRow{e.Seq, e.Kind, e.ID, e.Status, printable(e.Reason), int64(e.At), e.Version, e.ReplySeq}
}

// settleRow is a settle. The server changes messages whose sequence is greater than
// AfterSeq, whose version is greater than Above and at most Through, and whose status is
// Was. A Reopen is the same with other statuses: failed messages become pending.
type settleRow struct {
	AfterSeq int64       `json:"after_seq"`
	Above    int64       `json:"above"`
	Through  int64       `json:"through"`
	Was      turn.Status `json:"was"`
	Status   turn.Status `json:"status"`
	ReplySeq int64       `json:"reply_seq"`
}

func settleRowOf(s turn.Settle) settleRow {
	row := settleRow{s.AfterSeq, s.From, s.Through, turn.InputPending, s.Status, s.ReplySeq}
	if s.Reopen {
		row.Was, row.Status = turn.InputFailed, turn.InputPending
	}
	return row
}

// markRow is a mark: the new status of a reply, and its reason.
type markRow struct {
	Seq    int64       `json:"seq"`
	Status turn.Status `json:"status"`
	Reason string      `json:"reason"`
}

func markRowOf(m turn.Mark) markRow { return markRow{m.Seq, m.Status, printable(m.Reason)} }

// printable replaces NUL, which PostgreSQL can't keep outside of a body. A
// reason is for people only, and may come from another server.
func printable(reason string) string { return strings.ReplaceAll(reason, "\x00", "\uFFFD") }

// encodeBodies returns the JSON of the bodies. They are not part of a row, since
// they are kept to the byte, and may hold \u0000, which no JSON function of
// PostgreSQL takes.
func encodeBodies(entries []store.Entry) ([]string, error) {
	var bodies []string
	for i := range entries {
		body, err := toJSON(&entries[i].Body)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", entries[i].ID, err)
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// encodeRows returns rows as a JSON array, nil where there are none.
func encodeRows[T, Row any](all []T, rowOf func(T) Row) (*string, error) {
	if len(all) == 0 {
		return nil, nil
	}
	rows := make([]Row, len(all))
	for i := range all {
		rows[i] = rowOf(all[i])
	}
	text, err := toJSON(rows)
	return &text, err
}

// toJSON is JSON as a parameter of a statement. It is a string, because the driver
// may send bytes as bytea.
func toJSON(v any) (string, error) {
	text, err := storejson.Encode(v)
	return string(text), err
}
