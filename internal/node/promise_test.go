package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// These tests follow whole turns through the runtime. A time is tested from below and
// from above: what comes too early is as wrong as what comes too late.

// withBot changes the lab's bot.
func withBot(change func(l *lab, b *Bot)) func(*lab, *Options) {
	return func(l *lab, o *Options) {
		b := o.Bots["bot"]
		change(l, &b)
		o.Bots["bot"] = b
	}
}

// times records when something happened, from the start of the lab.
type times struct {
	mu  sync.Mutex
	all []time.Duration
}

func (ts *times) note(l *lab) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.all = append(ts.all, time.Since(l.began))
}

func (ts *times) want(l *lab, want ...time.Duration) {
	l.t.Helper()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !slices.Equal(ts.all, want) {
		l.t.Errorf("at %v, want %v", ts.all, want)
	}
}

// More than a thousand messages that wait, and a burst longer than twice the history,
// leave the history whole.
func TestTheHistoryOfALongBurst(t *testing.T) {
	inLab(t, withBot(func(_ *lab, b *Bot) { b.Policy.MaxWait = time.Hour }), func(l *lab) {
		say := func(from, to int) {
			for i := from; i < to; i++ {
				l.say(fmt.Sprint("m", i))
			}
			l.after(5 * time.Second)
		}
		say(0, 2)
		say(2, 102)
		say(102, 1302)
		if len(l.attempts) != 3 {
			l.t.Fatalf("%d attempts", len(l.attempts))
		}
		second, third := l.attempts[1].Prompt, l.attempts[2].Prompt
		if len(second.Messages) != 100 || len(second.History) != 3 {
			l.t.Errorf("the second turn has %d messages and a history of %d", len(second.Messages), len(second.History))
		}
		if len(third.Messages) != 1200 || len(third.History) != 40 || third.History[0].ID != "m63" || third.History[39].Kind != store.Reply {
			l.t.Errorf("the third turn has %d messages and a history of %d: %q", len(third.Messages), len(third.History), ids(third.History))
		}
	})
}

// A send that certainly fails is tried again until RetryFor is over: the last try is
// the first one after that.
func TestRetryFor(t *testing.T) {
	for _, retryFor := range []time.Duration{0, 10 * time.Minute} {
		var sends times
		inLab(t, withBot(func(l *lab, b *Bot) {
			b.Policy.RetryFor = retryFor
			b.Send = func(context.Context, engine.Send) engine.SendResult {
				sends.note(l)
				return engine.SendResult{Err: "503", Certain: true}
			}
		}), func(l *lab) {
			l.say("m")
			l.after(20 * time.Minute)
			const committed = time.Second
			last := sends.all[len(sends.all)-1] - committed
			if last < retryFor || len(sends.all) > 1 && sends.all[len(sends.all)-2]-committed >= retryFor {
				l.t.Errorf("sends for %v: %v", retryFor, sends.all)
			}
			if retryFor > 0 && len(sends.all) < 5 {
				l.t.Errorf("only %d tries in %v", len(sends.all), retryFor)
			}
			if r := l.record(); r.Phase != turn.Failed {
				l.t.Errorf("it is %s", r.Phase)
			}
		})
	}
}

// A receiver that asks for a pause gets it, and the model likewise.
func TestPausesThatAreAskedFor(t *testing.T) {
	var sends, attempts times
	inLab(t, withBot(func(l *lab, b *Bot) {
		b.Respond = func(context.Context, *Attempt) engine.Response {
			if attempts.note(l); len(attempts.all) == 1 {
				return engine.Response{Fault: turn.Outage, Reason: "429", After: 40 * time.Second}
			}
			return engine.Response{Text: "reply"}
		}
		b.Send = func(context.Context, engine.Send) engine.SendResult {
			if sends.note(l); len(sends.all) == 1 {
				return engine.SendResult{Err: "429", Certain: true, After: 50 * time.Second}
			}
			return engine.SendResult{}
		}
	}), func(l *lab) {
		l.say("m")
		l.after(5 * time.Minute)
		l.wantReplies("reply: m (sent)")
		for name, all := range map[string][]time.Duration{"40s": attempts.all, "50s": sends.all} {
			pause, _ := time.ParseDuration(name)
			if len(all) != 2 || all[1]-all[0] < pause || all[1]-all[0] > 2*pause {
				l.t.Errorf("a pause of %s: at %v", name, all)
			}
		}
	})
}

