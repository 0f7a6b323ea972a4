package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Operation is one call of a history, as its caller saw it. What checks
// histories is not here, so that nobody who imports a store gets a checker with
// it.
type Operation struct {
	Client int // who called; one client never has two calls under way
	Key    store.Key
	Began  int64 // nanoseconds since the history began
	Ended  int64 // Forever where nobody knows the outcome: it may still come

	// Write is what a Commit asked for; nil for a Load.
	Write  *Attempt
	Result store.Result // of a Commit whose outcome is known
	// Lost: nobody knows whether the Commit was applied.
	Lost bool

	// Found is what a Load returned.
	Found store.Op
	Seq   int64
}

// Attempt is what matters of a write: the swap, what it leaves, and the ids that
// it claims.
type Attempt struct {
	Expect, Op store.Op
	Seq        int64 // of the record, so that a record and its Op can be seen to belong together
	IDs        []string
}

// Forever is the end of an operation whose outcome nobody knows.
const Forever = math.MaxInt64

// Contention says how clients meet. The zero value is right for every day.
type Contention struct {
	Seed    uint64 // 0 means 1
	Clients int    // at once; 0 means 8
	Keys    int    // conversations that they share; 0 means 3
	Calls   int    // of each client; 0 means 60
}

func (c Contention) withDefaults() Contention {
	for _, setting := range []struct {
		value *int
		usual int
	}{{&c.Clients, 8}, {&c.Keys, 3}, {&c.Calls, 60}} {
		if *setting.value == 0 {
			*setting.value = setting.usual
		}
	}
	c.Seed = max(c.Seed, 1)
	return c
}

// Record lets clients load and write the same few conversations of an empty
// store at once, and returns all that they saw, in no order. Writes swap a
// record that was loaded, now and then one that was loaded long ago, and claim
// ids of which some were claimed before. Each client is another node if stores
// has more than one store. It returns an error where a Load fails, or a write
// fails in a way that the contract does not know.
func Record(ctx context.Context, c Contention, stores ...store.Store) ([]Operation, error) {
	c = c.withDefaults()
	h := &history{began: time.Now(), ids: make(map[store.Key]int64)}
	clients := make([]*client, c.Clients)
	var running sync.WaitGroup
	for i := range clients {
		clients[i] = &client{
			history: h, number: i, store: stores[i%len(stores)], keys: c.Keys,
			random: rand.New(rand.NewPCG(c.Seed, uint64(i))), last: make(map[store.Key]store.Snapshot),
		}
		running.Go(func() { clients[i].run(ctx, c.Calls) })
	}
	running.Wait()
	var all []Operation
	var problems []error
	for _, client := range clients {
		all = append(all, client.done...)
		problems = append(problems, client.problem)
	}
	return all, errors.Join(problems...)
}

// history is what the clients of one share.
type history struct {
	began time.Time
	ops   atomic.Uint64

	mu  sync.Mutex
	ids map[store.Key]int64 // how many were used in a conversation
}

func (h *history) now() int64 { return time.Since(h.began).Nanoseconds() }

type client struct {
	*history
	number  int
	store   store.Store
	keys    int
	random  *rand.Rand
	last    map[store.Key]store.Snapshot // that this client loaded or wrote
	done    []Operation
	problem error
}

func (c *client) run(ctx context.Context, calls int) {
	for len(c.done) < calls && c.problem == nil {
		key := numbered(c.random.IntN(c.keys))
		if c.random.IntN(5) > 0 { // else it goes by what it saw last, which is old
			c.load(ctx, key)
		}
		if c.random.IntN(4) > 0 && c.problem == nil {
			c.commit(ctx, key)
		}
	}
}

func (c *client) load(ctx context.Context, key store.Key) {
	done := Operation{Client: c.number, Key: key, Began: c.now()}
	found, err := c.store.Load(ctx, key)
	done.Ended, done.Found, done.Seq = c.now(), found.Op, found.Record.Seq
	if err != nil {
		c.problem = fmt.Errorf("client %d: %w", c.number, err)
		return
	}
	c.last[key] = found
	c.done = append(c.done, done)
}

func (c *client) commit(ctx context.Context, key store.Key) {
	write := c.write(key)
	done := Operation{Client: c.number, Key: key, Write: attemptOf(write), Began: c.now()}
	result, err := c.store.Commit(ctx, write)
	done.Ended, done.Result = c.now(), result
	switch {
	case errors.Is(err, store.ErrNotApplied):
		return // it never was
	case errors.Is(err, store.ErrUnknown):
		done.Lost, done.Ended = true, Forever
	case err != nil:
		c.problem = fmt.Errorf("client %d: %w", c.number, err)
		return
	case result.Status == store.OK:
		c.last[key] = store.Snapshot{Record: write.Record, Op: write.Op}
	case result.Status == store.Conflict && c.random.IntN(2) == 0: // it may go on from there without a Load
		c.last[key] = result.Current
	}
	c.done = append(c.done, done)
}

