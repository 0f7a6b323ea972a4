package onereply_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// A message that arrives in the same instant as due, the end of the
// generation or the end of sending, one millisecond before or after, from any
// node and in any mode, is answered exactly once.
func TestMessagesAimedAtInstants(t *testing.T) {
	const debounce, model = 2 * time.Second, 3 * time.Second
	instants := map[string]time.Duration{"due": debounce, "commit": debounce + model}
	for name, at := range instants {
		for _, offset := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
			for _, mode := range []onereply.Mode{onereply.ModeInterrupt, onereply.ModeDiscard, onereply.ModeFinish} {
				for _, from := range []int{0, 1} {
					t.Run(fmt.Sprintf("%s%+d %s node%d", name, offset/time.Millisecond, mode, from+1), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							w := newWorld(t, settings{nodes: 2, model: model, bot: onereply.Bot{Debounce: debounce, OnNewInput: mode}})
							defer w.close()
							w.say(0, "m1")
							w.until(at + offset)
							w.say(from, "m2")
							time.Sleep(2 * time.Minute)
							if err := w.verdict(); err != nil {
								t.Error(err)
							}
						})
					})
				}
			}
		}
	}
}

// aimed is a store that lets another node's message in just before, or just
// after, the first write that matches.
type aimed struct {
	store.Store
	matches func(before, after turn.Record) bool
	after   bool
	fire    func()
	done    bool
}

func (a *aimed) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	before, err := a.Store.Load(ctx, w.Key)
	if err != nil {
		return store.Result{}, err
	}
	hit := !a.done && a.matches(before.Record, w.Record)
	if hit {
		a.done = true
		if !a.after {
			a.fire()
		}
	}
	result, err := a.Store.Commit(ctx, w)
	if hit && a.after {
		a.fire()
	}
	return result, err
}

// The same, aimed at the writes themselves: the other node's message is
// durable between the moment at which this node decided and its write, or
// right behind that write and before this node learns of it.
func TestMessagesAimedAtWrites(t *testing.T) {
	writes := map[string]func(before, after turn.Record) bool{
		"acquire": func(b, a turn.Record) bool { return b.Phase == turn.Collecting && a.Phase == turn.Generating },
		"commit":  func(b, a turn.Record) bool { return b.Phase == turn.Generating && a.Phase == turn.Sending },
		"rest":    func(b, a turn.Record) bool { return b.Phase == turn.Sending && a.Phase == turn.Idle },
		"discard": func(b, a turn.Record) bool { return a.Tries.Discards > b.Tries.Discards },
		"arrival": func(b, a turn.Record) bool { return a.Version > b.Version },
		"renew":   func(b, a turn.Record) bool { return a.Lease.Expires > b.Lease.Expires && a.Token == b.Token },
	}
	for name, matches := range writes {
		for _, after := range []bool{false, true} {
			for _, mode := range []onereply.Mode{onereply.ModeInterrupt, onereply.ModeDiscard, onereply.ModeFinish} {
				t.Run(fmt.Sprintf("%s after=%v %s", name, after, mode), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						shared := memory.New()
						a := &aimed{Store: shared, matches: matches, after: after}
						bot := onereply.Bot{Debounce: 2 * time.Second, OnNewInput: mode, Lease: 6 * time.Second}
						w := newWorld(t, settings{model: 5 * time.Second, bot: bot, store: a})
						defer w.close()
						other := newWorld(t, settings{model: 5 * time.Second, bot: bot, store: shared})
						defer other.close()
						other.nodes[0].Drain(t.Context()) // it accepts, and takes no turns
						w.nodes = append(w.nodes, other.nodes[0])
						a.fire = func() { w.say(1, "aimed") }
						w.say(0, "m1")
						if name == "discard" {
							w.until(4 * time.Second)
							w.say(0, "m2")
						}
						time.Sleep(2 * time.Minute)
						if err := w.verdict(); err != nil {
							t.Error(err)
						}
						if name != "discard" && !a.done || name == "discard" && mode != onereply.ModeFinish && !a.done {
							t.Error("the write that was aimed at never came")
						}
					})
				})
			}
		}
	}
}

// Someone who never stops typing is answered, within the hard cap, the runs
// that may be discarded, and their windows; and each message is in one reply.
func TestEndlessTypist(t *testing.T) {
	for _, mode := range []onereply.Mode{onereply.ModeInterrupt, onereply.ModeDiscard, onereply.ModeFinish} {
		for _, discards := range []int{onereply.Zero, 1, 2, 5} {
			t.Run(fmt.Sprint(mode, discards), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const maxWait, model = 5 * time.Second, 3 * time.Second
					w := newWorld(t, settings{model: model, bot: onereply.Bot{
						Debounce: time.Second, MaxWait: maxWait, OnNewInput: mode, MaxDiscards: discards,
					}})
					defer w.close()
					for i := range 200 {
						w.say(0, fmt.Sprintf("m%d", i))
						time.Sleep(700 * time.Millisecond)
					}
					time.Sleep(time.Minute)
					if err := w.verdict(); err != nil {
						t.Error(err)
					}
					allowed := time.Duration(max(discards, 0))
					bound := (allowed+1)*model + (allowed+1)*maxWait
					if first := w.sent[0].at; first > bound {
						t.Errorf("the first reply came after %v, more than %v", first, bound)
					}
				})
			})
		}
	}
}
