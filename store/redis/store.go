package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Store is a [store.Store] on Redis or Valkey, a [store.Hinter] and a
// [store.Broadcaster] too. Make one with [Open]. All methods may be called from many
// goroutines at once, and many processes may use the same server.
//
// Each call has the same frame: begin bounds its time and checks the number of shards, the
// commands or scripts run, end lets Close go on, and failed puts the operation and the
// advice before the error.
type Store struct {
	client   rueidis.Client
	shards   shards
	scripts  scripts
	timeout  time.Duration
	readOnly bool // this store changes nothing
	promise  store.Guarantees
	hints    *hinter

	broadcasts string                    // their channel
	echoed     atomic.Pointer[time.Time] // when one of this node's own came back

	shardCount shardCount

	calls  sync.RWMutex // held for reading during each call; Close waits for them
	closed bool
}

var (
	_ store.Store       = (*Store)(nil)
	_ store.Hinter      = (*Store)(nil)
	_ store.Broadcaster = (*Store)(nil)
	_ store.Echoer      = (*Store)(nil)
)

// Open connects to the server at a URL:
//
//	redis://USER:PASSWORD@HOST:PORT/DATABASE   rediss:// with TLS
//	valkey://…                                 valkeys:// the same
//	redis://HOST:PORT?addr=HOST2:PORT2         more servers of a cluster, or sentinels
//	redis://HOST:PORT?master_set=NAME          through sentinels
//
// Other settings of the URL are db, dial_timeout, skip_verify, client_name and
// those of [Options], which win over o.
//
// It refuses a server older than Redis 7, one that may evict keys unless that
// is allowed, a user who lacks a command, a number of shards other than the one
// that is remembered, and, with [store.ErrNewerSchema], keys of a newer program.
// [Store.Guarantees] says how safe acknowledged messages are with the server's settings.
// Open as a whole is bounded by [Options.Timeout], 5 s by default.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	config, o, err := parseURL(url, o)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	s := &Store{timeout: o.Timeout, readOnly: o.ReadOnly, scripts: loadScripts()}
	s.shardCount.asking = make(chan struct{}, 1)
	config.DialCtxFn = countedBy(config.DialCtxFn, &s.shardCount.dials)
	if err := s.open(ctx, config, o); err != nil {
		return nil, s.failed(err, "open")
	}
	return s, nil
}

// open connects, within the time-out of a call. The connections that were made before
// prepare count as seen: prepare has read the number of shards after them.
func (s *Store) open(ctx context.Context, config rueidis.ClientOption, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	client, err := rueidis.NewClient(config)
	if err != nil {
		return err
	}
	dials := s.shardCount.dials.Load()
	if err := s.prepare(ctx, client, o); err != nil {
		client.Close()
		return err
	}
	s.client = client
	s.shardCount.seen.Store(dials)
	s.hints = newHinter(client, o.Prefix+":hints", o.Timeout)
	s.broadcasts = o.Prefix + ":broadcasts"
	return nil
}

// prepare finds out about the server, and refuses it where it must. It reads settings and
// rights before it writes anything. The rights on the key meta come first, since the
// number of shards is read there, and only with it the other keys are known.
func (s *Store) prepare(ctx context.Context, client rueidis.Client, o Options) (err error) {
	settings, err := readSettings(ctx, client)
	if err != nil {
		return err
	}
	if err := settings.check(o.AllowEviction); err != nil {
		return err
	}
	s.promise = settings.guarantees()
	if err := checkRights(ctx, client, s.scripts.rights, o.Prefix+":meta"); err != nil {
		return err
	}
	if s.shards, err = fixShardCount(ctx, client, s.scripts.create, o); err != nil {
		return err
	}
	return checkRights(ctx, client, s.scripts.rights, s.shards.roots()...)
}

// begin starts a call on conversations: all nodes must agree on where they are.
func (s *Store) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	ctx, end, err := s.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := s.checkShardCount(ctx, false); err != nil {
		end()
		return nil, nil, err
	}
	return ctx, end, nil
}

// enter starts a call, unless there is a reason not to. It bounds the call's
// time, and holds off Close until the returned function is called. While Close waits, new
// calls wait for it and then get [store.ErrClosed]. Hints and broadcasts use it without
// the check of begin: they read and write no conversation.
func (s *Store) enter(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s.calls.RLock()
	if s.closed {
		s.calls.RUnlock()
		return nil, nil, store.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	return ctx, func() {
		cancel()
		s.calls.RUnlock()
	}, nil
}

// Now implements [store.Store]. It is the clock of the server, on a cluster of
// the one that has the first shard, and while that one is down, of the one that has
// the first shard of those that answer.
func (s *Store) Now(ctx context.Context) (turn.Time, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return 0, s.failed(err, "read the clock")
	}
	defer end()
	text, err := s.readClock(ctx)
	if err != nil {
		return 0, s.failed(err, "read the clock")
	}
	now, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, s.failed(err, "read the clock")
	}
	return turn.Time(now), nil
}

// readClock asks the server of the first shard, and takes at most half of the time for
// that. Then it asks all others at once and takes the answer of the first shard that gave
// one. So all nodes ask the same server, and their times agree, as long as it is up.
func (s *Store) readClock(ctx context.Context) (string, error) {
	half, cancel := halfOf(ctx)
	text, err := s.scripts.clock.run(half, s.client, s.shards.root(0)).ToString()
	cancel()
	if err == nil || s.shards.count == 1 || ctx.Err() != nil {
		return text, err
	}
	var calls []call
	for _, root := range s.shards.roots()[1:] {
		calls = append(calls, call{key: root})
	}
	for _, result := range s.scripts.clock.runAll(ctx, s.client, calls) {
		if text, err := result.ToString(); err == nil {
			return text, nil
		}
	}
	return "", err
}

// Guarantees implements [store.Store]. They are what the server's settings were
// when it was opened.
func (s *Store) Guarantees() store.Guarantees { return s.promise }

// Close implements [store.Store]. Calls that were begun are finished; each has
// its own time-out. No call can begin then, so the questions about the shard count end
// next, then hints, and the connection last, which all of them use.
func (s *Store) Close() error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.shardCount.questions.Wait()
	s.hints.close()
	s.client.Close()
	return nil
}

// isNothing reports whether a result says that there is no such key or field.
func isNothing(err error) bool { return errors.Is(err, rueidis.Nil) }
