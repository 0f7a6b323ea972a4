package storetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/storetest"
	"github.com/onereply/onereply/turn"
)

// The suite is worth what it catches. Each fault below is a mistake that a
// store could make, put into store/memory; the test that is named beside it
// must fail. A suite that fails on purpose needs a process of its own, so
// TestFaults runs this binary again, with the fault in faultVariable.

const faultVariable = "ONEREPLY_STORETEST_FAULT"

var faults = []struct {
	name   string
	caught string // by this test
	put    func(*faulty)
}{
	{
		"no compare-and-swap", "Commit/a_write_that_expects_an_older_record_conflicts",
		beforeCommit(expectWhatIsThere),
	},
	{
		"a first write replaces", "Commit/a_first_write_conflicts_where_there_is_a_record",
		beforeCommit(func(f *faulty, w *store.Write) {
			if w.Expect.IsZero() {
				expectWhatIsThere(f, w)
			}
		}),
	},
	{
		"the version is the revision", "Commit/an_op_from_before_a_deletion_never_matches_again",
		func(f *faulty) {
			versions := make(map[store.Op]int64)
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				f.mu.Lock()
				defer f.mu.Unlock()
				there, err := f.Store.Load(ctx, w.Key)
				known, ok := versions[w.Expect]
				if err == nil && ok && there.Record.Exists() && known == there.Record.Version {
					w.Expect = there.Op
				}
				versions[w.Op] = w.Record.Version
				return f.Store.Commit(ctx, w)
			}
		},
	},
	{
		"a check before the write instead of with it", "Concurrency/of_two_writes_that_expect_the_same_record_one_is_applied",
		func(f *faulty) {
			meet := meetOnce()
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				there, err := f.Store.Load(ctx, w.Key)
				if err != nil || there.Op != w.Expect {
					return store.Result{Status: store.Conflict, Current: there}, err
				}
				meet()
				expectWhatIsThere(f, &w)
				w.Append = nil
				return f.Store.Commit(ctx, w)
			}
		},
	},
	{
		"a conflict holds nothing", "Conflict/a_conflict_holds_every_field_of_the_record",
		afterConflict(func(_ *faulty, w store.Write, r *store.Result) { r.Current = store.Snapshot{} }),
	},
	{
		"a conflict holds the record of the write before", "Conflict/a_conflict_holds_the_last_record_and_none_before",
		func(f *faulty) {
			last, before := make(map[store.Key]store.Snapshot), make(map[store.Key]store.Snapshot)
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				result, err := f.Store.Commit(ctx, w)
				f.mu.Lock()
				defer f.mu.Unlock()
				switch {
				case result.Status == store.OK:
					before[w.Key], last[w.Key] = last[w.Key], store.Snapshot{Record: w.Record, Op: w.Op}
				case result.Status == store.Conflict && !before[w.Key].Op.IsZero():
					result.Current = before[w.Key]
				}
				return result, err
			}
		},
	},
	{
		"a conflict holds the Op of one record with another", "Conflict/a_conflict_holds_the_last_record_and_none_before",
		afterConflict(func(f *faulty, w store.Write, r *store.Result) { r.Current.Record.Seq = 1 }),
	},
	{
		"a conflict holds the Op of the write", "Conflict/a_write_that_expects_what_a_conflict_met_is_applied",
		afterConflict(func(_ *faulty, w store.Write, r *store.Result) { r.Current.Op = w.Op }),
	},
	{
		"a conflict holds the record that was deleted", "Conflict/a_conflict_where_there_is_no_record_holds_none",
		afterConflict(func(_ *faulty, w store.Write, r *store.Result) {
			if r.Current.Op.IsZero() {
				r.Current.Op = w.Expect
			}
		}),
	},
	{
		"a conflict does not look at ids", "Conflict/a_conflict_holds_the_ids_that_are_claimed,_in_the_order_of_the_write",
		afterConflict(func(_ *faulty, _ store.Write, r *store.Result) { r.Duplicates = nil }),
	},
	{
		"a conflict hides that the record is newer", "Conflict/a_record_of_a_newer_schema_in_the_way_is_reported_as_such",
		func(f *faulty) {
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				result, err := f.Store.Commit(ctx, w)
				if errors.Is(err, store.ErrNewerSchema) {
					return store.Result{Status: store.Conflict}, nil
				}
				return result, err
			}
		},
	},
	{
		"a record in the way leaves the outcome open", "Conflict/a_record_of_a_newer_schema_in_the_way_is_reported_as_such",
		func(f *faulty) {
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				result, err := f.Store.Commit(ctx, w)
				if errors.Is(err, store.ErrNewerSchema) {
					err = store.ErrNewerSchema
				}
				return result, err
			}
		},
	},
	{
		"a conflict moves the timer", "Commit/a_conflict_leaves_nothing_behind",
		func(f *faulty) {
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				result, err := f.Store.Commit(ctx, w)
				if result.Status == store.Conflict {
					_, _ = f.Store.Claim(ctx, w.At, 1000, time.Hour)
				}
				return result, err
			}
		},
	},
	{
		"a duplicate keeps the rest of the write", "Commit/a_duplicate_leaves_nothing_behind",
		func(f *faulty) {
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				result, err := f.Store.Commit(ctx, w)
				if result.Status == store.Duplicate {
					w.Append = slices.DeleteFunc(slices.Clone(w.Append), func(e store.Entry) bool {
						return slices.Contains(result.Duplicates, e.ID)
					})
					_, err = f.Store.Commit(ctx, w)
				}
				return result, err
			}
		},
	},
	{
		"a write that is sent again is applied again", "Unknown/a_first_write_that_was_applied_and_not_answered_is_known_by_its_op",
		beforeCommit(func(f *faulty, w *store.Write) {
			if there, err := f.Store.Load(context.Background(), w.Key); err == nil && there.Op == w.Op {
				w.Expect, w.Append = there.Op, nil
			}
		}),
	},
	{
		"a duplicate leaves its op", "Unknown/a_duplicate_that_was_not_answered_leaves_the_op_that_was_there",
		func(f *faulty) {
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				result, err := f.Store.Commit(ctx, w)
				if result.Status == store.Duplicate {
					w.Append = nil
					_, err = f.Store.Commit(ctx, w)
				}
				return result, err
			}
		},
	},
	{
		"duplicates in their own order", "IDs/duplicates_are_reported_in_the_order_of_the_write",
		func(f *faulty) {
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				result, err := f.Store.Commit(ctx, w)
				slices.Sort(result.Duplicates)
				return result, err
			}
		},
	},
	{
		"ids of replies are claimed", "IDs/ids_of_replies_are_not_claimed",
		func(f *faulty) {
			replies := make(map[string]bool)
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				for _, e := range w.Append {
					if replies[e.ID] {
						return store.Result{Status: store.Duplicate, Duplicates: []string{e.ID}}, nil
					}
					replies[e.ID] = e.Kind == store.Reply
				}
				return f.Store.Commit(ctx, w)
			}
		},
	},
	{
		"ids differ by more than their case", "Names/every_id_is_kept_apart_from_every_other",
		beforeCommit(func(_ *faulty, w *store.Write) {
			w.Append = slices.Clone(w.Append)
			for i := range w.Append {
				w.Append[i].ID = strings.ToLower(w.Append[i].ID)
			}
		}),
	},
	{
		"keys are joined by a colon", "Names/names_that_share_a_separator_are_two_conversations",
		func(f *faulty) {
			join := func(k store.Key) store.Key {
				return store.Key{Bot: "all", Conversation: k.Bot + ":" + k.Conversation}
			}
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				w.Key = join(w.Key)
				return f.Store.Commit(ctx, w)
			}
			f.load = func(ctx context.Context, k store.Key) (store.Snapshot, error) {
				return f.Store.Load(ctx, join(k))
			}
		},
	},
	{
		"a field of the record is lost", "Values/every_field_of_a_record_and_its_log_comes_back",
		beforeCommit(func(_ *faulty, w *store.Write) { w.Record.Minute.Runs = 0 }),
	},
	{
		"a snapshot is shared", "Values/what_the_store_returned_is_the_caller's",
		func(f *faulty) {
			cache := make(map[store.Op]store.Snapshot)
			f.load = func(ctx context.Context, k store.Key) (store.Snapshot, error) {
				snapshot, err := f.Store.Load(ctx, k)
				if cached, ok := cache[snapshot.Op]; ok {
					return cached, err
				}
				cache[snapshot.Op] = snapshot
				return snapshot, err
			}
		},
	},
	{
		"a write never clears the timer", "Timers/a_write_moves,_keeps_and_clears_the_timer",
		func(f *faulty) {
			last := make(map[store.Key]turn.Time)
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				if w.Timer == 0 {
					w.Timer = last[w.Key]
				}
				last[w.Key] = w.Timer
				return f.Store.Commit(ctx, w)
			}
		},
	},
	{
		"a claim holds nothing", "Timers/a_claim_pushes_the_timer_by_hold_and_comes_back",
		func(f *faulty) {
			f.claim = func(ctx context.Context, now turn.Time, limit int, _ time.Duration, _ ...string) ([]store.Timer, error) {
				return f.Store.Due(ctx, now, limit)
			}
		},
	},
	{
		"a claim removes the timer", "Timers/a_claim_pushes_the_timer_by_hold_and_comes_back",
		func(f *faulty) {
			f.claim = func(ctx context.Context, now turn.Time, limit int, _ time.Duration, bots ...string) ([]store.Timer, error) {
				return f.Store.Claim(ctx, now, limit, 1e6*time.Hour, bots...)
			}
		},
	},
	{
		"a claim is two steps", "Concurrency/a_timer_that_many_claim_at_once_is_claimed_once",
		func(f *faulty) {
			meet := meetOnce()
			f.claim = func(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
				due, err := f.Store.Due(ctx, now, limit)
				if err != nil || len(due) == 0 {
					return nil, err
				}
				meet()
				_, err = f.Store.Claim(ctx, now, limit, hold, bots...)
				return due, err
			}
		},
	},
	{
		"a claim takes whatever is due", "Timers/a_claim_leaves_the_timers_of_other_bots_alone",
		func(f *faulty) {
			f.claim = func(ctx context.Context, now turn.Time, limit int, hold time.Duration, _ ...string) ([]store.Timer, error) {
				return f.Store.Claim(ctx, now, limit, hold)
			}
		},
	},
	{
		"a claim picks the wanted from the first that are due", "Timers/timers_of_other_bots_hide_nothing_from_a_claim",
		func(f *faulty) {
			f.claim = func(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
				due, err := f.Store.Due(ctx, now, limit)
				if err != nil || len(bots) == 0 || slices.ContainsFunc(due, func(t store.Timer) bool { return slices.Contains(bots, t.Key.Bot) }) {
					return f.Store.Claim(ctx, now, limit, hold, bots...)
				}
				return nil, err
			}
		},
	},
	{
		"a list of those that need attention takes only the phase as it is shown", "List/what_needs_attention_is_listed_in_any_phase",
		func(f *faulty) {
			f.list = func(ctx context.Context, query store.ListQuery) (store.Page, error) {
				if query.Attention {
					query.Attention, query.Phase = false, turn.Failed
				}
				return f.Store.List(ctx, query)
			}
		},
	},
	{
		"looking at timers moves them", "Timers/due_timers_come_by_time,_at_most_limit,_and_stay",
		func(f *faulty) {
			f.due = func(ctx context.Context, until turn.Time, limit int, bots ...string) ([]store.Timer, error) {
				return f.Store.Claim(ctx, until, limit, time.Minute)
			}
		},
	},
	{
		"settle includes From", "Settle/settle_takes_pending_messages_in_its_range",
		beforeCommit(func(_ *faulty, w *store.Write) {
			for i := range w.Settle {
				w.Settle[i].From--
			}
		}),
	},
	{
		"settle ignores the sequence", "Settle/settle_takes_pending_messages_in_its_range",
		beforeCommit(func(_ *faulty, w *store.Write) {
			for i := range w.Settle {
				w.Settle[i].AfterSeq = 0
			}
		}),
	},
	{
		"reopen settles", "Settle/reopen_turns_failed_messages_in_its_range_back_into_pending_ones",
		beforeCommit(func(_ *faulty, w *store.Write) {
			for i := range w.Settle {
				w.Settle[i].Reopen = false
			}
		}),
	},
	{
		"a reply's reason stays", "Settle/mark_sets_the_status_and_the_reason_of_a_reply",
		beforeCommit(func(_ *faulty, w *store.Write) {
			for i := range w.Mark {
				w.Mark[i].Reason = "some"
			}
		}),
	},
	{
		"settle before change", "Commit/append,_change,_settle_and_mark_are_applied_in_this_order",
		func(f *faulty) {
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				change, op := w.Change, w.Op
				w.Change, w.Op = nil, store.Op{1}
				result, err := f.Store.Commit(ctx, w)
				if err != nil || result.Status != store.OK {
					return result, err
				}
				w.Append, w.Settle, w.Mark, w.Change, w.Expect, w.Op = nil, nil, nil, change, w.Op, op
				return f.Store.Commit(ctx, w)
			}
		},
	},
	{
		"an id finds replies", "Entries/a_query_selects_by_sequence,_id_and_status",
		func(f *faulty) {
			f.query = func(ctx context.Context, k store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
				id := q.ID
				q.ID = ""
				entries, more, err := f.Store.Entries(ctx, k, q)
				return slices.DeleteFunc(entries, func(e store.Entry) bool { return id != "" && e.ID != id }), more, err
			}
		},
	},
	{
		"a page has any number of bytes", "Entries/a_page_ends_before_its_bytes_are_exceeded,_and_says_whether_more_follows",
		func(f *faulty) {
			f.query = func(ctx context.Context, k store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
				q.Bytes = 0
				return f.Store.Entries(ctx, k, q)
			}
		},
	},
	{
		"an entry that is larger than a page is never given", "Entries/a_page_ends_before_its_bytes_are_exceeded,_and_says_whether_more_follows",
		func(f *faulty) {
			f.query = func(ctx context.Context, k store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
				page, more, err := f.Store.Entries(ctx, k, q)
				if len(page) == 1 && q.Bytes > 0 && page[0].Bytes() > q.Bytes {
					return nil, true, err
				}
				return page, more, err
			}
		},
	},
	{
		"a full page says that more follows", "Entries/a_page_ends_before_its_bytes_are_exceeded,_and_says_whether_more_follows",
		func(f *faulty) {
			f.query = func(ctx context.Context, k store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
				page, more, err := f.Store.Entries(ctx, k, q)
				return page, more || len(page) == q.Limit, err
			}
		},
	},
	{
		"a page counts characters", "Entries/an_entry_counts_with_the_bytes_of_its_body_in_JSON",
		func(f *faulty) {
			f.query = func(ctx context.Context, k store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
				if q.Bytes > 0 {
					q.Bytes += 10
				}
				return f.Store.Entries(ctx, k, q)
			}
		},
	},
	{
		"a pause does not show", "List/the_phase_is_the_one_that_is_shown",
		func(f *faulty) {
			f.list = func(ctx context.Context, q store.ListQuery) (store.Page, error) {
				if q.Phase == turn.Paused {
					return store.Page{}, nil
				}
				return f.Store.List(ctx, q)
			}
		},
	},
	{
		"a cursor skips one", "List/pages_give_each_conversation_once,_in_order",
		func(f *faulty) {
			f.list = func(ctx context.Context, q store.ListQuery) (store.Page, error) {
				page, err := f.Store.List(ctx, q)
				if q.Cursor != "" && len(page.Items) > 0 {
					page.Items = page.Items[1:]
				}
				return page, err
			}
		},
	},
	{
		"a sweep sees only what has a timer", "Sweep/a_sweep_gives_each_conversation_once_with_its_timer",
		func(f *faulty) {
			f.sweep = func(ctx context.Context, cursor string, limit int) ([]store.Found, string, error) {
				found, next, err := f.Store.Sweep(ctx, cursor, limit)
				return slices.DeleteFunc(found, func(found store.Found) bool { return found.Timer == 0 }), next, err
			}
		},
	},
	{
		"a deletion leaves the ids", "Delete/a_conversation_that_was_deleted_begins_anew",
		func(f *faulty) {
			f.remove = func(ctx context.Context, k store.Key) error {
				there, err := f.Store.Load(ctx, k)
				if err != nil || !there.Record.Exists() {
					return err
				}
				_, err = f.Store.Commit(ctx, store.Write{Key: k, Expect: there.Op, Op: store.Op{2}, Record: there.Record})
				return err
			}
		},
	},
	{
		"pending messages expire", "Expire/pending_messages_and_replies_on_their_way_stay",
		func(f *faulty) {
			f.expire = func(ctx context.Context, entries, ids turn.Time, limit int) (int, error) {
				page, err := f.Store.List(ctx, store.ListQuery{})
				for _, item := range page.Items {
					if item.Active < entries {
						return 1, f.Store.Delete(ctx, item.Key)
					}
				}
				return 0, err
			}
		},
	},
	{
		"expiry knows no limit", "Expire/at_most_limit_are_removed_at_once",
		func(f *faulty) {
			f.expire = func(ctx context.Context, entries, ids turn.Time, limit int) (int, error) {
				return f.Store.Expire(ctx, entries, ids, 1000)
			}
		},
	},
	{
		"ids go with their entries", "Expire/ids_outlive_their_entries_until_they_are_old_too",
		func(f *faulty) {
			f.expire = func(ctx context.Context, entries, ids turn.Time, limit int) (int, error) {
				return f.Store.Expire(ctx, entries, entries, limit)
			}
		},
	},
	{
		"a newer record looks empty", "Schema/a_record_of_a_newer_schema_is_refused",
		func(f *faulty) {
			f.load = func(ctx context.Context, k store.Key) (store.Snapshot, error) {
				snapshot, _ := f.Store.Load(ctx, k)
				return snapshot, nil
			}
		},
	},
	{
		"contexts are ignored", "Ending/calls_with_a_context_that_ended_do_nothing_and_say_so",
		func(f *faulty) {
			f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
				return f.Store.Commit(context.WithoutCancel(ctx), w)
			}
		},
	},
	{
		"a restart loses the timers", "Ending/everything_is_there_after_a_restart",
		func(f *faulty) {
			restartable(commitUnlessClosed)(f)
			open := f.reopen
			f.reopen = func() {
				open()
				_, _ = f.Store.Claim(context.Background(), 1<<60, 1000, time.Hour)
			}
		},
	},
	{
		"a write while closing is answered and lost", "Ending/closing_while_others_write_loses_nothing_that_was_answered",
		func(f *faulty) {
			lost := 0
			restartable(func(f *faulty, closed bool, w store.Write) (store.Result, error) {
				if closed && lost == 0 {
					lost++
					return store.Result{Status: store.OK}, nil
				}
				return commitUnlessClosed(f, closed, w)
			})(f)
		},
	},
	{
		"the write is changed", "Values/the_store_leaves_the_write_as_it_was",
		beforeCommit(func(_ *faulty, w *store.Write) {
			for i := range w.Append {
				w.Append[i].Text = ""
			}
		}),
	},
	{
		"a closed store goes on", "Ending/a_closed_store_says_so",
		func(f *faulty) { f.close = func() error { return nil } },
	},
}

