package redis

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

func TestTheNumberOfShardsIsFixedAtCreation(t *testing.T) {
	server := testservers.NewRedis(t)
	first := openWith(t, server.URL()+"?shards=4", Options{})
	var ops ops
	mustCommit(t, first, message(key("c"), store.Op{}, ops.Next(), 1))
	if _, err := Open(t.Context(), server.URL(), Options{Shards: 8}); err == nil || !strings.Contains(err.Error(), "set shards to 4") {
		t.Errorf("Open with another number: got %v, want an error that names the right one", err)
	}
	for _, same := range []int{0, 4} {
		s := openWith(t, server.URL(), Options{Shards: same})
		if mustLoad(t, s, key("c")).Op.IsZero() {
			t.Errorf("shards %d: the conversation is not found", same)
		}
	}
	if other := openWith(t, server.URL(), Options{Prefix: "other"}); other.shards.count != defaultShards {
		t.Errorf("another prefix has %d shards, want %d", other.shards.count, defaultShards)
	}
}

// Nodes that start at once on an empty server agree.
func TestNodesThatStartAtOnceAgree(t *testing.T) {
	server := testservers.NewRedis(t)
	const nodes = 10
	counts := make([]int, nodes)
	var group sync.WaitGroup
	for i := range nodes {
		group.Go(func() {
			s, err := Open(t.Context(), server.URL(), Options{Shards: i%2*3 + 2})
			if err != nil {
				return // it wanted the other number
			}
			counts[i] = s.shards.count
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	group.Wait()
	decided := openWith(t, server.URL(), Options{}).shards.count
	opened := 0
	for _, count := range counts {
		if count != 0 {
			opened++
		}
		if count != 0 && count != decided {
			t.Errorf("a node took %d shards, the server remembers %d", count, decided)
		}
	}
	if opened != nodes/2 {
		t.Errorf("%d of %d nodes opened, want the half that wanted %d", opened, nodes, decided)
	}
}

func TestKeysOfANewerProgramAreRefused(t *testing.T) {
	server := testservers.NewRedis(t)
	openWith(t, server.URL(), Options{})
	command(t, server, "HSET onereply:meta schema 2")
	if _, err := Open(t.Context(), server.URL(), Options{}); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("Open: got %v, want ErrNewerSchema", err)
	}
	command(t, server, "HSET onereply:meta schema nonsense")
	if _, err := Open(t.Context(), server.URL(), Options{}); err == nil || !strings.Contains(err.Error(), "onereply:meta") {
		t.Errorf("Open: got %v, want an error that names the key", err)
	}
}

func TestAServerThatMayEvictIsRefused(t *testing.T) {
	server := testservers.NewRedis(t, "--maxmemory-policy", "allkeys-lru", "--appendonly", "yes", "--appendfsync", "always")
	_, err := Open(t.Context(), server.URL(), Options{})
	if err == nil || !strings.Contains(err.Error(), "allkeys-lru") || !strings.Contains(err.Error(), "noeviction") {
		t.Errorf("Open: got %v, want an error that says what is set and what should be", err)
	}
	if got := command(t, server, "DBSIZE"); got != ":0" {
		t.Errorf("the refused opening wrote %s keys", got)
	}
	for _, s := range []*Store{
		openWith(t, server.URL()+"?allow_eviction=true", Options{}),
		openWith(t, server.URL(), Options{AllowEviction: true}),
	} {
		if g := s.Guarantees(); g.Durable || !strings.Contains(g.Note, "thrown away") {
			t.Errorf("Guarantees: %+v", g)
		}
	}
}

func TestTheNoteSaysWhatTheSettingsMean(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		durable  bool
		note     string
	}{
		"nothing":         {nil, false, "a restart of Redis loses everything"},
		"snapshots":       {[]string{"--save", "3600 1"}, false, "since the last one"},
		"every second":    {[]string{"--appendonly", "yes"}, false, "about one second"},
		"always":          {durable, true, "before it is answered"},
		"no sync":         {[]string{"--appendonly", "yes", "--appendfsync", "no"}, false, "30 seconds"},
		"except rewrites": {append([]string{"--no-appendfsync-on-rewrite", "yes"}, durable...), false, "while the log is rewritten"},
		"not told":        {append([]string{"--rename-command", "CONFIG", ""}, durable...), false, "CONFIG GET is not allowed"},
		"not told, none":  {[]string{"--rename-command", "CONFIG", ""}, false, "no persistence is known of"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openWith(t, testservers.NewRedis(t, c.settings...).URL(), Options{})
			got := s.Guarantees()
			if got.Durable != c.durable || !strings.Contains(got.Note, c.note) || got.Exclusive {
				t.Errorf("Guarantees: %+v; want durable %v and %q", got, c.durable, c.note)
			}
		})
	}
}

