-- Names the commands that the scripts and the program need and this user may not use.
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
