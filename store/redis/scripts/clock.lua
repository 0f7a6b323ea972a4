-- The server's clock. Reads only.
--
-- In:  the shard, which picks the server: on a cluster every node must ask the
--      same one.
-- Out: milliseconds since 1970.

local now = redis.call('TIME')
return string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
