package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/postgres"
	"github.com/onereply/onereply/store/redis"
)

// engine is a store that several nodes share, as a process that can go away.
type engine struct {
	kind    string
	url     *url.URL
	commit  string // what a commit has in it, on the wire
	crash   func(testing.TB)
	stop    func(testing.TB)
	restart func(testing.TB)
	empty   func() *url.URL // one more store there that nobody has used
	open    func(context.Context, string) (store.Store, error)
}

// engines start the stores of several nodes. Both keep on disk what they
// acknowledge.
var engines = map[string]func(testing.TB) engine{"postgres": newPostgres, "redis": newRedis}

func newPostgres(t testing.TB) engine {
	server := testservers.NewPostgres(t)
	// Each commit names its function, by which a proxy knows it: nothing is prepared.
	empty := func() *url.URL { return parsed(t, server.URL(t)+"&default_query_exec_mode=exec") }
	return engine{
		kind: "postgres", url: empty(), commit: "commit_v1", empty: empty,
		crash: server.Kill, stop: server.Stop, restart: server.Start,
		open: func(ctx context.Context, url string) (store.Store, error) {
			return postgres.Open(ctx, url, postgres.Options{})
		},
	}
}

func newRedis(t testing.TB) engine {
	return redisWith(t, "--appendonly", "yes", "--appendfsync", "always")
}

func redisWith(t testing.TB, settings ...string) engine {
	server := testservers.NewRedis(t, settings...)
	count := 0
	empty := func() *url.URL {
		count++
		return parsed(t, fmt.Sprintf("%s?prefix=empty%d", server.URL(), count))
	}
	return engine{
		kind: "redis", url: empty(), commit: `"schema":`, empty: empty,
		crash: server.Kill, stop: server.Stop, restart: server.Start,
		open: func(ctx context.Context, url string) (store.Store, error) {
			return redis.Open(ctx, url, redis.Options{})
		},
	}
}

func parsed(t testing.TB, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// onEachEngine runs a test on PostgreSQL and on Redis, side by side: most of its
// time it waits for leases and windows. Nothing may come after it in the test that
// needs its result.
func onEachEngine(t *testing.T, run func(t *testing.T, e engine)) {
	for name, begin := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, begin(t))
		})
	}
}

// member is one place of a cluster: a node, and its network to the store. What
// ends is started again, as another instance of its name.
type member struct {
	*node
	wire      *wire
	arguments []string
	instance  string
	program   string   // "": that of all tests
	env       []string // of every instance
}

// cluster is some nodes on one store.
type cluster struct {
	t         testing.TB
	engine    engine
	members   []*member
	instances int

	mu           sync.Mutex
	listening    map[*member]*url.URL // where each can be reached, unless it is down
	turn         int
	disturbances []disturbance
	late         [][2]time.Time // when this process did not run although it was to
}

// newCluster starts nodes, each with its own network to the store.
func newCluster(t testing.TB, e engine, size int, yaml string) *cluster {
	t.Helper()
	c := &cluster{t: t, engine: e, listening: map[*member]*url.URL{}}
	for range size {
		c.start(c.join(yaml))
	}
	return c
}

// join makes a place for a node.
func (c *cluster) join(yaml string) *member {
	c.t.Helper()
	m := &member{wire: newWire(c.t, c.engine.url.Host, c.engine.commit)}
	m.arguments = onStore(c.t, *c.engine.url, m.wire.address(), yaml)
	c.members = append(c.members, m)
	return m
}

// onStore are the arguments that serve a configuration from a store, reached at
// an address.
func onStore(t testing.TB, store url.URL, address, yaml string) []string {
	t.Helper()
	store.Host = address
	arguments := settings(t, "", yaml)
	arguments[len(arguments)-1] = store.String()
	return arguments
}

// launchAs is launch with another build of the program.
func launchAs(t testing.TB, path string, env []string, args ...string) *node {
	t.Helper()
	if path == "" {
		return launch(t, env, args...)
	}
	n := &node{
		command: exec.Command(path, args...), log: &logKeeper{}, output: &logKeeper{},
		listening: make(chan string, 1), ended: make(chan struct{}),
	}
	n.command.Env = append(os.Environ(), env...)
	n.command.Stderr = n.log
	stdout, err := n.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.kill)
	go n.follow(stdout)
	return n
}

// start begins another instance.
func (c *cluster) start(m *member) {
	c.t.Helper()
	var err error
	for began := time.Now(); time.Since(began) < limit; {
		c.instances++
		m.instance = strconv.Itoa(c.instances)
		m.node = launchAs(c.t, m.program, append(m.env, "INSTANCE="+m.instance), m.arguments...)
		// A node that does not reach its store in time says so and ends; who
		// supervises it starts it again.
		if err = m.listens(); err == nil || !strings.Contains(err.Error(), "open the store") {
			break
		}
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listening[m] = parsed(c.t, m.url)
}

func (c *cluster) leave(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.listening, m)
}

