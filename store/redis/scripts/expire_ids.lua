-- Forgets old message ids whose entries are gone.
--
-- In:  the shard; a time, limit.
-- Out: how many were forgotten.
--
-- Race: a repeat of the message comes at this moment. It is a duplicate if it
-- comes before, a new message if it comes after; the claim is never half there.

local before, limit = '(' .. ARGV[1], tonumber(ARGV[2])

local function forget(name, left)
  local ids = redis.call('ZRANGEBYSCORE', own('gone', name), '-inf', before, 'LIMIT', 0, left)
  for _, id in ipairs(ids) do
    redis.call('HDEL', own('ids', name), id)
    redis.call('ZREM', own('gone', name), id)
  end
  raise('gone', name)
  local there = redis.call('HMGET', own('record', name), 'phase', 'active')
  note_bare(name, there[1], there[2])
  return #ids
end

local removed = 0
for _, name in ipairs(redis.call('ZRANGEBYSCORE', shared('gone'), '-inf', before, 'LIMIT', 0, limit)) do
  if removed < limit then removed = removed + forget(name, limit - removed) end
end
return removed
