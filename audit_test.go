package onereply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
)

// counting counts the writes that a store takes.
type counting struct {
	store.Store
	commits atomic.Int64
}

func (c *counting) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	result, err := c.Store.Commit(ctx, w)
	if err == nil && result.Status == store.OK {
		c.commits.Add(1)
	}
	return result, err
}

// by is somebody who acts.
func by(t *testing.T, label string) context.Context {
	return onereply.WithActor(t.Context(), onereply.Actor{By: label, From: "192.0.2.7"})
}

// audited lists what a node tells was done, newest first.
func audited(t *testing.T, app *onereply.App, q onereply.AuditQuery) string {
	t.Helper()
	entries, err := app.Audit(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		if e.Bot != "bot" || e.From != "192.0.2.7" || e.At.IsZero() {
			t.Errorf("entry = %+v", e)
		}
		lines[i] = strings.TrimSuffix(fmt.Sprintf("%s by %s of %s: %s", e.Action, e.By, e.Conversation, e.Reason), ": ")
	}
	return strings.Join(lines, "\n")
}

// What changes a conversation is noted in the same write: every node tells it,
// and it costs no other.
func TestAuditIsWrittenWithTheAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &counting{Store: memory.New()}
		w := newWorld(t, settings{nodes: 2, store: kept, bot: onereply.Bot{Debounce: time.Minute, MaxWait: time.Minute}})
		defer w.close()
		w.say(0, "m")
		act := func(name string, f func() error) {
			t.Helper()
			before := kept.commits.Load()
			if err := f(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := kept.commits.Load() - before; got != 1 {
				t.Errorf("%s took %d writes", name, got)
			}
			time.Sleep(time.Second)
		}
		one, two := w.nodes[0], w.nodes[1]
		act("pause", func() error {
			_, err := one.Pause(by(t, "a1"), "bot", "c", onereply.Pause{Reason: "lunch"})
			return err
		})
		act("resume", func() error { _, err := two.Resume(by(t, "b2"), "bot", "c", true); return err })
		act("unnoted pause", func() error {
			_, err := one.Pause(t.Context(), "bot", "c", onereply.Pause{Reason: "unnoted"})
			return err
		})
		if _, err := one.Answer(by(t, "a1"), "bot", "c", onereply.HumanReply{Text: "hello"}); err != nil { // it is sent at once, which is another write
			t.Fatal(err)
		}
		const want = "reply by a1 of c\nresume by b2 of c\npause by a1 of c: lunch"
		for i, node := range w.nodes {
			if got := audited(t, node, onereply.AuditQuery{Bot: "bot", Conversation: "c"}); got != want {
				t.Errorf("node %d tells\n%s\nwant\n%s", i, got, want)
			}
			if got := audited(t, node, onereply.AuditQuery{}); got != want {
				t.Errorf("of all, node %d tells\n%s\nwant\n%s", i, got, want)
			}
		}
		if got := audited(t, one, onereply.AuditQuery{Limit: 1}); got != "reply by a1 of c" {
			t.Errorf("of the last one: %s", got)
		}
	})
}

// What changes nothing is remembered by its node only, and so is a deletion,
// with which goes what was done before.
func TestAuditOfWhatIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &counting{Store: memory.New()}
		w := newWorld(t, settings{nodes: 2, store: kept})
		defer w.close()
		one, two := w.nodes[0], w.nodes[1]
		if _, err := one.Flush(by(t, "a1"), "bot", "other"); err != nil {
			t.Fatal(err)
		}
		if got := kept.commits.Load(); got != 0 {
			t.Errorf("%d writes of a flush of nothing", got)
		}
		time.Sleep(time.Second)
		if _, err := one.Pause(by(t, "a1"), "bot", "c", onereply.Pause{Reason: "lunch"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := one.Forget(by(t, "a1"), "bot", "c"); err != nil {
			t.Fatal(err)
		}
		if got, want := audited(t, one, onereply.AuditQuery{}), "delete by a1 of c\nflush by a1 of other"; got != want {
			t.Errorf("its node tells\n%s\nwant\n%s", got, want)
		}
		if got := audited(t, one, onereply.AuditQuery{Bot: "bot", Conversation: "c"}); got != "delete by a1 of c" {
			t.Errorf("of the deleted one: %s", got)
		}
		if _, err := one.Resend(by(t, "a1"), "bot", "c", 1); err == nil {
			t.Error("what was not sent is sent again")
		}
		if got, want := audited(t, one, onereply.AuditQuery{}), "delete by a1 of c\nflush by a1 of other"; got != want {
			t.Errorf("after what was refused it tells\n%s\nwant\n%s", got, want)
		}
		if got := audited(t, two, onereply.AuditQuery{}); got != "" {
			t.Errorf("another node tells %s", got)
		}
		var missing *onereply.Error
		if _, err := two.Audit(t.Context(), onereply.AuditQuery{Bot: "bot", Conversation: "c"}); !errors.As(err, &missing) || missing.Code != onereply.CodeNotFound {
			t.Errorf("of the deleted one, another node says %v", err)
		}
	})
}

func TestAuditIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		defer w.close()
		app := w.nodes[0]
		for i := range 1100 {
			if _, err := app.Flush(by(t, "a1"), "bot", fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := app.Audit(t.Context(), onereply.AuditQuery{Limit: 1000})
		if err != nil || len(entries) != 1000 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		var gone *onereply.Error
		if _, err := app.Audit(t.Context(), onereply.AuditQuery{Bot: "bot", Conversation: "99"}); !errors.As(err, &gone) || gone.Code != onereply.CodeNotFound {
			t.Errorf("the oldest is still there: %v", err)
		}
		if last := audited(t, app, onereply.AuditQuery{Bot: "bot", Conversation: "100"}); last != "flush by a1 of 100" {
			t.Errorf("of the oldest that is kept: %s", last)
		}
		if entries, err = app.Audit(t.Context(), onereply.AuditQuery{}); err != nil || len(entries) != 100 {
			t.Errorf("%d entries by default, %v", len(entries), err)
		}
	})
}

func TestAuditQueriesAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		defer w.close()
		for field, q := range map[string]onereply.AuditQuery{
			"bot": {Bot: "other"}, "limit": {Limit: 1001}, "conversation": {Bot: "bot", Conversation: "\xff"},
		} {
			var got *onereply.Error
			if _, err := w.nodes[0].Audit(t.Context(), q); !errors.As(err, &got) || got.Field != field {
				t.Errorf("%+v: %v", q, err)
			}
		}
	})
}