// noFault names a store that does all it should, a restart included.
const noFault = "none"

// TestRestart shows that the tests of a restart pass where nothing is wrong.
func TestRestart(t *testing.T) {
	for _, test := range []string{
		"everything_is_there_after_a_restart", "closing_while_others_write_loses_nothing_that_was_answered",
	} {
		if output, failed := runWith(t, noFault, "TestWithFault/Ending/"+test); failed || strings.Contains(output, "SKIP") {
			t.Errorf("%s:\n%s", test, output)
		}
	}
}

// TestFaults runs, for each fault, the test that must catch it, and expects it
// to fail.
func TestFaults(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			output, failed := runWith(t, fault.name, "TestWithFault/"+fault.caught)
			if !failed || !strings.Contains(output, "--- FAIL: TestWithFault/"+fault.caught) {
				t.Errorf("the fault lives; the test said:\n%s", output)
			}
		})
	}
}

// unseen are the faults that random calls, one at a time, don't meet: they are
// of things that Differential does not draw.
var unseen = []string{
	"a write that is sent again is applied again",
	"the version is the revision", "a check before the write instead of with it", "a claim is two steps",
	"a conflict hides that the record is newer", "a record in the way leaves the outcome open",
	"a field of the record is lost", "a snapshot is shared", "a newer record looks empty",
	"contexts are ignored", "a closed store goes on",
	"a restart loses the timers", "a write while closing is answered and lost",
}