// write replaces the last record that this client saw.
func (c *client) write(key store.Key) store.Write {
	last := c.last[key]
	seq := last.Record.Seq
	op := opOf(c.ops.Add(1))
	binary.BigEndian.PutUint64(op[:8], uint64(c.began.UnixNano())) // other histories use the store too
	write := store.Write{Key: key, Expect: last.Op, Op: op, At: start}
	for range c.random.IntN(3) {
		seq++
		write.Append = append(write.Append, message(seq, c.id(key)))
	}
	seq++ // also a write without entries leaves a record of its own
	write.Record = turn.Record{Schema: turn.Schema, Phase: turn.Idle, Seq: seq, Version: seq}
	return write
}

// id is a new one, or one that somebody may have used.
func (c *client) id(key store.Key) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	number := c.ids[key] + 1
	if c.random.IntN(3) == 0 {
		number = 1 + c.random.Int64N(number)
	}
	c.ids[key] = max(number, c.ids[key])
	return key.Conversation + "-" + strconv.FormatInt(number, 10)
}

func attemptOf(write store.Write) *Attempt {
	attempt := &Attempt{Expect: write.Expect, Op: write.Op, Seq: write.Record.Seq}
	for _, e := range write.Append {
		attempt.IDs = append(attempt.IDs, e.ID)
	}
	return attempt
}

// State is what a conversation is to a history: the record that is there, and
// the ids that were claimed, in order.
type State struct {
	Op  store.Op
	Seq int64
	IDs []string
}

// Step reports whether a store in state s could have answered o, and the state
// after it. It is the whole contract of Commit, as a function. It leaves s as it
// was.
//
// A write that was lost does here what it would have done; that it was never
// applied is the case in which it comes after everything else. A Load must find
// the record that is there: since the contract lets it be old, whoever checks
// lets Loads begin with the history.
func (s State) Step(o Operation) (bool, State) {
	if o.Write == nil {
		return o.Found == s.Op && o.Seq == s.Seq, s
	}
	right, after := s.try(*o.Write)
	if o.Lost {
		return true, after
	}
	return same(right, o.Result), after
}

// same compares what histories know of an answer: the record of a conflict is its
// Op and its sequence.
func same(a, b store.Result) bool {
	return a.Status == b.Status && slices.Equal(a.Duplicates, b.Duplicates) &&
		a.Current.Op == b.Current.Op && a.Current.Record.Seq == b.Current.Record.Seq
}

// try is the answer to a write, and the state after it.
func (s State) try(a Attempt) (store.Result, State) {
	var repeated []string
	for i, id := range a.IDs {
		if slices.Contains(s.IDs, id) || slices.Contains(a.IDs[:i], id) {
			repeated = append(repeated, id)
		}
	}
	if a.Expect != s.Op {
		current := store.Snapshot{Record: turn.Record{Seq: s.Seq}, Op: s.Op}
		return store.Result{Status: store.Conflict, Current: current, Duplicates: repeated}, s
	}
	if len(repeated) > 0 {
		return store.Result{Status: store.Duplicate, Duplicates: repeated}, s
	}
	return store.Result{}, State{Op: a.Op, Seq: a.Seq, IDs: slices.Concat(s.IDs, a.IDs)}
}

// Lossy is a store before which answers of Commit get lost, one in so many: the
// write was applied, was not, or lands a little later. Make one with [NewLossy],
// and call Settle before the store is closed.
type Lossy struct {
	store.Store
	oneIn int

	mu     sync.Mutex
	random *rand.Rand
	late   sync.WaitGroup
}

// NewLossy returns a store that loses one answer in oneIn.
func NewLossy(s store.Store, seed uint64, oneIn int) *Lossy {
	return &Lossy{Store: s, oneIn: oneIn, random: rand.New(rand.NewPCG(seed, 0))}
}

// Commit implements [store.Store].
func (l *Lossy) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	lost := fmt.Errorf("the answer was lost on purpose: %w", store.ErrUnknown)
	switch l.draw(3 * l.oneIn) {
	case 0:
		return store.Result{}, lost
	case 1:
		_, _ = l.Store.Commit(ctx, write) // nobody hears of it
		return store.Result{}, lost
	case 2:
		pause := time.Duration(l.draw(int(20 * time.Millisecond)))
		l.late.Go(func() {
			time.Sleep(pause)                 // it is on its way
			_, _ = l.Store.Commit(ctx, write) // likewise
		})
		return store.Result{}, lost
	}
	return l.Store.Commit(ctx, write)
}

func (l *Lossy) draw(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.random.IntN(n)
}

// Settle waits until all that is late has landed.
func (l *Lossy) Settle() { l.late.Wait() }
