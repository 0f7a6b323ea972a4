-- What this user may not do of what the scripts do, and the program beside them.
-- Reads only.
--
-- In:  the shard.
-- Out: '', or what is missing.
--
-- Race: none. What is taken away later, commit.lua notices before it changes
-- anything.

return lacks({
  'EVAL', 'EVALSHA', 'TIME',
  'EXISTS', 'UNLINK', 'HDEL', 'HEXISTS', 'HGET', 'HINCRBY', 'HKEYS', 'HLEN', 'HMGET', 'HSET',
  'ZADD', 'ZCARD', 'ZCOUNT', 'ZRANGE', 'ZRANGEBYLEX', 'ZRANGEBYSCORE', 'ZREM', 'ZREMRANGEBYSCORE',
  'ZREVRANGEBYSCORE', 'ZSCORE',
}) or ''
