package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"github.com/onereply/onereply/store"
)

// oldest is the first version of Redis that checks a script before it runs it.
// Valkey reports the version of Redis that it is compatible with.
const oldest = 7

// unread stands for a setting that the server does not tell.
const unread = ""

// settings are those of a server that decide about acknowledged messages. Of
// several servers they are the worst.
type settings struct {
	version    string
	policy     string // maxmemory-policy
	durability durability
	replicated bool   // there are replicas, which lag behind
	silent     string // servers of a cluster that were out of reach
}

// durability is what a server does before it answers a write. Less is worse.
type durability int

const (
	volatile  durability = iota // nothing
	snapshots                   // now and then, all of it
	logged                      // a log that is written, and synced nobody told us when
	whenever                    // a log that is synced when the system likes
	everySecond
	exceptRewrites // a log that is synced always, but not while it is rewritten
	always
)

// readSettings asks every server. One of a cluster may be out of reach: others that
// answer are reason enough to start. All of them are asked at once, and get half of the
// time that Open has, so that one that does not answer leaves time for the rest. A server
// that answers and refuses, for a wrong password or since it is loading its data, fails
// the start, and the error says why.
func readSettings(ctx context.Context, client rueidis.Client) (settings, error) {
	half, cancel := halfOf(ctx)
	defer cancel()
	nodes := client.Nodes()
	addresses := slices.Sorted(maps.Keys(nodes))
	found, errs := make([]settings, len(addresses)), make([]error, len(addresses))
	var group sync.WaitGroup
	for i, address := range addresses {
		group.Go(func() { found[i], errs[i] = readNode(half, nodes[address]) })
	}
	group.Wait()
	var worst settings
	var silent []string
	var problem error
	first := true
	for i, s := range found {
		if err := errs[i]; err != nil {
			problem = fmt.Errorf("%s: %w", addresses[i], err)
			if _, spoke := answered(err); spoke {
				return settings{}, problem
			}
			silent = append(silent, addresses[i])
			continue
		}
		if first {
			worst, first = s, false
		}
		worst = worst.and(s)
	}
	if first {
		return settings{}, problem
	}
	worst.silent = strings.Join(silent, ", ")
	return worst, nil
}

// and is the worse of each. Conversations are spread over all servers of a cluster, so
// the promise to their users is that of the weakest one.
func (s settings) and(other settings) settings {
	s.durability = min(s.durability, other.durability)
	s.replicated = s.replicated || other.replicated
	if other.evicts() || other.policy == unread {
		s.policy = other.policy
	}
	if major(other.version) < major(s.version) {
		s.version = other.version
	}
	return s
}

// readNode asks one server. Providers often forbid CONFIG, some forbid INFO;
// settings that are not told stay unread. The server of a cluster counts as replicated,
// since it may get a replica at any time.
func readNode(ctx context.Context, node rueidis.Client) (settings, error) {
	info, err := readInfo(ctx, node)
	if err != nil {
		return settings{}, err
	}
	config, err := node.Do(ctx, node.B().ConfigGet().Parameter(
		"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "save", "maxmemory-policy").Build()).AsStrMap()
	if err != nil && !isDenied(err) {
		return settings{}, err
	}
	s := settings{
		version:    info["redis_version"],
		policy:     config["maxmemory-policy"],
		durability: durabilityOf(config, info),
		replicated: info["connected_slaves"] > "0" || info["role"] == "slave" || info["cluster_enabled"] == "1",
	}
	if s.policy == unread {
		s.policy = info["maxmemory_policy"]
	}
	return s, nil
}

// isDenied reports whether a server knows or allows no such command, rather
// than failed: each provider has words of its own for that. So every answer that is an
// error counts, other than refusals with another cause, such as a wrong password or a
// server that is loading its data.
func isDenied(err error) bool {
	text, ok := answered(err)
	return ok && (!isRefusal(err) || strings.HasPrefix(text, "NOPERM"))
}

// readInfo reads the lines of INFO, none where the server forbids it.
func readInfo(ctx context.Context, node rueidis.Client) (map[string]string, error) {
	text, err := node.Do(ctx, node.B().Info().Build()).ToString()
	if err != nil && !isDenied(err) {
		return nil, err
	}
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			info[name] = value
		}
	}
	return info, nil
}

