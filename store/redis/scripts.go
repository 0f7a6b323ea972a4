package redis

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/redis/rueidis"
)

// All scripts begin with these two files.
var (
	//go:embed scripts/names.lua
	namesLua string
	//go:embed scripts/conversation.lua
	conversationLua string
)

// The scripts themselves.
var (
	//go:embed scripts/create.lua
	createLua string
	//go:embed scripts/rights.lua
	rightsLua string
	//go:embed scripts/clock.lua
	clockLua string
	//go:embed scripts/commit.lua
	commitLua string
	//go:embed scripts/found.lua
	foundLua string
	//go:embed scripts/claim.lua
	claimLua string
	//go:embed scripts/list.lua
	listLua string
	//go:embed scripts/sweep.lua
	sweepLua string
	//go:embed scripts/delete.lua
	deleteLua string
	//go:embed scripts/expire_entries.lua
	expireEntriesLua string
	//go:embed scripts/expire_ids.lua
	expireIDsLua string
	//go:embed scripts/expire_bare.lua
	expireBareLua string
)

// scripts are all that the server runs for a store. A script is the one means by which
// several keys change together: the server runs nothing else meanwhile. It does not undo
// the changes of a script that fails, so those that write check everything first. A
// script takes its key as KEYS[1] and strings as ARGV; each Lua file says which, its
// answer, and the race that it closes.
type scripts struct {
	create, rights, clock, commit, found, claim, list, sweep, remove script
	expireEntries, expireIDs, expireBare                             script
}

func loadScripts() scripts {
	return scripts{
		create:        writes(createLua),
		rights:        reads(rightsLua),
		clock:         reads(clockLua),
		commit:        writes(commitLua),
		found:         reads(foundLua),
		claim:         writes(claimLua),
		list:          reads(listLua),
		sweep:         reads(sweepLua),
		remove:        writes(deleteLua),
		expireEntries: writes(expireEntriesLua),
		expireIDs:     writes(expireIDsLua),
		expireBare:    writes(expireBareLua),
	}
}

// script is a script and the digest by which a server remembers it. Only the digest is
// sent as a rule; the text follows where the server answers that it does not know it.
type script struct{ text, digest string }

// writes makes a script that changes something. With its first line it tells
// the server to refuse it before it begins when memory is full, when the server
// is a replica or can't save, and to check that its keys share a slot.
func writes(text string) script { return newScript("#!lua", text) }

// reads makes a script that changes nothing, which runs even when memory is
// full.
func reads(text string) script { return newScript("#!lua flags=no-writes", text) }

// newScript puts the common parts before a script. All nodes of one version make the same
// text, so the server keeps one copy of each script for all of them.
func newScript(first, text string) script {
	text = first + "\n" + namesLua + "\n" + conversationLua + "\n" + text
	digest := sha1.Sum([]byte(text)) // what the server calls it: a name, no protection
	return script{text: text, digest: hex.EncodeToString(digest[:])}
}

// call is one run of a script: the key that decides where, and the arguments. The key is
// the root of a shard; for create.lua, and once for rights.lua, it is the key meta.
type call struct {
	key       string
	arguments []string
}

// run runs the script.
func (s script) run(ctx context.Context, client rueidis.Client, key string, arguments ...string) rueidis.RedisResult {
	return s.runAll(ctx, client, []call{{key, arguments}})[0]
}

// runAll makes many runs in one round trip to each server. A server that does
// not know the script, because it is new or was started again, says so before
// it does anything, so those runs are sent again with the text. That also teaches the
// server the script, so the next run needs the digest only.
func (s script) runAll(ctx context.Context, client rueidis.Client, calls []call) []rueidis.RedisResult {
	if len(calls) == 0 {
		return nil
	}
	commands := make([]rueidis.Completed, len(calls))
	for i, c := range calls {
		commands[i] = client.B().Evalsha().Sha1(s.digest).Numkeys(1).Key(c.key).Arg(c.arguments...).Build()
	}
	results := send(ctx, client, commands)
	for i, c := range calls {
		if refused, ok := rueidis.IsRedisErr(results[i].Error()); ok && refused.IsNoScript() {
			results[i] = client.Do(ctx, client.B().Eval().Script(s.text).Numkeys(1).Key(c.key).Arg(c.arguments...).Build())
		}
	}
	return results
}

// send sends commands in one round trip to each server. Where nobody in a cluster
// has the slot of one of them, the client library sends none; then each goes alone,
// so that those of other slots are answered.
func send(ctx context.Context, client rueidis.Client, commands []rueidis.Completed) []rueidis.RedisResult {
	if len(commands) == 1 {
		return []rueidis.RedisResult{client.Do(ctx, commands[0])}
	}
	for i := range commands {
		commands[i] = commands[i].Pin() // so that it may be sent a second time
	}
	results := client.DoMulti(ctx, commands...)
	if !errors.Is(results[0].Error(), rueidis.ErrNoSlot) {
		return results
	}
	var group sync.WaitGroup
	for i := range commands {
		group.Go(func() { results[i] = client.Do(ctx, commands[i]) })
	}
	group.Wait()
	return results
}
