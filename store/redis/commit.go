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

// Commit implements [store.Store]. It is one script and one round trip.
func (s *Store) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	result, err := s.tryCommit(ctx, write)
	if err != nil {
		return store.Result{}, ofWrite(s.failed(err, "commit %v", write.Key))
	}
	return result, nil
}

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

// commitArguments are what commit.lua takes, in its order.
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

func appendEntries(arguments []string, entries []store.Entry) ([]string, error) {
	arguments = append(arguments, strconv.Itoa(len(entries)))
	for _, e := range entries {
		text, err := encodeEntry(e)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, text)
	}
	return arguments, nil
}

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
