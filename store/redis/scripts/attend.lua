-- Puts a conversation into the list of what needs attention.
--
-- In:  the shard; name, the op of the record that was judged.
-- Out: nothing.
--
-- Race: a write comes between the reading of the record and this. Then the op is
-- another one, and that write has put the conversation where it belongs.

local name = ARGV[1]
local there = redis.call('HMGET', own('record', name), 'op', 'active')
if there[1] == ARGV[2] then
  redis.call('ZADD', list_of('attention', bot_of(name)), string.format('%.0f', -tonumber(there[2])), name)
end
