package onereply_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// needs lists what needs attention, one line an item.
func needs(t *testing.T, app *onereply.App, q onereply.AttentionQuery) (lines []string, next string) {
	t.Helper()
	got, err := app.Attention(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range got.Items {
		if i.At.IsZero() || i.Since.IsZero() || i.Since.After(i.At.Time) || i.Bot != "bot" {
			t.Errorf("item = %+v", i)
		}
		lines = append(lines, fmt.Sprintf("%s %s/%d %q %v", i.Kind, i.Conversation, i.Turn, i.Reason, i.Actions))
	}
	return lines, got.Next
}

func wantNeeds(t *testing.T, app *onereply.App, want ...string) {
	t.Helper()
	if got, next := needs(t, app, onereply.AttentionQuery{}); !slices.Equal(got, want) || next != "" {
		t.Errorf("it needs attention:\n%s\nwant\n%s\nnext %q", strings.Join(got, "\n"), strings.Join(want, "\n"), next)
	}
}

// Each kind of trouble is listed with what helps, and is gone once it was
// helped.
func TestAttention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
			return onereply.Reply{}, &onereply.ResponderError{Kind: onereply.ResponderBadRequest, Err: errors.New("no such model")}
		})
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: onereply.Zero, Responder: broken}})
		defer w.close()
		wantNeeds(t, w.nodes[0])
		w.say(0, "m")
		rest(time.Minute)
		wantNeeds(t, w.nodes[0], `failed_turn c/1 "bad_request: no such model" [requeue]`)
	})
	unknown := giving(errors.New("connection lost"))
	for name, test := range map[string]struct {
		wrong []func(context.Context) error
		want  string
	}{
		"unknown": {[]func(context.Context) error{unknown}, `unknown_send c/1 "0 of 2 parts arrived" [resend mark_sent]`},
		"partial": {[]func(context.Context) error{delivered, giving(onereply.RefusedError(errors.New("too long")))}, `partial c/1 "too long; 1 of 2 parts arrived" [resend mark_sent]`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{wrong: test.wrong}
				w := newWorld(t, settings{bot: onereply.Bot{Debounce: onereply.Zero, Sender: r, Responder: parts("one", "two"), UnknownSend: onereply.UnknownHold}})
				defer w.close()
				w.say(0, "m")
				rest(time.Minute)
				wantNeeds(t, w.nodes[0], test.want)
				if _, err := w.nodes[0].MarkSent(t.Context(), "bot", "c", 1); err != nil {
					t.Fatal(err)
				}
				wantNeeds(t, w.nodes[0])
			})
		})
	}
	t.Run("undelivered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{wrong: []func(context.Context) error{giving(onereply.RefusedError(errors.New("no such chat")))}}
			w := newWorld(t, settings{bot: onereply.Bot{Sender: r}})
			defer w.close()
			if _, err := w.nodes[0].Answer(t.Context(), "bot", "c", onereply.HumanReply{Text: "hello"}); err != nil {
				t.Fatal(err)
			}
			rest(time.Minute)
			wantNeeds(t, w.nodes[0], `undelivered c/1 "no such chat" [resend mark_sent]`)
		})
	})
}

// What no node acts on is overdue two leases after it was due, no sooner, also
// where its timer is claimed all the time.
func TestAttentionToWhatIsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: time.Second, Lease: 10 * time.Second}})
		defer w.close()
		app := w.nodes[0]
		if err := app.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.say(0, "m")
		w.until(21 * time.Second)
		wantNeeds(t, app)
		for range 5 {
			time.Sleep(time.Second)
			claimed, err := w.store.Claim(t.Context(), turn.At(time.Now()), 10, 5*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			_ = claimed // it may be held already
			wantNeeds(t, app, `overdue c/1 "no node begins the turn" [flush]`)
		}
	})
}

// A reply that is about to be sent again can still be marked, and that is all.
func TestAttentionToWhatIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context) error { <-ctx.Done(); return onereply.NotDeliveredError(ctx.Err()) }
		r := &receiver{wrong: []func(context.Context) error{giving(errors.New("connection lost")), slow}}
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: onereply.Zero, Sender: r, UnknownSend: onereply.UnknownHold}})
		defer w.close()
		w.say(0, "m")
		rest(time.Minute)
		wantNeeds(t, w.nodes[0], `unknown_send c/1 "" [resend mark_sent]`)
		w.say(0, "n") // its send hangs for a while, and the other one waits behind it
		rest(time.Second)
		if _, err := w.nodes[0].Resend(t.Context(), "bot", "c", 1); err != nil {
			t.Fatal(err)
		}
		wantNeeds(t, w.nodes[0], `unknown_send c/1 "it is about to be sent again" [mark_sent]`)
		rest(time.Hour)
		wantNeeds(t, w.nodes[0])
	})
}

