-- Entries by sequence, with a status, or the one with an id. Reads only.
--
-- In:  the shard; name, 'order', 'id' or 'status', its value, the sequences between which
--      they lie as two bounds, limit, '1' for backward.
-- Out: entries, in order: head and body in turn.
--
-- Race: index, heads and bodies are read as one, so a write between them is not half
-- seen.

local name, by, value = ARGV[1], ARGV[2], ARGV[3]
local low, high, limit, backward = ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7] == '1'

local function range(set, ...)
  if backward then return redis.call('ZREVRANGEBYSCORE', set, high, low, ...) end
  return redis.call('ZRANGEBYSCORE', set, low, high, ...)
end

local found, count = {}, 0
local function add(head)
  count = count + 1
  found[2 * count - 1] = head
  found[2 * count] = redis.call('HGET', own('bodies', name), cjson.decode(head)[1]) or ''
end

if by == 'order' then
  for _, head in ipairs(range(own('entries', name), 'LIMIT', 0, limit)) do add(head) end
  return found
end

local sequences
if by == 'id' then
  local claim = redis.call('HGET', own('ids', name), value)
  sequences = claim and {string.match(claim, '^%d+')} or {}
else
  sequences = range(own('open', name))
end
for _, seq in ipairs(sequences) do
  if count == limit then break end
  local head = redis.call('ZRANGEBYSCORE', own('entries', name), seq, seq)[1]
  if head and (by == 'id' or decode(head).status == value) then add(head) end
end
return found
