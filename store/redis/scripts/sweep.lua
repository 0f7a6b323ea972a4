-- Conversations of a shard with their timers, by name. Reads only.
--
-- In:  the shard; the name after which to begin, '' for all; limit.
-- Out: name, op, schema, record, due time or '', in turn.
--
-- Race: a write between reading the record and its timer would make them look
-- apart. Here nothing comes between.

local from = ARGV[1] == '' and '-' or '(' .. ARGV[1]
local found = {}
for _, name in ipairs(redis.call('ZRANGEBYLEX', shared('all'), from, '+', 'LIMIT', 0, ARGV[2])) do
  local there = redis.call('HMGET', own('record', name), 'op', 'schema', 'record')
  local timer = redis.call('ZSCORE', shared('timers'), name)
  for _, value in ipairs({name, there[1], there[2], there[3], timer or ''}) do found[#found + 1] = value end
end
return found
