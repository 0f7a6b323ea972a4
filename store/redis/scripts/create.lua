-- Fixes schema version and number of shards, once.
--
-- In:  the key that remembers them; schema, number of shards.
-- Out: what is remembered: schema, number of shards.
--
-- Race: many nodes start on an empty server at once. The first one decides, and
-- all others are told what it decided.

if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'schema', ARGV[1], 'shards', ARGV[2])
end
return redis.call('HMGET', KEYS[1], 'schema', 'shards')
