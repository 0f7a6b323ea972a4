-- One write of a conversation: record, timer, transcript, claimed ids.
--
-- In:  the shard; name, expected op ('' for none), op, schema, phase as shown,
--      whether it needs attention ('1' or ''), record, timer ('0' clears it), time
--      of the write; then, each after their number: entries to append (head, body), entries
--      to change (head, body), settles (after, from, through, status before, status after,
--      reply), marks (sequence, status, reason).
-- Out: 'ok' | 'duplicate', ids… | 'refused', why | 'conflict', op, schema and record
--      that are there ('' where there is none), ids that are claimed…
--
-- Race: two nodes that read the same record both write. The op is compared and
-- replaced here, so one of them gets the conflict; and of a message that is delivered
-- twice at once, one claims the id. All reads, checks and computations come before the
-- first change, since the server does not undo what a script has done. The op is
-- written last: a record with this op is proof that the whole write is there.

local taken = 0
local function take()
  taken = taken + 1
  return ARGV[taken]
end

local name, expected, op, schema, phase = take(), take(), take(), take(), take()
local attention, record, timer, now = take(), take(), take(), take()

local function take_entry()
  local entry = decode(take())
  entry.body = take()
  return entry
end

local repeated, claimed = {}, {}

-- Notes an id that the write claims, and whether it was claimed before.
local function claim(entry)
  if entry.kind ~= 'message' then return end
  if claimed[entry.id] or redis.call('HEXISTS', own('ids', name), entry.id) == 1 then
    repeated[#repeated + 1] = entry.id
  end
  claimed[entry.id] = entry.seq
end

-- Another write came first: the answer holds what it left, so that the caller can
-- try again without reading.
local there = redis.call('HMGET', own('record', name), 'op', 'phase', 'last', 'attention')
if (there[1] or '') ~= expected then
  local current = redis.call('HMGET', own('record', name), 'op', 'schema', 'record')
  for _ = 1, tonumber(take()) do claim(take_entry()) end
  local answer = {'conflict', current[1] or '', current[2] or '', current[3] or ''}
  for _, id in ipairs(repeated) do answer[#answer + 1] = id end
  return answer
end

-- The last sequence is read from the transcript too, in case the record was lost: no
-- sequence may be given to two entries.
local highest = redis.call('ZRANGE', own('entries', name), -1, -1, 'WITHSCORES')[2]
if highest and expected == '' then
  return {'refused', 'the record of this conversation is lost, and entries of it are there: see what onereply doctor says'}
end

local last = math.max(tonumber(there[3] or '0'), tonumber(highest or '0'))
local out_of_order

-- The entries that this write changes, by sequence: as they were, nil for new ones,
-- and as they will be. A body is nil where it stays.
local order, was, will = {}, {}, {}

local function put(entry)
  if not will[entry.seq] then order[#order + 1] = entry.seq end
  will[entry.seq] = entry
end

local function entry_now(seq) return will[seq] or entry_at(name, seq) end

local function change(before, after)
  if not will[after.seq] then was[after.seq] = before end
  put(after)
end

for _ = 1, tonumber(take()) do
  local entry = take_entry()
  claim(entry)
  if tonumber(entry.seq) <= last then out_of_order = out_of_order or entry.seq end
  last = math.max(last, tonumber(entry.seq))
  put(entry)
end
if #repeated > 0 then
  table.insert(repeated, 1, 'duplicate')
  return repeated
end
if out_of_order then
  return {'refused', 'the sequence ' .. out_of_order .. ' is not greater than all before'}
end

for _ = 1, tonumber(take()) do
  local after = take_entry()
  local before = entry_now(after.seq)
  if before then change(before, after) end
end

local function with_status(before, status)
  local after = {}
  for key, value in pairs(before) do after[key] = value end
  after.text, after.head = nil, {unpack(before.head)} -- the text is made when all is decided
  after.status, after.head[3] = status, status
  return after
end

for _ = 1, tonumber(take()) do
  local after_seq, from, through = take(), tonumber(take()), tonumber(take())
  local old, new, reply = take(), take(), take()
  local function settle(seq)
    local before = entry_now(seq)
    if before and before.kind == 'message' and before.status == old
      and from < before.version and before.version <= through then
      local after = with_status(before, new)
      after.head[5] = reply
      change(before, after)
    end
  end
  local open = redis.call('ZRANGEBYSCORE', own('open', name), '(' .. after_seq, '+inf')
  for _, seq in ipairs(order) do
    if tonumber(seq) > tonumber(after_seq) then open[#open + 1] = seq end
  end
  for _, seq in ipairs(open) do settle(seq) end
end

for _ = 1, tonumber(take()) do
  local seq, status, reason = take(), take(), take()
  local before = entry_now(seq)
  if before and before.kind == 'reply' then
    local after = with_status(before, status)
    after.head[8] = reason
    change(before, after)
  end
end

-- The changes below need these rights, and a key that holds another type of value would
-- end the script half way. So both are checked first, for what this write touches and
-- nothing else.
local bot = bot_of(name)
local moves = expected ~= '' and there[2] ~= phase
local judged = attention == '1' or there[4] == '1' -- it is or was in the list of what needs attention
local idles = expected == '' or phase == 'idle' or there[2] == 'idle' -- only idle ones may be bare
local opens, settles = false, false
for _, seq in ipairs(order) do
  opens = opens or is_open(was[seq]) ~= is_open(will[seq])
  settles = settles or is_settled(was[seq]) or is_settled(will[seq])
end

local commands, sets = {'ZADD', 'HSET'}, {shared('timers'), list_of(phase, bot)}
local function needs(when, command, ...)
  if not when then return end
  commands[#commands + 1] = command
  for _, key in ipairs({...}) do sets[#sets + 1] = key end
end
needs(moves, 'ZREM', list_of(there[2] or phase, bot))
needs(timer == '0', 'ZREM')
needs(judged, 'ZREM', list_of('attention', bot))
needs(idles, 'ZREM', shared('bare'))
needs(opens, 'ZREM', own('open', name))
needs(settles, 'ZREM', own('settled', name), shared('settled'))
needs(next(was), 'ZREMRANGEBYSCORE')
needs(expected == '', 'HINCRBY', shared('all'))
local denied = lacks(commands)
if denied then return {'refused', denied} end
for _, key in ipairs(sets) do redis.call('ZCARD', key) end
redis.call('HLEN', own('bodies', name))
if expected == '' then redis.call('HLEN', shared('bots')) end

-- Nothing below can fail for a reason that was not checked above.

if moves then
  redis.call('ZREM', list_of(there[2], bot), name)
elseif expected == '' and redis.call('ZADD', shared('all'), 0, name) == 1 then
  redis.call('HINCRBY', shared('bots'), bot, 1)
elseif expected == '' then -- the record was lost, and with it in which list it is
  for _, list in ipairs(lists) do redis.call('ZREM', list_of(list, bot), name) end
end
local place = string.format('%.0f', -tonumber(now))
redis.call('ZADD', list_of(phase, bot), place, name)
if attention == '1' then
  redis.call('ZADD', list_of('attention', bot), place, name)
elseif judged then
  redis.call('ZREM', list_of('attention', bot), name)
end
if timer == '0' then
  redis.call('ZREM', shared('timers'), name)
else
  redis.call('ZADD', shared('timers'), timer, name)
end

for _, seq in ipairs(order) do
  if was[seq] then redis.call('ZREMRANGEBYSCORE', own('entries', name), seq, seq) end
  redis.call('ZADD', own('entries', name), seq, will[seq].text or cjson.encode(will[seq].head))
  if will[seq].body then redis.call('HSET', own('bodies', name), seq, will[seq].body) end
  index(name, was[seq], will[seq])
end
for id, seq in pairs(claimed) do
  redis.call('HSET', own('ids', name), id, seq .. ' ' .. now)
end

if settles then raise('settled', name) end
if idles then note_bare(name, phase, now) end
redis.call('HSET', own('record', name), 'op', op, 'schema', schema, 'phase', phase,
  'active', now, 'last', string.format('%.0f', last), 'attention', attention, 'record', record)
return {'ok'}