// TestDifferentialFaults expects Differential to catch the faults too, and to
// print the calls that led to each.
func TestDifferentialFaults(t *testing.T) {
	for _, fault := range faults {
		if slices.Contains(unseen, fault.name) {
			continue
		}
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			output, failed := runWith(t, fault.name, "TestDifferentialWithFault")
			if !failed || !strings.Contains(output, "   1. ") {
				t.Errorf("the fault lives; the test said:\n%s", output)
			}
		})
	}
}

// runWith runs one test of this binary with a fault.
func runWith(t *testing.T, fault, test string) (output string, failed bool) {
	var patterns []string
	for part := range strings.SplitSeq(test, "/") {
		patterns = append(patterns, "^"+part+"$")
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run="+strings.Join(patterns, "/"))
	command.Env = append(os.Environ(), faultVariable+"="+fault)
	text, err := command.CombinedOutput()
	return string(text), err != nil
}

// TestWithFault is what TestFaults runs. By itself it skips.
func TestWithFault(t *testing.T) {
	put := faultToPut(t)
	options := storetest.Options{Open: func(*testing.T) store.Store { return newFaulty(put) }}
	if newFaulty(put).reopen != nil {
		options.Reopen = func(t *testing.T, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s.(*faulty).reopen()
			return s
		}
	}
	storetest.Run(t, options)
}

// TestDifferentialWithFault is what TestDifferentialFaults runs.
func TestDifferentialWithFault(t *testing.T) {
	put := faultToPut(t)
	open := func(*testing.T) store.Store { return newFaulty(put) }
	// One seed may miss a rare call; which one does changes with what is drawn.
	for seed := uint64(1); seed <= 20 && !t.Failed(); seed++ {
		storetest.Differential(t, open, storetest.Effort{Seed: seed})
	}
}

// faultToPut returns the fault that the environment names.
func faultToPut(t *testing.T) func(*faulty) {
	name := os.Getenv(faultVariable)
	if name == noFault {
		return restartable(commitUnlessClosed)
	}
	for _, fault := range faults {
		if fault.name == name {
			return fault.put
		}
	}
	t.Skip("no fault was asked for")
	return nil
}
