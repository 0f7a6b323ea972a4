-- One write of a conversation: record, timer, transcript, claimed ids.
--
-- In:  the shard; name, expected op ('' for none), op, schema, phase as shown,
--      whether it needs attention ('1' or ''), record, timer ('0' clears it), time
--      of the write; then, each after their number: entries to append, entries to change, settles (after, from,
--      through, status before, status after, reply), marks (sequence, status,
--      reason).
-- Out: 'ok' | 'conflict' | 'duplicate', ids… | 'refused', why.
--
-- Race: two nodes that read the same record both write. The op is compared and
-- replaced here, so one of them is told of the conflict; and a message that is
-- delivered twice at once claims its id once. All checks come before the first
-- change: the server does not undo what a script has done.

local taken = 0
local function take()
  taken = taken + 1
  return ARGV[taken]
end

local name, expected, op, schema, phase = take(), take(), take(), take(), take()
local attention, record, timer, now = take(), take(), take(), take()

local there = redis.call('HMGET', own('record', name), 'op', 'phase', 'last')
if (there[1] or '') ~= expected then return {'conflict'} end

local appended, repeated, claimed = {}, {}, {}
local last = tonumber(there[3] or '0')
local out_of_order
for i = 1, tonumber(take()) do
  local text = take()
  local entry = decode(text)
  entry.text = text
  appended[i] = entry
  if entry.kind == 'message' then
    if claimed[entry.id] or redis.call('HEXISTS', own('ids', name), entry.id) == 1 then
      repeated[#repeated + 1] = entry.id
    end
    claimed[entry.id] = true
  end
  if tonumber(entry.seq) <= last then out_of_order = out_of_order or entry.seq end
  last = math.max(last, tonumber(entry.seq))
end
if #repeated > 0 then
  table.insert(repeated, 1, 'duplicate')
  return repeated
end
if out_of_order then
  return {'refused', 'the sequence ' .. out_of_order .. ' is not greater than all before'}
end

-- Nothing below can fail for a reason that was not checked above.

redis.call('HSET', own('record', name), 'op', op, 'schema', schema, 'phase', phase,
  'active', now, 'last', string.format('%.0f', last), 'record', record)
local bot = bot_of(name)
if expected == '' then
  redis.call('ZADD', shared('all'), 0, name)
  redis.call('HINCRBY', shared('bots'), bot, 1)
elseif there[2] ~= phase then
  redis.call('ZREM', list_of(there[2], bot), name)
end
local place = string.format('%.0f', -tonumber(now))
redis.call('ZADD', list_of(phase, bot), place, name)
if attention == '1' and phase ~= 'failed' then
  redis.call('ZADD', list_of('attention', bot), place, name)
else
  redis.call('ZREM', list_of('attention', bot), name)
end
if timer == '0' then
  redis.call('ZREM', shared('timers'), name)
else
  redis.call('ZADD', shared('timers'), timer, name)
end

for _, entry in ipairs(appended) do
  redis.call('ZADD', own('entries', name), entry.seq, entry.text)
  if entry.kind == 'message' then
    redis.call('HSET', own('ids', name), entry.id, entry.seq .. ' ' .. now)
  end
  index(name, nil, entry)
end

local function replace(before, after)
  redis.call('ZREMRANGEBYSCORE', own('entries', name), after.seq, after.seq)
  redis.call('ZADD', own('entries', name), after.seq, encode(after))
  index(name, before, after)
end

for _ = 1, tonumber(take()) do
  local after = decode(take())
  local before = entry_at(name, after.seq)
  if before then replace(before, after) end
end

local function with_status(before, status)
  local after = {}
  for key, value in pairs(before) do after[key] = value end
  after.status, after.head[3] = status, status
  return after
end

for _ = 1, tonumber(take()) do
  local after_seq, from, through = take(), tonumber(take()), tonumber(take())
  local old, new, reply = take(), take(), take()
  for _, seq in ipairs(redis.call('ZRANGEBYSCORE', own('open', name), '(' .. after_seq, '+inf')) do
    local before = entry_at(name, seq)
    if before.kind == 'message' and before.status == old
      and from < before.version and before.version <= through then
      local after = with_status(before, new)
      after.head[5] = reply
      replace(before, after)
    end
  end
end

for _ = 1, tonumber(take()) do
  local seq, status, reason = take(), take(), take()
  local before = entry_at(name, seq)
  if before and before.kind == 'reply' then
    local after = with_status(before, status)
    after.head[8] = reason
    replace(before, after)
  end
end

if settled_changed then raise('settled', name) end
note_bare(name, phase, now)
return {'ok'}
