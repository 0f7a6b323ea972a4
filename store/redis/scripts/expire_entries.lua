-- Removes old settled entries.
--
-- In:  the shard; a time, limit.
-- Out: how many were removed.
--
-- Race: an entry that was reopened a moment ago, or a reply that was committed,
-- is in the index of the settled no longer. The claim of a message's id is freed
-- to grow old in the same step, so it never goes while its message is there.

local before, limit = '(' .. ARGV[1], tonumber(ARGV[2])

local function expire(name, left)
  local sequences = redis.call('ZRANGEBYSCORE', own('settled', name), '-inf', before, 'LIMIT', 0, left)
  for _, seq in ipairs(sequences) do
    local entry = entry_at(name, seq)
    local settled = is_settled(entry)
    if settled then
      redis.call('ZREMRANGEBYSCORE', own('entries', name), seq, seq)
      redis.call('HDEL', own('bodies', name), seq)
      index(name, entry, nil)
    else
      redis.call('ZREM', own('settled', name), seq) -- the entry was lost
    end
    local claim = settled and entry.kind == 'message' and redis.call('HGET', own('ids', name), entry.id)
    if claim then
      local claimed_seq, at = string.match(claim, '^(%d+) (%-?%d+)$')
      if claimed_seq == seq then redis.call('ZADD', own('gone', name), at, entry.id) end
    end
  end
  raise('settled', name)
  raise('gone', name)
  local there = redis.call('HMGET', own('record', name), 'phase', 'active')
  note_bare(name, there[1], there[2])
  return #sequences
end

local removed = 0
for _, name in ipairs(redis.call('ZRANGEBYSCORE', shared('settled'), '-inf', before, 'LIMIT', 0, limit)) do
  if removed < limit then removed = removed + expire(name, limit - removed) end
end
return removed