// durabilityOf judges the settings of persistence. CONFIG is the better source; INFO
// tells only whether there is a log at all, so without CONFIG the best that is known is
// "logged". A setting that was not told counts as the worse one.
func durabilityOf(config, info map[string]string) durability {
	hasLog := config["appendonly"] == "yes" || config["appendonly"] == unread && info["aof_enabled"] == "1"
	switch {
	case !hasLog && config["save"] != "":
		return snapshots
	case !hasLog:
		return volatile
	case config["appendfsync"] == "always" && config["no-appendfsync-on-rewrite"] != "no":
		return exceptRewrites
	case config["appendfsync"] == "always":
		return always
	case config["appendfsync"] == "everysec":
		return everySecond
	case config["appendfsync"] == "no":
		return whenever
	}
	return logged
}

// notes explain how safe acknowledged messages are, and what to do about it.
var notes = map[durability]string{
	always:         "appendonly yes, appendfsync always: a commit is on the server's disk before it is answered",
	exceptRewrites: "appendfsync always, but no-appendfsync-on-rewrite is not \"no\": while the log is rewritten, a loss of power loses acknowledged messages; set it to no",
	everySecond:    "appendfsync everysec: a loss of power loses about one second of acknowledged messages, and a crash of Redis up to two where it waits for a slow disk; set appendfsync always to lose none",
	whenever:       "appendfsync no: a loss of power loses the acknowledged messages of about the last 30 seconds; set appendfsync always to lose none",
	logged:         "the server keeps a log and does not tell when it syncs it (CONFIG GET is not allowed): ask whoever runs it; with appendfsync everysec a loss of power loses about one second of acknowledged messages",
	snapshots:      "snapshots only: a restart of Redis loses all acknowledged messages since the last one; set appendonly yes and appendfsync always to lose none",
	volatile:       "no persistence is known of: a restart of Redis loses everything; set appendonly yes and appendfsync always to lose nothing",
}

// evicts reports whether the server throws keys away. A policy of volatile-…
// spares ours today, since they have no expiry; but whoever sets it treats the
// server as a cache, and the next change may be to allkeys-….
func (s settings) evicts() bool { return s.policy != unread && s.policy != "noeviction" }

// check refuses a server that can't keep the promises. A setting that the server does not
// tell is no reason to refuse it, since many providers hide them. If the policy of eviction
// is one of these, the note of the guarantees says so.
func (s settings) check(allowEviction bool) error {
	if s.version != unread && major(s.version) < oldest {
		return fmt.Errorf("this is Redis %s: version %d or later is needed, or Valkey", s.version, oldest)
	}
	if s.evicts() && !allowEviction {
		return fmt.Errorf("maxmemory-policy is %s: the server may throw messages away that were acknowledged; "+
			"set it to noeviction, or accept the loss with allow_eviction=true in the URL", s.policy)
	}
	return nil
}

// major is the first number of a version.
func major(version string) int {
	text, _, _ := strings.Cut(version, ".")
	number, err := strconv.Atoi(text)
	if err != nil {
		return oldest // not a version: nothing speaks against it
	}
	return number
}

// guarantees are the promises of these settings. A commit is durable only if every server
// that answered syncs its log before each answer, none of them is known to evict keys, and
// none was out of reach.
func (s settings) guarantees() store.Guarantees {
	note := []string{notes[s.durability]}
	if s.evicts() {
		note = append(note, "maxmemory-policy "+s.policy+": when memory is full, acknowledged messages may be thrown away")
	}
	if s.policy == unread {
		note = append(note, "maxmemory-policy can't be read: make sure that it is noeviction")
	}
	if s.replicated {
		note = append(note, "replicas lag behind: a fail-over can lose the last acknowledged messages")
	}
	if s.silent != "" {
		note = append(note, s.silent+" was out of reach when this node started: what its settings mean is not known, and its conversations wait until it is back")
	}
	return store.Guarantees{
		Name: "redis", Durable: s.durability == always && !s.evicts() && s.silent == "",
		Note: strings.Join(note, "; "),
	}
}