// Every phase can be overdue, and what this node can't help is told so.
func TestAttentionToEachPhaseThatIsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		due := turn.At(time.Now())
		base := turn.Record{Schema: turn.Schema, Version: 1, Pending: 1, Turn: 3, Seq: 1, Window: turn.Window{WaitingSince: due - 1000}}
		held, sending, away := base, base, base
		held.Phase, held.Lease = turn.Generating, turn.Lease{Holder: "node9", Nonce: "n", Token: 1, Expires: due}
		sending.Phase, sending.Reply = turn.Sending, &turn.Reply{Turn: 2, Seq: 1, Parts: 1, Since: due - 500, RetryAt: due}
		away.Phase, away.Window.Due = turn.Collecting, due
		for key, r := range map[store.Key]turn.Record{
			{Bot: "bot", Conversation: "held"}: held, {Bot: "bot", Conversation: "sending"}: sending, {Bot: "gone", Conversation: "away"}: away,
		} {
			wake, _ := r.Wake()
			if result, err := kept.Commit(t.Context(), store.Write{Key: key, Op: store.Op{15: 1}, Record: r, Timer: wake, At: due}); err != nil || result.Status != store.OK {
				t.Fatal(result, err)
			}
		}
		time.Sleep(61 * time.Second) // more than two leases
		asleep := &idle{Store: kept}
		app, err := onereply.Open(t.Context(), asleep, onereply.Options{}, onereply.Bot{Name: "bot", Responder: parts("x")})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		got, err := app.Attention(t.Context(), onereply.AttentionQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, i := range got.Items {
			lines = append(lines, fmt.Sprintf("%s/%s %d/%d %v %v %s %v", i.Bot, i.Conversation, i.Turn, i.Seq, due.Sub(turn.At(i.At.Time)), due.Sub(turn.At(i.Since.Time)), i.Reason, i.Actions))
		}
		slices.Sort(lines)
		want := []string{
			"bot/held 3/0 0s 1s the lease of node9 has expired, and no node took over []",
			"bot/sending 2/1 0s 500ms no node sends the reply [flush]",
			"gone/away 3/0 0s 1s no node begins the turn; this node has no such bot []",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("overdue:\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
		if one, err := app.Attention(t.Context(), onereply.AttentionQuery{Bot: "bot"}); err != nil || len(one.Items) != 2 {
			t.Errorf("of one bot: %+v, %v", one, err)
		}
	})
}

// A turn whose worker was lost is listed until it is over, with who was lost and who
// goes on. What happened is made by the core itself.
func TestAttentionToLostLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		start := turn.At(time.Now())
		policy := turn.Policy{MaxWait: time.Second, Lease: time.Second, MaxAttempts: 5, ResendUnknown: true}
		wake := func(n int) turn.Event {
			return turn.Wake{Holder: fmt.Sprint("node-", n), Nonce: fmt.Sprint("n", n), Lone: true, First: 1}
		}
		lose := func(conversation string, more ...turn.Event) {
			r, now := turn.Record{}, start
			for _, e := range append([]turn.Event{turn.Message{}, wake(1), wake(2), wake(3), wake(3)}, more...) {
				r, _ = turn.Step(r, e, now, policy)
				now = now.Add(2 * time.Second)
			}
			due, _ := r.Wake()
			write := store.Write{Key: store.Key{Bot: "bot", Conversation: conversation}, Op: store.Op{15: 1}, Record: r, Timer: due, At: now}
			if result, err := kept.Commit(t.Context(), write); err != nil || result.Status != store.OK {
				t.Fatal(result, err)
			}
		}
		lose("runs")
		lose("waits", turn.Pause{Reason: "Bob is on it"})
		lose("sends", turn.Generated{Nonce: "n3", Parts: 1}, wake(4), wake(5))
		lose("once", turn.Generated{Nonce: "n3", Parts: 1}, turn.Sent{Nonce: "n3"}, turn.Message{}, wake(4), wake(5))
		lose("over", turn.Generated{Nonce: "n3", Parts: 1}, turn.Sent{Nonce: "n3"})
		app, err := onereply.Open(t.Context(), &idle{Store: kept}, onereply.Options{}, onereply.Bot{Name: "bot", Responder: parts("x")})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		got, err := app.Attention(t.Context(), onereply.AttentionQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, i := range got.Items {
			lines = append(lines, fmt.Sprintf("%s %s %d/%d %v %v %s %v", i.Kind, i.Conversation, i.Turn, i.Seq, turn.At(i.At.Time).Sub(start), turn.At(i.Since.Time).Sub(start), i.Reason, i.Actions))
		}
		slices.Sort(lines)
		want := []string{
			"lease_lost once 2/0 18s 14s a worker on node-4 was lost while generating; node-5 goes on []",
			"lease_lost runs 1/0 6s 0s 2 workers were lost while generating, the last one on node-2; node-3 goes on []",
			"lease_lost sends 1/2 14s 10s 2 workers were lost while sending, the last one on node-4; node-5 goes on []",
			"lease_lost waits 1/0 6s 0s 2 workers were lost while generating, the last one on node-2; the turn waits []",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("it needs attention:\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
	})
}