// The quiet time ends when it should, however a person types; so does the hard cap.
func TestTheEndOfTheWindow(t *testing.T) {
	typing := func(l *lab, d time.Duration) { l.submit(engine.Request{Op: engine.Typing, For: d}) }
	for name, test := range map[string]struct {
		do   func(l *lab)
		want time.Duration
	}{
		"one message":             {func(l *lab) { l.say("m1") }, time.Second},
		"another, just in time":   {func(l *lab) { l.say("m1"); l.until(999 * time.Millisecond); l.say("m2") }, 1999 * time.Millisecond},
		"typing":                  {func(l *lab) { l.say("m1"); l.until(500 * time.Millisecond); typing(l, 5*time.Second) }, 5500 * time.Millisecond},
		"typing for one debounce": {func(l *lab) { l.say("m1"); l.until(500 * time.Millisecond); typing(l, 0) }, 1500 * time.Millisecond},
		"typing beyond the cap":   {func(l *lab) { l.say("m1"); l.until(500 * time.Millisecond); typing(l, time.Minute) }, 10 * time.Second},
		"endless messages": {func(l *lab) {
			for i := range 11 {
				l.until(time.Duration(i) * 900 * time.Millisecond)
				l.say(fmt.Sprint("m", i))
			}
		}, 10 * time.Second},
		"flush": {func(l *lab) {
			l.say("m1")
			l.until(300 * time.Millisecond)
			l.submit(engine.Request{Op: engine.Flush})
		}, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			var attempts times
			inLab(t, withBot(func(l *lab, b *Bot) {
				b.Respond = func(context.Context, *Attempt) engine.Response {
					attempts.note(l)
					return engine.Response{Text: "reply"}
				}
			}), func(l *lab) {
				test.do(l)
				l.until(11 * time.Second)
				attempts.want(l, test.want)
			})
		})
	}
}

// After a discard the hard cap still counts from the first message, and leaves two
// quiet times, for a person who goes on typing.
func TestTheCapAfterADiscard(t *testing.T) {
	var attempts times
	inLab(t, withBot(func(l *lab, b *Bot) {
		b.Policy.MaxWait = 4 * time.Second
		slow := l.slowResponder(20 * time.Second)
		b.Respond = func(ctx context.Context, a *Attempt) engine.Response {
			attempts.note(l)
			return slow(ctx, a)
		}
	}), func(l *lab) {
		l.say("m")
		for at := 3 * time.Second; at < 7*time.Second; at += 900 * time.Millisecond {
			l.until(at)
			l.say(fmt.Sprint(at))
		}
		l.until(8 * time.Second)
		attempts.want(l, time.Second, 5*time.Second, 7600*time.Millisecond)
	})
}

// After a hand-back another node begins at once; where a person types on, two quiet times
// later, since the hard cap is over.
func TestTheCapAfterAHandBack(t *testing.T) {
	for _, types := range []bool{false, true} {
		var attempts times
		inLab(t, withBot(func(l *lab, b *Bot) {
			b.Policy.MaxWait = 4 * time.Second
			b.Respond = l.slowResponder(20 * time.Second)
		}), func(l *lab) {
			l.say("m")
			l.until(8 * time.Second)
			other, _ := l.other(l.node.options, func(o *Options) {
				o.Bots = map[string]Bot{"bot": o.Bots["bot"]}
				withBot(func(_ *lab, b *Bot) {
					b.Respond = func(context.Context, *Attempt) engine.Response {
						attempts.note(l)
						return engine.Response{Text: "reply"}
					}
				})(l, o)
			})
			defer other.Wait()
			defer other.Stop()
			l.until(10 * time.Second)
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = l.node.Drain(ended)
			from, to := 10*time.Second, 10*time.Second+600*time.Millisecond // found by a claim
			if types {
				for at := 10*time.Second + 50*time.Millisecond; at < 12*time.Second; at += 150 * time.Millisecond {
					l.until(at)
					r := engine.Request{Key: key, Op: engine.Receive, ID: fmt.Sprint(at), Body: store.Body{Text: "x"}}
					if _, err := other.Submit(l.t.Context(), &r); err != nil {
						l.t.Error(err)
					}
				}
				from, to = 12*time.Second, 12*time.Second+100*time.Millisecond
			}
			l.until(15 * time.Second)
			if len(attempts.all) != 1 || attempts.all[0] < from || attempts.all[0] > to {
				l.t.Errorf("typing %v: at %v, want %v to %v", types, attempts.all, from, to)
			}
		})
	}
}

// An outage is waited out: no attempt is used up, each wait is longer, and what comes
// meanwhile does not end it.
func TestAnOutage(t *testing.T) {
	var attempts times
	inLab(t, withBot(func(l *lab, b *Bot) {
		b.Respond = func(context.Context, *Attempt) engine.Response {
			if attempts.note(l); len(attempts.all) < 6 {
				return engine.Response{Fault: turn.Outage, Reason: "no connection"}
			}
			return engine.Response{Text: "reply"}
		}
	}), func(l *lab) {
		l.say("m1")
		l.after(2 * time.Second)
		l.say("m2")
		l.after(10 * time.Minute)
		l.wantReplies("reply: m1 m2 (sent)")
		for i := 1; i < len(attempts.all); i++ {
			wait := attempts.all[i] - attempts.all[i-1]
			if wait < 500*time.Millisecond || wait > 2*time.Minute || i > 2 && wait <= attempts.all[1]-attempts.all[0] {
				l.t.Errorf("wait %d is %v: %v", i, wait, attempts.all)
			}
		}
		if len(attempts.all) != 6 {
			l.t.Errorf("%d attempts", len(attempts.all))
		}
	})
}

// What a person writes covers what waits, and not what a reply that is on its way
// answers.
func TestWhatAHumansReplyCovers(t *testing.T) {
	inLab(t, withBot(func(l *lab, b *Bot) {
		b.Send = l.sending(func(context.Context, engine.Send) engine.SendResult {
			pass(5 * time.Second)
			return engine.SendResult{}
		})
	}), func(l *lab) {
		l.say("m1")
		l.until(2 * time.Second) // its reply is on its way
		l.say("m2")
		l.say("m3")
		l.submit(engine.Request{Op: engine.Retract, ID: "m3"})
		l.submit(engine.Request{Op: engine.HumanReply, Body: store.Body{Text: "human"}})
		l.say("m4")
		l.after(time.Minute)
		l.wantReplies("reply: m1 (sent)", "human: m2 (sent)", "reply: m4 (sent)")
	})
}

// The rule for unknown sends is the one that holds when the send ends, not the one
// under which the reply was committed.
func TestSettingsThatChangeBetweenCommitAndSend(t *testing.T) {
	for _, resends := range []bool{true, false} {
		inLab(t, withBot(func(l *lab, b *Bot) {
			b.Policy.ResendUnknown = !resends
			b.Send = l.sending(func(context.Context, engine.Send) engine.SendResult {
				if pass(5 * time.Second); len(l.sends) == 1 {
					return engine.SendResult{Err: "time-out"}
				}
				return engine.SendResult{}
			})
		}), func(l *lab) {
			l.say("m")
			l.until(2 * time.Second)
			_, err := l.node.ChangePolicy(l.t.Context(), "bot", func(p turn.Policy) turn.Policy {
				p.ResendUnknown = resends
				return p
			})
			if err != nil {
				l.t.Error(err)
			}
			l.after(5 * time.Minute)
			want := map[bool]string{true: "reply: m (sent)", false: "reply: m (unknown)"}[resends]
			l.wantReplies(want)
			if sends := map[bool]int{true: 2, false: 1}[resends]; len(l.sends) != sends {
				l.t.Errorf("%d sends, want %d", len(l.sends), sends)
			}
		})
	}
}