func TestAServerThatTellsNothingIsOpened(t *testing.T) {
	server := testservers.NewRedis(t)
	command(t, server, "ACL SETUSER default -config -info")
	got := openWith(t, server.URL(), Options{}).Guarantees()
	if got.Durable || !strings.Contains(got.Note, "maxmemory-policy can't be read") {
		t.Errorf("Guarantees: %+v", got)
	}
}

func TestOfSeveralServersTheWorstCounts(t *testing.T) {
	best := settings{version: "7.0.15", policy: "noeviction", durability: always}
	for name, c := range map[string]struct{ other, want settings }{
		"alike":       {best, best},
		"less synced": {settings{"7.0.15", "noeviction", everySecond, true, ""}, settings{"7.0.15", "noeviction", everySecond, true, ""}},
		"it evicts":   {settings{"8.1.0", "allkeys-lfu", always, false, ""}, settings{"7.0.15", "allkeys-lfu", always, false, ""}},
		"it is older": {settings{"6.2.0", "noeviction", always, false, ""}, settings{"6.2.0", "noeviction", always, false, ""}},
	} {
		if got := best.and(c.other); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		if got := c.other.and(best); got != c.want {
			t.Errorf("%s, the other way: got %+v, want %+v", name, got, c.want)
		}
	}
	if err := (settings{version: "6.2.0"}).check(true); err == nil || !strings.Contains(err.Error(), "6.2.0") {
		t.Errorf("an old server: got %v", err)
	}
}

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"redis://localhost":                              "",
		"rediss://user:pass@localhost:6380/2":            "",
		"valkey://localhost/0?timeout=2s&prefix=a.b":     "",
		"valkeys://localhost":                            "",
		"redis://localhost?shards=8&addr=other:6379":     "",
		"http://localhost":                               "scheme",
		"redis://localhost?shard=8":                      `"shard"`,
		"redis://localhost?max_retries=3":                `"max_retries"`,
		"redis://localhost?shards=many":                  "shards",
		"redis://localhost?shards=1025":                  "between 1 and 1024",
		"redis://localhost?timeout=-1s":                  "negative",
		"redis://localhost?prefix={x}":                   "prefix",
		"redis://localhost?allow_eviction=perhaps":       "allow_eviction",
		"redis://user:secret@local host":                 "can't be read",
		"redis://user:secret@localhost:port?shards=8":    "can't be read",
		"redis://user:secret@localhost/notanumber":       "database",
		"redis://user:secret@localhost?timeout=tomorrow": "timeout",
	} {
		_, _, err := parseURL(url, Options{})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", url, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want an error with %q", url, err, want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestAServerThatIsNotThereIsNamed(t *testing.T) {
	server := testservers.NewRedis(t)
	server.Kill(t)
	_, err := Open(t.Context(), server.URL(), Options{})
	if err == nil || !strings.Contains(err.Error(), server.Address()) || !strings.Contains(err.Error(), "check that it runs") {
		t.Errorf("Open: got %v, want the address and what to do", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, server.URL(), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: got %v, want context.Canceled", err)
	}
}

func TestAWrongPasswordIsExplained(t *testing.T) {
	server := testservers.NewRedis(t)
	command(t, server, "CONFIG SET requirepass right")
	for _, user := range []string{"", ":wrong@"} {
		url := strings.Replace(server.URL(), "redis://", "redis://"+user, 1)
		if _, err := Open(t.Context(), url, Options{}); err == nil || !strings.Contains(err.Error(), "user or password") {
			t.Errorf("%s: got %v, want what to do", url, err)
		}
	}
	openWith(t, strings.Replace(server.URL(), "redis://", "redis://:right@", 1), Options{})
}

// Who only looks leaves an empty server empty, also where it lost its data meanwhile.
func TestWhoOnlyLooksMakesNothing(t *testing.T) {
	server := testservers.NewRedis(t)
	look := Options{ReadOnly: true}
	nothing := func(err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "there is nothing of onereply") {
			t.Errorf("got error %v", err)
		}
		if size := command(t, server, "DBSIZE"); size != ":0" {
			t.Errorf("the server has %s keys", size)
		}
	}
	_, err := Open(t.Context(), server.URL(), look)
	nothing(err)
	node := openWith(t, server.URL(), Options{})
	var ops ops
	mustCommit(t, node, message(key("c"), store.Op{}, ops.Next(), 1))
	s := openWith(t, server.URL(), look)
	if found := mustLoad(t, s, key("c")); found.Record.Seq != 1 {
		t.Errorf("Load: got %+v", found)
	}
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
	losesAll(t, server)
	eventually(t, "it is noticed", func() bool {
		_, err = s.Now(t.Context())
		return err != nil && strings.Contains(err.Error(), "there is nothing")
	})
	nothing(err)
}