// What was set aside stays on the list when later messages are answered, and a requeue
// has it answered too, once nothing else is under way. That workers were lost is made
// by the core itself.
func TestAttentionToWhatWasSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lose := func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			if is.Seq == 1 && is.Phase == turn.Generating { // the worker of the first message is lost at once
				is.Lease.Expires = now
				effects.Actions = nil
			}
			return is, effects
		}
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: onereply.Zero, Attempts: 1}, model: time.Second, step: lose})
		defer w.close()
		app := w.nodes[0]
		w.say(0, "m")
		rest(time.Minute)
		wantNeeds(t, app, `failed_turn c/1 "workers lost by attempts that ran alone: 1" [requeue]`)
		if got, err := app.Attention(t.Context(), onereply.AttentionQuery{}); err != nil || got.Items[0].Since.Sub(w.start) > time.Second {
			t.Errorf("it waits since %v, %v; the message came at %v", got.Items[0].Since, err, w.start)
		}
		if s := w.state(0); s.Phase != onereply.PhaseFailed || s.SetAside != 1 {
			t.Errorf("state = %+v", s)
		}
		w.say(0, "n")
		const aside = `set_aside c/1 "1 message was set aside: each worker that took it was lost" [requeue]`
		rest(time.Second / 2)
		wantNeeds(t, app, strings.Replace(aside, "[requeue]", "[]", 1))
		var refused *onereply.Error
		if _, err := app.Requeue(t.Context(), "bot", "c"); !errors.As(err, &refused) || refused.Code != onereply.CodeConflict {
			t.Errorf("Requeue while a turn is under way: %v", err)
		}
		rest(time.Minute)
		w.wantPhase(onereply.PhaseIdle)
		wantNeeds(t, app, aside)
		if s, err := app.Requeue(t.Context(), "bot", "c"); err != nil || s.SetAside != 0 || s.Pending != 1 {
			t.Errorf("Requeue: %+v, %v", s, err)
		}
		rest(time.Minute)
		wantNeeds(t, app)
		w.wantReplies("n", "m")
		if err := w.verdict(); err != nil {
			t.Error(err)
		}
	})
}

// idle is a store whose timers nobody can claim.
type idle struct{ store.Store }

func (*idle) Claim(context.Context, turn.Time, int, time.Duration, ...string) ([]store.Timer, error) {
	return nil, nil
}

func (i *idle) Guarantees() store.Guarantees { return store.Guarantees{Name: "idle"} }

// The list reads what it shows, however many conversations need nobody.
func TestAttentionReadsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &reading{Store: filled(t, memory.New(), 2000)}
		w := newWorld(t, settings{store: kept})
		defer w.close()
		kept.records.Store(0)
		wantNeeds(t, w.nodes[0])
		if got := kept.records.Load(); got != 0 {
			t.Errorf("%d records were listed", got)
		}
		if list, err := w.nodes[0].Conversations(t.Context(), onereply.ConversationQuery{Attention: true}); err != nil || len(list.Conversations) != 0 {
			t.Errorf("a list of them: %d, %v", len(list.Conversations), err)
		}
	})
}

// What is overdue is found behind the timers of other bots, and behind those that
// are just due.
func TestAttentionBehindOtherTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		plant := func(bot, conversation string, due, timer turn.Time) {
			r := turn.Record{Schema: turn.Schema, Phase: turn.Collecting, Version: 1, Pending: 1, Turn: 1, Seq: 1, Window: turn.Window{WaitingSince: due, Due: due}}
			write := store.Write{Key: store.Key{Bot: bot, Conversation: conversation}, Op: store.Op{15: 1}, Record: r, Timer: timer, At: 1}
			if result, err := kept.Commit(t.Context(), write); err != nil || result.Status != store.OK {
				t.Fatal(result, err)
			}
		}
		now := turn.At(time.Now())
		for i := range 600 {
			plant("gone", fmt.Sprint(i), 1, 1)
			plant("bot", fmt.Sprint(i), now-1000, now-1000)
		}
		plant("bot", "late", 1, now+4000) // claimed again and again
		app, err := onereply.Open(t.Context(), &idle{Store: kept}, onereply.Options{}, onereply.Bot{Name: "bot", Responder: parts("x")})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		for bot, want := range map[string]int{"bot": 1, "": 601} {
			got, err := app.Attention(t.Context(), onereply.AttentionQuery{Bot: bot, Limit: 1000})
			if err != nil || len(got.Items) != want || got.Items[0].Conversation != "late" {
				t.Errorf("of %q: %d items, %v, want %d with the late one first", bot, len(got.Items), err, want)
			}
		}
	})
}

// Pages are bounded, give each conversation once, and begin with what is
// overdue.
func TestAttentionByPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		for i := range 25 {
			failed := turn.Record{Schema: turn.Schema, Phase: turn.Failed, Version: 1, Pending: 1, Turn: 1, Seq: 1, Window: turn.Window{WaitingSince: 1}, Tries: turn.Tries{LastError: "x"}}
			late := turn.Record{Schema: turn.Schema, Phase: turn.Collecting, Version: 1, Pending: 1, Turn: 1, Seq: 1, Window: turn.Window{WaitingSince: 1, Due: 1}}
			for name, r := range map[string]turn.Record{"failed": failed, "late": late} {
				wake, _ := r.Wake()
				write := store.Write{Key: store.Key{Bot: "bot", Conversation: fmt.Sprintf("%s-%d", name, i)}, Op: store.Op{15: 1}, Record: r, Timer: wake, At: 1}
				if result, err := kept.Commit(t.Context(), write); err != nil || result.Status != store.OK {
					t.Fatal(result, err)
				}
			}
		}
		app, err := onereply.Open(t.Context(), &idle{Store: kept}, onereply.Options{}, onereply.Bot{Name: "bot", Responder: parts("x")})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		for _, limit := range []int{0, 10, 24, 25, 26} {
			var all []string
			for q := (onereply.AttentionQuery{Limit: limit}); ; {
				lines, next := needs(t, app, q)
				if limit > 0 && len(lines) > limit {
					t.Fatalf("%d items on a page of %d", len(lines), limit)
				}
				all = append(all, lines...)
				if q.Cursor = next; next == "" {
					break
				}
			}
			overdue := min(25, cmp.Or(limit, 25))
			if len(all) != 25+overdue || !strings.HasPrefix(all[0], "overdue") || !strings.HasPrefix(all[overdue], "failed_turn") {
				t.Errorf("limit %d: %d items", limit, len(all))
			}
			slices.Sort(all)
			if len(slices.Compact(all)) != 25+overdue {
				t.Errorf("limit %d: one is there twice", limit)
			}
		}
	})
}

func TestAttentionIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		defer w.close()
		for field, q := range map[string]onereply.AttentionQuery{
			"bot": {Bot: "other"}, "limit": {Limit: 1001}, "cursor": {Cursor: "x"},
		} {
			var got *onereply.Error
			if _, err := w.nodes[0].Attention(t.Context(), q); !errors.As(err, &got) || got.Field != field {
				t.Errorf("%+v: %v", q, err)
			}
		}
		var got *onereply.Error
		if _, err := w.nodes[0].Attention(t.Context(), onereply.AttentionQuery{Cursor: "-not one"}); !errors.As(err, &got) || got.Field != "cursor" {
			t.Errorf("a cursor that is none: %v", err)
		}
	})
}