// A lease that becomes shorter while its holder works is renewed in time.
func TestALeaseThatBecomesShorter(t *testing.T) {
	inLab(t, withBot(func(l *lab, b *Bot) { b.Respond = l.slowResponder(100 * time.Second); b.Timeout = 2 * time.Minute }), func(l *lab) {
		l.say("m")
		l.until(2 * time.Second)
		_, _ = l.node.ChangePolicy(l.t.Context(), "bot", func(p turn.Policy) turn.Policy {
			p.Lease = 2 * time.Second
			return p
		})
		l.after(3 * time.Minute)
		l.wantReplies("reply: m (sent)")
		if lost := l.eventsOf(turn.KindLeaseLost); len(l.attempts) != 1 || len(lost) != 0 {
			l.t.Errorf("%d attempts, %d leases lost", len(l.attempts), len(lost))
		}
	})
}

// Workers that are lost while they send are counted for each part: a reply of two parts
// may lose two with each, where three with one would be too many.
func TestLostWorkersAreCountedForEachPart(t *testing.T) {
	for lost, status := range map[int]string{2: "sent", 3: "unknown"} {
		crashes := map[int]int{} // by part
		// sender loses its worker: its store is away until another node has taken over.
		sender := func(l *lab, s func() *faultStore) func(context.Context, engine.Send) engine.SendResult {
			return func(_ context.Context, o engine.Send) engine.SendResult {
				if crashes[o.Reply.Done] == lost {
					return engine.SendResult{}
				}
				crashes[o.Reply.Done]++
				own := s()
				set(own, &own.commit, func(context.Context, store.Write) (store.Result, error) {
					return store.Result{}, fmt.Errorf("%w: %w", store.ErrNotApplied, errAway)
				})
				set(own, &own.claim, func(context.Context, turn.Time, int, time.Duration, []string) ([]store.Timer, error) {
					return nil, errAway
				})
				pass(4 * time.Second)
				set(own, &own.commit, nil)
				set(own, &own.claim, nil)
				return engine.SendResult{Err: "cut"}
			}
		}
		inLab(t, withBot(func(l *lab, b *Bot) {
			b.Split = func(text string) []string { return []string{text, "more"} }
			b.Policy.ResendUnknown, b.Policy.Lease, b.Policy.MaxAttempts = true, 2*time.Second, 3
			b.Send = sender(l, func() *faultStore { return l.store })
		}), func(l *lab) {
			var s *faultStore
			other, s := l.other(l.node.options, func(o *Options) {
				o.Bots = map[string]Bot{"bot": o.Bots["bot"]}
				withBot(func(l *lab, b *Bot) { b.Send = sender(l, func() *faultStore { return s }) })(l, o)
			})
			defer other.Wait()
			defer other.Stop()
			l.say("m")
			l.after(2 * time.Minute)
			l.wantReplies(fmt.Sprintf("reply: m (%s)", status))
			if status == "sent" && (crashes[0] != 2 || crashes[1] != 2) || status == "unknown" && crashes[0] != 3 {
				l.t.Errorf("lost %v", crashes)
			}
		})
	}
}

