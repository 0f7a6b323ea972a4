-- Pushes timers that are due, so that nodes do not fight over them.
--
-- In:  the shard; the time to push them to; the newest schema of a record that the
--      caller knows; pairs of name and due time, as they were read a moment ago.
-- Out: the names of those that were pushed, and, each after a '!', of those that are
--      not the caller's to look at: left to a newer program, or removed, because
--      their record is lost.
--
-- Race: two nodes read the same due timer. The first one to come here moves it;
-- for the second it no longer is at the time that it read. The same goes for a
-- timer that a write has moved meanwhile. Only the timer changes, never the
-- record. Without a record there is nothing to look at, so the timer goes: it would
-- be in the way of others for ever.

local known = tonumber(ARGV[2])
local pushed = {}
for i = 3, #ARGV, 2 do
  local at = redis.call('ZSCORE', shared('timers'), ARGV[i])
  local schema = at and schema_of(ARGV[i])
  if at and not schema then
    redis.call('ZREM', shared('timers'), ARGV[i])
  end
  if at and (not schema or schema > known) then
    pushed[#pushed + 1] = '!' .. ARGV[i]
  elseif at and tonumber(at) == tonumber(ARGV[i + 1]) then
    redis.call('ZADD', shared('timers'), ARGV[1], ARGV[i])
    pushed[#pushed + 1] = ARGV[i]
  end
end
return pushed
