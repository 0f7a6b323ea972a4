-- Entries with a status, or the one with an id. Reads only.
--
-- In:  the shard; name, 'id' or 'status', its value, the sequences between which
--      they lie as two bounds, limit, '1' for backward.
-- Out: entries, in order.
--
-- Race: index and entries are read as one, so a write between them is not half
-- seen.

local name, by, value = ARGV[1], ARGV[2], ARGV[3]
local low, high, limit, backward = ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7] == '1'

local sequences
if by == 'id' then
  local claim = redis.call('HGET', own('ids', name), value)
  sequences = claim and {string.match(claim, '^%d+')} or {}
elseif backward then
  sequences = redis.call('ZREVRANGEBYSCORE', own('open', name), high, low)
else
  sequences = redis.call('ZRANGEBYSCORE', own('open', name), low, high)
end

local found = {}
for _, seq in ipairs(sequences) do
  if #found == limit then break end
  local text = redis.call('ZRANGEBYSCORE', own('entries', name), seq, seq)[1]
  if text and (by == 'id' or decode(text).status == value) then found[#found + 1] = text end
end
return found