// kills ends an instance with SIGKILL.
func (c *cluster) kills(m *member) {
	c.leave(m)
	defer c.note(m.instance, true)()
	m.kill()
}

// freezes stops a process for so long, and returns at once; the channel is
// closed when it goes on.
func (c *cluster) freezes(m *member, d time.Duration) <-chan struct{} {
	end := c.note(m.instance, true)
	m.signal(c.t, syscall.SIGSTOP)
	thawed := make(chan struct{})
	process := m.command.Process
	time.AfterFunc(d, func() {
		defer close(thawed)
		_ = process.Signal(syscall.SIGCONT) // it may have been killed
		end()
	})
	return thawed
}

// disturbance is a time during which something was wrong with an instance, or with all.
type disturbance struct {
	instance string // "": all
	stopped  bool   // the process itself did not run
	from, to time.Time
}

// during notes that the network or the store of an instance is disturbed, until the returned
// function is called.
func (c *cluster) during(instance string) (end func()) { return c.note(instance, false) }

func (c *cluster) note(instance string, stopped bool) (end func()) {
	from := time.Now()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.disturbances = append(c.disturbances, disturbance{instance, stopped, from, time.Now()})
	}
}

// disturbed reports whether an instance was disturbed in the time between.
func (c *cluster) disturbed(instance string, from, to time.Time) bool {
	return c.had(instance, from, to, anything)
}

// stopped reports whether an instance's process stood still in the time between.
func (c *cluster) stopped(instance string, from, to time.Time) bool {
	return c.had(instance, from, to, func(t disturbance) bool { return t.stopped })
}

func anything(disturbance) bool { return true }

// had reports whether such a disturbance fell into the time between, of an instance or of any.
func (c *cluster) had(instance string, from, to time.Time, counts func(disturbance) bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.disturbances, func(t disturbance) bool {
		return (instance == "" || t.instance == "" || t.instance == instance) && t.from.Before(to) && t.to.After(from) && counts(t)
	})
}

// balancer stands before the nodes, as it would anywhere: requests go to one
// after the other, and a node that does not answer in time is a 503.
func (c *cluster) balancer(t testing.TB) string {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, ResponseHeaderTimeout: 2 * time.Second}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(c.next()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		},
		ErrorLog: silent,
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL
}

// nowhere is an address at which nobody listens.
var nowhere = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}

func (c *cluster) next() *url.URL {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	for i := range c.members {
		if at := c.listening[c.members[(c.turn+i)%len(c.members)]]; at != nil {
			return at
		}
	}
	return nowhere
}

// delivery is one request that reached the receiver, and what the sender could
// know of it.
type delivery struct {
	arrival
	instance string
	at       time.Time
	holder   string    // of the lease, asked after it arrived; "": the store was out of reach
	token    int64     // of that lease
	told     time.Time // when the store had said so
	status   int       // that it was answered with; 0: the connection was cut
	after    time.Duration
}

// witness stands before a receiver and notes which instance sent what, and who had
// the right to.
type witness struct {
	*receiver
	kept       store.Store
	mu         sync.Mutex
	deliveries []delivery
}

func newWitness(t testing.TB, r *receiver, kept store.Store) (*witness, string) {
	w := &witness{receiver: r, kept: kept}
	server := httptest.NewServer(w)
	server.Config.ErrorLog = silent
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return w, server.URL
}

func (w *witness) ServeHTTP(to http.ResponseWriter, request *http.Request) {
	d := delivery{instance: request.Header.Get("X-Instance"), at: time.Now()}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // it never arrived
	}
	d.arrival = newArrival(request.Header, body)
	d.holder, d.token = w.holder(d.arrival)
	d.told = time.Now()
	request.Body = io.NopCloser(bytes.NewReader(body))
	answer := &statusKeeper{ResponseWriter: to}
	defer func() {
		d.status, d.after = answer.status, time.Since(d.at)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.deliveries = append(w.deliveries, d)
	}()
	w.receiver.ServeHTTP(answer, request)
}

// nobody holds a lease that was given back.
const nobody = "nobody"

// holder is who has the lease of the conversation that a delivery is for, as the
// store has it, over no network that is played with.
func (w *witness) holder(a arrival) (holder string, token int64) {
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout/4)
	defer cancel()
	found, err := w.kept.Load(ctx, store.Key{Bot: a.bot, Conversation: a.conversation})
	if err != nil {
		return "", 0
	}
	lease := found.Record.Lease
	return cmp.Or(lease.Holder, nobody), lease.Token
}

// statusKeeper remembers the status of an answer.
type statusKeeper struct {
	http.ResponseWriter
	status int
}

func (k *statusKeeper) WriteHeader(status int) {
	k.status = status
	k.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (k *statusKeeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }
