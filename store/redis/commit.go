package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Commit implements [store.Store]. It is one script and one round trip, and a second one
// where the server does not know the script yet. Once the script has begun, nothing comes
// between its comparison of the Op and its changes; commit.lua says how it checks
// everything first. A time-out does not end a script that was sent, so without an
// answer the outcome is unknown. A write is durable as far as [Store.Guarantees] says:
// with appendfsync always the server syncs its log before it answers.
func (s *Store) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	result, err := s.tryCommit(ctx, write)
	if err != nil {
		return store.Result{}, ofWrite(s.failed(err, "commit %v", write.Key))
	}
	return result, nil
}

// tryCommit commits a write. Its errors say whether the write was applied only where that
// is certain here; ofWrite judges the others.
//
// The shard count is checked on both sides of the write. Before, since a write to a wrong
// shard would be found by no other node. After, since the connection may have been made
// anew, to a server that lost its data, for this very write. It may then be applied in a
// place where no other node looks, so it can't be acknowledged, and its outcome counts as
// unknown.
func (s *Store) tryCommit(ctx context.Context, write store.Write) (store.Result, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return store.Result{}, notApplied(err)
	}
	defer end()
	arguments, err := commitArguments(write)
	if err != nil {
		return store.Result{}, notApplied(err)
	}
	name := arguments[0]
	answer, err := s.scripts.commit.run(ctx, s.client, s.shards.of(name), arguments...).AsStrSlice()
	if err != nil {
		return store.Result{}, err
	}
	if err := s.checkShardCount(ctx, true); err != nil {
		return store.Result{}, fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return parseResult(write.Key, answer)
}

func notApplied(err error) error { return fmt.Errorf("%w: %w", store.ErrNotApplied, err) }

// parseResult reads the answer of commit.lua. A refusal means that nothing was changed:
// a sequence that is not greater than all before, a right that the user lacks, or
// a transcript whose record was lost. An answer of any other form has an unknown outcome,
// since no script of ours gives it.
func parseResult(key store.Key, answer []string) (store.Result, error) {
	switch {
	case len(answer) == 1 && answer[0] == "ok":
		return store.Result{Status: store.OK}, nil
	case len(answer) >= 4 && answer[0] == "conflict":
		current, err := decodeSnapshot(key, answer[1], answer[2], answer[3])
		if err != nil {
			return store.Result{}, notApplied(err)
		}
		return store.Result{Status: store.Conflict, Current: current, Duplicates: answer[4:]}, nil
	case len(answer) > 1 && answer[0] == "duplicate":
		return store.Result{Status: store.Duplicate, Duplicates: answer[1:]}, nil
	case len(answer) == 2 && answer[0] == "refused":
		return store.Result{}, notApplied(errors.New(answer[1]))
	}
	return store.Result{}, fmt.Errorf("the script answered %q", answer)
}

// commitArguments are what commit.lua takes, in its order. Lists come after their length,
// since a script gets its arguments as one list of strings. Numbers are decimal
// strings: the script compares some of them, and otherwise passes them on as they are.
//
// The schema, the phase and the need for attention follow from the record. They are
// arguments of their own because scripts never look into its JSON.
func commitArguments(write store.Write) ([]string, error) {
	if write.Op.IsZero() {
		return nil, errors.New("the write has no Op")
	}
	record, err := storejson.EncodeDocument(&write)
	if err != nil {
		return nil, err
	}
	arguments := []string{
		nameOf(write.Key), opText(write.Expect), opText(write.Op),
		strconv.Itoa(write.Record.Schema), string(write.Record.Shown()), oneOrEmpty(write.Record.NeedsAttention()),
		string(record), decimal(int64(write.Timer)), decimal(int64(write.At)),
	}
	for _, entries := range [][]store.Entry{write.Append, write.Change} {
		if arguments, err = appendEntries(arguments, entries); err != nil {
			return nil, err
		}
	}
	arguments = appendSettles(arguments, write.Settle)
	return appendMarks(arguments, write.Mark), nil
}

// opText is an Op as it is stored: its bytes, and nothing for the zero Op.
func opText(op store.Op) string {
	if op.IsZero() {
		return ""
	}
	return string(op[:])
}

// appendEntries adds entries to append or to change, two strings each: head and body.
func appendEntries(arguments []string, entries []store.Entry) ([]string, error) {
	arguments = append(arguments, strconv.Itoa(len(entries)))
	for _, e := range entries {
		head, body, err := encodeEntry(e)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, head, body)
	}
	return arguments, nil
}

// appendSettles adds settles, six strings each: after which sequence, the version that the
// messages must be greater than, the version that they may have at most, the status before
// and after, and the reply. A Reopen is a settle from failed to pending.
func appendSettles(arguments []string, settles []turn.Settle) []string {
	arguments = append(arguments, strconv.Itoa(len(settles)))
	for _, settle := range settles {
		from, to := turn.InputPending, settle.Status
		if settle.Reopen {
			from, to = turn.InputFailed, turn.InputPending
		}
		arguments = append(arguments,
			decimal(settle.AfterSeq), decimal(settle.From), decimal(settle.Through),
			string(from), string(to), decimal(settle.ReplySeq))
	}
	return arguments
}

// appendMarks adds marks of replies, three strings each.
func appendMarks(arguments []string, marks []turn.Mark) []string {
	arguments = append(arguments, strconv.Itoa(len(marks)))
	for _, mark := range marks {
		arguments = append(arguments, decimal(mark.Seq), string(mark.Status), mark.Reason)
	}
	return arguments
}

func oneOrEmpty(set bool) string {
	if set {
		return "1"
	}
	return ""
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
