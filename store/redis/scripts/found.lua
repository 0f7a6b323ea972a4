-- Entries by sequence, with a status, or the one with an id. Reads only.
--
-- In:  the shard; name, 'order', 'id' or 'status', its value, the sequences between which
--      they lie as two bounds, limit, the bytes of the bodies, '1' for backward.
-- Out: '1' where more are selected than fit, else '0'; then entries, in order: head and
--      body in turn. The first one is given however large it is.
--
-- Race: index, heads and bodies are read as one, so a write between them is not half
-- seen.

local name, by, value = ARGV[1], ARGV[2], ARGV[3]
local low, high, limit, bytes, backward = ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8] == '1'

local function range(set, ...)
  if backward then return redis.call('ZREVRANGEBYSCORE', set, high, low, ...) end
  return redis.call('ZRANGEBYSCORE', set, low, high, ...)
end

-- Reports whether the entry fits.
local found, count = {'0'}, 0
local function add(head)
  local body = redis.call('HGET', own('bodies', name), cjson.decode(head)[1]) or ''
  bytes = bytes - #body
  if count == limit or count > 0 and bytes < 0 then
    found[1] = '1'
    return false
  end
  count = count + 1
  found[2 * count], found[2 * count + 1] = head, body
  return true
end

if by == 'order' then
  for _, head in ipairs(range(own('entries', name), 'LIMIT', 0, limit + 1)) do
    if not add(head) then break end
  end
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
  local head = redis.call('ZRANGEBYSCORE', own('entries', name), seq, seq)[1]
  if head and (by == 'id' or decode(head).status == value) and not add(head) then break end
end
return found
