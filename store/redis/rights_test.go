package redis

import (
	"embed"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

//go:embed scripts/*.lua
var allScripts embed.FS

// used are the commands that the scripts use.
func used(t *testing.T) map[string]bool {
	t.Helper()
	commands := make(map[string]bool)
	files, err := fs.Glob(allScripts, "scripts/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := allScripts.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`redis\.call\('([A-Z]+)'`).FindAllSubmatch(text, -1) {
			commands[string(found[1])] = true
		}
	}
	if len(commands) < 10 {
		t.Fatalf("only %v are used: the test proves nothing", commands)
	}
	return commands
}

// A user who lacks one command of all that are used is told at the start which.
func TestAUserWithoutARightIsRefused(t *testing.T) {
	server := testservers.NewRedis(t)
	openNew(t, server)
	for name := range used(t) {
		command(t, server, "ACL SETUSER default +@all -"+strings.ToLower(name))
		_, err := Open(t.Context(), server.URL(), Options{Prefix: newPrefix()})
		if err == nil || !strings.Contains(strings.ToUpper(err.Error()), name) {
			t.Errorf("without %s: Open gives %v, want an error that names it", name, err)
		}
	}
	command(t, server, "ACL SETUSER default +@all resetkeys ~{onereply:* ~onereply:*")
	openWith(t, server.URL(), Options{})
	command(t, server, "ACL SETUSER default resetkeys ~onereply:*")
	if _, err := Open(t.Context(), server.URL(), Options{}); err == nil || !strings.Contains(err.Error(), "prefix's keys") {
		t.Errorf("without a right to the keys of a shard: Open gives %v, want what to do", err)
	}
}

// A right that is taken away while a node runs: the write is refused, and nothing of
// it is there.
func TestAWriteWithoutARightLeavesNothingBehind(t *testing.T) {
	server := testservers.NewRedis(t)
	s := openWith(t, server.URL(), Options{Shards: 1})
	var ops ops
	first := mustCommit(t, s, message(key("c"), store.Op{}, ops.Next(), 1))
	write := message(key("c"), first, ops.Next(), 2)
	before := dump(t, s)
	for name := range used(t) {
		command(t, server, "ACL SETUSER default +@all -"+strings.ToLower(name))
		result, err := s.Commit(t.Context(), write)
		command(t, server, "ACL SETUSER default +@all")
		if err == nil { // it needs no such right
			first, write = write.Op, message(key("c"), write.Op, ops.Next(), write.Record.Seq+1)
			before = dump(t, s)
			continue
		}
		if result.Status != store.OK || dump(t, s) != before {
			t.Errorf("without %s: %v, %v, and something changed", name, result.Status, err)
		}
		if there := mustLoad(t, s, key("c")); there.Op != first {
			t.Errorf("without %s: the op is there", name)
		}
		for _, writing := range []string{"HSET", "ZADD", "ZREM", "HINCRBY", "ZREMRANGEBYSCORE"} {
			if name == writing && !errors.Is(err, store.ErrNotApplied) {
				t.Errorf("without %s: got %v, want ErrNotApplied", name, err)
			}
		}
	}
	mustCommit(t, s, write)
}

// dump is all that is there but records, which a server writes in any order.
func dump(t *testing.T, s *Store) string {
	t.Helper()
	var text strings.Builder
	for _, key := range keysOf(t, s) {
		if strings.HasSuffix(key, ":meta") || strings.Contains(key, ":record:") {
			continue
		}
		value, err := s.client.Do(t.Context(), s.client.B().Dump().Key(key).Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(key + value)
	}
	return text.String()
}
