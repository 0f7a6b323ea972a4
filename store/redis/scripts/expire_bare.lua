-- Removes idle conversations of which nothing is left.
--
-- In:  the shard; a time, limit, the newest schema that this program knows.
-- Out: how many were removed.
--
-- Race: a message that comes at this moment takes the conversation out of the
-- index in the write that stores it. Records of a newer program stay: what they
-- mean is not known here. Where the record is lost, the rest goes.

local before, limit, known = '(' .. ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local removed, kept = 0, 0
while removed < limit do
  local names = redis.call('ZRANGEBYSCORE', shared('bare'), '-inf', before, 'LIMIT', kept, limit - removed)
  if #names == 0 then break end
  for _, name in ipairs(names) do
    local schema = schema_of(name)
    if schema and schema > known then
      kept = kept + 1
    else
      remove(name)
      removed = removed + 1
    end
  end
end
return removed
