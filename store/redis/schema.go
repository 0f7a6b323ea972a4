package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/onereply/onereply/store"
)

// schemaVersion is of the keys that doc.go lists.
const schemaVersion = 1

// fixShardCount returns the number of shards: the one that is stored, or o.Shards, which
// it stores if this is the first node. A read-only store stores nothing. It refuses keys
// of a newer schema, and another number than the one that o asks for. In that case it
// returns the stored number beside the error.
//
// create.lua stores and reads at one moment: of nodes that start together on an empty
// server one decides, and the others are told its number. On a cluster the key is on one
// server, as every key is.
func fixShardCount(ctx context.Context, client rueidis.Client, create script, o Options) (shards, error) {
	wanted := o.Shards
	if wanted == 0 {
		wanted = defaultShards
	}
	meta := o.Prefix + ":meta"
	var result rueidis.RedisResult
	if o.ReadOnly {
		result = client.Do(ctx, client.B().Hmget().Key(meta).Field("schema", "shards").Build())
	} else {
		result = create.run(ctx, client, meta, strconv.Itoa(schemaVersion), strconv.Itoa(wanted))
	}
	answer, err := result.AsStrSlice()
	switch {
	case err != nil:
		return shards{}, err
	case len(answer) != 2:
		return shards{}, fmt.Errorf("the key %s:meta is not what was written", o.Prefix)
	case o.ReadOnly && answer[0] == "" && answer[1] == "":
		return shards{}, fmt.Errorf("there is nothing of onereply with the prefix %s on this server: check the address and the prefix (a node creates what it needs when it starts)", o.Prefix)
	}
	schema, schemaErr := strconv.Atoi(answer[0])
	count, countErr := strconv.Atoi(answer[1])
	switch {
	case schemaErr == nil && schema > schemaVersion:
		return shards{}, fmt.Errorf("the keys have schema %d, this program knows %d: %w", schema, schemaVersion, store.ErrNewerSchema)
	case schemaErr != nil, countErr != nil, schema < 1, count < 1, count > maxShards:
		return shards{}, fmt.Errorf("the key %s:meta is not what was written: it holds schema %q, shards %q", o.Prefix, answer[0], answer[1])
	case o.Shards != 0 && o.Shards != count:
		return shards{prefix: o.Prefix, count: count}, fmt.Errorf("the conversations there are spread over %d shards, and that can't be changed: set shards to %d, or leave it out (it is %d)", count, count, o.Shards)
	}
	return shards{prefix: o.Prefix, count: count}, nil
}