// Three bots share a node's attempts: one that has much to do leaves each other one its
// share, and takes what they do not use.
func TestThreeBotsShareANode(t *testing.T) {
	var mu sync.Mutex
	running, most := map[string]int{}, map[string]int{}
	waits := map[string][]time.Duration{}
	inLab(t, func(l *lab, o *Options) {
		o.MaxGenerations = 6 // each bot is sure of one
		o.Bots = map[string]Bot{}
		for _, name := range []string{"busy", "calm", "rare"} {
			b := l.bot()
			b.Respond = func(ctx context.Context, a *Attempt) engine.Response {
				mu.Lock()
				running[name]++
				running["all"]++
				most[name], most["all"] = max(most[name], running[name]), max(most["all"], running["all"])
				waits[name] = append(waits[name], l.node.clock.Now().Sub(a.Prompt.Messages[0].At)-time.Second)
				mu.Unlock()
				pass(10 * time.Second)
				mu.Lock()
				defer mu.Unlock()
				running[name]--
				running["all"]--
				return engine.Response{Text: "reply"}
			}
			o.Bots[name] = b
		}
	}, func(l *lab) {
		say := func(bot string, count, from int) {
			for i := range count {
				r := engine.Request{Key: store.Key{Bot: bot, Conversation: fmt.Sprint(from + i)}, Op: engine.Receive, ID: "m", Body: store.Body{Text: "x"}}
				if _, err := l.node.Submit(l.t.Context(), &r); err != nil {
					l.t.Error(err)
				}
			}
		}
		say("busy", 60, 0)
		l.after(15 * time.Second)
		for i := range 8 {
			say("calm", 1, i)
			if i%4 == 0 {
				say("rare", 1, i)
			}
			l.after(12 * time.Second)
		}
		l.after(10 * time.Minute)
		if most["all"] != 6 || most["busy"] != 4 || most["calm"] > 2 || most["rare"] != 1 {
			l.t.Errorf("at once: %v", most)
		}
		for name, count := range map[string]int{"busy": 60, "calm": 8, "rare": 2} {
			if len(waits[name]) != count {
				l.t.Errorf("%s began %d attempts", name, len(waits[name]))
			}
		}
		for _, name := range []string{"calm", "rare"} {
			if slowest := slices.Max(waits[name]); slowest > 0 {
				l.t.Errorf("%s waited %v behind the busy one", name, slowest)
			}
		}
	})
}

// A write whose outcome is unknown, and whose record then can't be read several times
// in a row, is settled once it can: the message counts once, and so does what a person
// wrote.
func TestAnOutcomeThatStaysUnknown(t *testing.T) {
	for _, applied := range []bool{true, false} {
		for _, human := range []bool{true, false} {
			inLab(t, nil, func(l *lab) {
				l.say("m1")
				set(l.store, &l.store.commit, func(ctx context.Context, w store.Write) (store.Result, error) {
					set(l.store, &l.store.commit, nil)
					if applied {
						_, _ = l.store.Store.Commit(ctx, w)
					}
					return store.Result{}, store.ErrUnknown
				})
				failures := 5
				set(l.store, &l.store.load, func(ctx context.Context, key store.Key) (store.Snapshot, error) {
					if failures--; failures >= 0 {
						return store.Snapshot{}, errAway
					}
					return l.store.Store.Load(ctx, key)
				})
				r := engine.Request{Key: key, Op: engine.Receive, ID: "m2", Body: store.Body{Text: "x"}}
				if human {
					failures = 0
					r.Op, r.ID = engine.HumanReply, ""
					commit := get(l.store, &l.store.commit)
					set(l.store, &l.store.commit, func(ctx context.Context, w store.Write) (store.Result, error) {
						failures = 5
						return commit(ctx, w)
					})
				}
				_, err := l.node.Submit(l.t.Context(), &r)
				if want := map[bool]error{true: engine.ErrOutcomeUnknown, false: engine.ErrUnavailable}[human]; !errors.Is(err, want) {
					l.t.Errorf("applied %v, human %v: %v", applied, human, err)
				}
				if !human {
					l.after(2 * time.Second) // the sender tries again
					for range 3 {
						again := r
						got, err := l.node.Submit(l.t.Context(), &again)
						if err == nil {
							if got.Duplicate != applied || got.Version != 2 {
								l.t.Errorf("applied %v: again %+v", applied, got)
							}
							break
						}
						l.after(2 * time.Second)
					}
				}
				set(l.store, &l.store.load, nil)
				l.after(time.Minute)
				entries, _, _ := l.store.Store.Entries(l.t.Context(), key, store.EntryQuery{})
				count := map[string]int{}
				for _, e := range entries {
					count[e.Text]++
				}
				if want := map[bool]int{true: 1}[applied || !human]; count["x"] != want {
					l.t.Errorf("applied %v, human %v: it is there %d times, want %d", applied, human, count["x"], want)
				}
			})
		}
	}
}
